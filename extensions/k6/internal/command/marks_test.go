package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: a key that is misspelt was ignored, and the mark was another one.
func TestAnUnknownKeyOfMarksIsRefused(t *testing.T) {
	t.Parallel()
	for key, text := range map[string]string{
		"atend": `[{"mark": "claimed", "span": {"kind": "consumer"}, "atend": true}]`,
		"srvc":  `[{"mark": "claimed", "span": {"kind": "consumer", "srvc": "x"}}]`,
	} {
		path := filepath.Join(t.TempDir(), "marks.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readMarks(path)
		assert.ErrorContains(t, err, `"`+key+`"`)
	}
}
