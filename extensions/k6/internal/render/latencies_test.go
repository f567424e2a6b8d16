package render

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Regression: terminal and Markdown had lists of their own, so Markdown said nothing of negative and foreign
// deliveries.
func TestTerminalAndMarkdownShowTheSameFigures(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Account.Negative, r.Account.Foreign = 7, 9
	for _, text := range []string{Text(r, "", Screen{}), Markdown(r)} {
		for _, one := range seriesOf(r) {
			assert.Contains(t, text, one.name)
			assert.Contains(t, text, words.MS(one.At(99)))
		}
		assert.Contains(t, text, "7 negative")
		assert.Contains(t, text, "9 foreign")
	}
}

// Regression: "101 foreign" was all that the terminal said.
func TestTheTerminalSaysWhatForeignMessagesAre(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.NotContains(t, Text(r, "", Screen{}), "foreign: ")
	r.Account.Foreign = 101
	assert.Contains(t, Text(r, "", Screen{}), "foreign: messages without an id that this run sent")
	r.Scene = &runfile.Scene{Sample: `{"boot":1}`}
	assert.Contains(t, Text(r, "", Screen{}), `the first: {"boot":1}`)
}
