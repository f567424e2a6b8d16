package mqtt

import "time"

// Alive is the keep-alive of a connection (MQTT 5, 3.1.2.10). Its owner knows when it last sent and heard something,
// sends the pings and ends the connection.
type Alive struct {
	KeepAlive time.Duration // 0: the broker wants no pings
	Answer    time.Duration // how long the broker may take to answer one

	asked time.Time // when the unanswered PINGREQ was due; zero: none
}

// Look reports whether a PINGREQ is due, or whether the broker has left one unanswered [MQTT-3.12.4-1], and when to
// look again. A ping is due when nothing was sent for half of the keep-alive. It is also due when nothing was heard for
// all of it: writes to a frozen broker still succeed, into the kernel's buffers. Any byte is an answer.
func (a *Alive) Look(now, sent, heard time.Time) (ping, silent bool, again time.Duration) {
	if a.KeepAlive == 0 {
		return false, false, 0
	}
	if !heard.Before(a.asked) {
		a.asked = time.Time{}
	}
	if !a.asked.IsZero() {
		left := a.Answer - now.Sub(a.asked)
		return false, left <= 0, left
	}
	left := min(sent.Add(a.KeepAlive/2).Sub(now), heard.Add(a.KeepAlive).Sub(now))
	if left > 0 {
		return false, false, left
	}
	a.asked = now
	return true, false, a.Answer
}
