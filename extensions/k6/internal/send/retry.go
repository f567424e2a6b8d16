package send

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// delay is a number of seconds. RFC 9110 (10.2.3) has whole ones, and some servers send a fraction.
var delay = regexp.MustCompile(`^\d+(\.\d+)?$`)

// RetryAfter returns how long the last answer asks to wait, at most this long; 0: it does not say, or the time has
// passed. now is the time of the answer. A date is compared with the server's own Date, whose clock may differ from
// ours.
func (p *Poster) RetryAfter(now time.Time, most time.Duration) time.Duration {
	text := p.Header("Retry-After")
	if delay.MatchString(text) {
		seconds, _ := strconv.ParseFloat(text, 64) // infinite if it is too large
		return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(p.Header("Date")); err == nil {
		now = date
	}
	return min(max(0, until.Sub(now)), most)
}
