package must

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheFirstErrorEndsTheWork(t *testing.T) {
	t.Parallel()
	got := 0
	assert.NoError(t, Try(func() { got = Get(7, nil) }))
	assert.Equal(t, 7, got)
	assert.ErrorIs(t, Try(func() {
		Fail("reading: %w", io.EOF)
		got = 8
	}), io.EOF)
	assert.Equal(t, 7, got)
	assert.PanicsWithValue(t, "a fault", func() { _ = Try(func() { panic("a fault") }) }, "other panics pass through")
}
