package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATargetIsNamedOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"target":"user/1"}`: true, "user/1": true, "a user/1,b": true, "user/17 user/1": true,
		`{"target":"user/17"}`: false, "superuser/1": false, "user/1/x": false, "user/1.2": false, "": false,
	} {
		assert.Equal(t, want, names([]byte(text), []byte("user/1")), text)
	}
}
