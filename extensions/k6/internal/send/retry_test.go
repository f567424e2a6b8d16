package send

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Regression: a date and a fraction were ignored (RFC 9110, 10.2.3).
func TestRetryAfterIsADelayOrADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC)
	for fields, want := range map[string]time.Duration{
		"Retry-After: 3":     3 * time.Second,
		"Retry-After: 0.25":  250 * time.Millisecond,
		"Retry-After: 0":     0,
		"Retry-After: -3":    0,
		"Retry-After: soon":  0,
		"X: 1":               0,
		"Retry-After: 86400": time.Minute,
		"Retry-After: 1" + strings.Repeat("0", 400):      time.Minute,
		"Retry-After: Wed, 25 Nov 2026 07:00:07 GMT":     7 * time.Second,
		"Retry-After: Wednesday, 25-Nov-26 07:00:07 GMT": 7 * time.Second,
		"Retry-After: Wed Nov 25 07:00:07 2026":          7 * time.Second,
		"Retry-After: Wed, 25 Nov 2026 06:59:00 GMT":     0,
		"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT":     time.Minute,
		// its clock is ahead:
		"Date: Wed, 25 Nov 2026 09:00:00 GMT\r\nRetry-After: Wed, 25 Nov 2026 09:00:05 GMT": 5 * time.Second,
	} {
		server := serveCanned(t, "HTTP/1.1 429 Slow\r\n"+fields+"\r\nContent-Length: 0\r\n\r\n")
		p := newTestPoster(t, server.url, keep, longTimeout)
		require.NoError(t, p.Post(time.Now(), nil, 1).Err, fields)
		assert.Equal(t, want, p.RetryAfter(now, time.Minute), fields)
	}
}
