//go:build !linux

package arrival

import "time"

func nanosleep(d time.Duration) { time.Sleep(d) }
