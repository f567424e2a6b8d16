package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatWasSentIsKnownByItsSum(t *testing.T) {
	t.Parallel()
	s := newSums(1)
	assert.True(t, s.Same(0, s.Of(0, []byte("anything"), false)), "nobody has told what was sent")
	s.Sent(0, []byte("a\r\nb"))
	for content, same := range map[string][2]bool{"a\r\nb": {true, true}, "a\nb": {false, true}, "a\nc": {}, "a": {}} {
		assert.Equal(t, same, [2]bool{
			s.Same(0, s.Of(0, []byte(content), false)), s.Same(0, s.Of(0, []byte(content), true)),
		}, "%q, and where line ends come as LF", content)
	}
	assert.NotZero(t, s.Of(0, nil, false))
}

func TestOfMostMessagesOnlyTheLengthIsCompared(t *testing.T) {
	t.Parallel()
	s, changed := newSums(10), 0
	for seq := range 100 {
		s.Sent(seq, []byte("abc"))
		if !s.Same(seq, s.Of(seq, []byte("abd"), false)) {
			changed++
		}
		assert.False(t, s.Same(seq, s.Of(seq, []byte("ab"), false)))
	}
	assert.Equal(t, 10, changed)
}

// Regression: the sums of all messages were kept until the end of the run.
func TestTheSumsOfWhatHasArrivedAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSums(1)
	for seq := range 100 {
		s.Sent(seq, []byte("abc"))
		if seq != 7 {
			s.Forget(seq)
		}
	}
	assert.Len(t, s.sent, 1)
	assert.False(t, s.Same(7, s.Of(7, []byte("abd"), false)))
}
