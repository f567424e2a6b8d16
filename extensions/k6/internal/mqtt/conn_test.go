package mqtt

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAlive(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		asked             int // −1: no ping is unanswered
		now, sent, heard  int
		ping, silent      bool
		again             int
		answer, keepAlive int
	}{
		"idle":                             {-1, 29, 0, 0, false, false, 1, 5, 60},
		"nothing sent for half of it":      {-1, 30, 0, 20, true, false, 5, 5, 60},
		"nothing heard for all of it":      {-1, 60, 59, 0, true, false, 5, 5, 60},
		"busy both ways":                   {-1, 70, 69, 68, false, false, 29, 5, 60},
		"waits for an answer":              {30, 34, 30, 20, false, false, 1, 5, 60},
		"no answer":                        {30, 35, 30, 20, false, true, 0, 5, 60},
		"sends meanwhile, hears nothing":   {60, 65, 64, 0, false, true, 0, 5, 60},
		"an answer at the same moment":     {30, 36, 30, 30, false, false, 24, 5, 60},
		"an answer, then nothing for long": {30, 61, 30, 31, true, false, 5, 5, 60},
		"no keep-alive":                    {-1, 9999, 0, 0, false, false, 0, 5, 0},
	} {
		a := Alive{KeepAlive: time.Duration(c.keepAlive) * time.Second, Answer: time.Duration(c.answer) * time.Second}
		if c.asked >= 0 {
			a.asked = at(c.asked)
		}
		ping, silent, again := a.Look(at(c.now), at(c.sent), at(c.heard))
		assert.Equal(t, c.ping, ping, name)
		assert.Equal(t, c.silent, silent, name)
		assert.Equal(t, time.Duration(c.again)*time.Second, again, name)
	}
}
