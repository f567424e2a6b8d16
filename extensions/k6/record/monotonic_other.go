//go:build !linux

package record

import "time"

// monotonic is the time since this process started, ns: a caller asks for it with {"now": true}.
func monotonic() int64 { return time.Since(began).Nanoseconds() }
