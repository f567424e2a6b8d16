//go:build !linux

package send

import (
	"context"

	"go.k6.io/k6/v2/lib"
)

func withSource(ctx context.Context, _ int) context.Context { return ctx }

// spreadSources is for Linux, where all of 127.0.0.0/8 is the loopback.
func spreadSources(lib.DialContexter) {}
