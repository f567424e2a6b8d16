//go:build !linux

package arrival

import (
	"context"

	"go.k6.io/k6/v2/lib"
)

// loop is for Linux.
type loop struct{}

func newLoop(*engine) *loop { return nil }

func (*loop) pump(context.Context, *lib.State) {}
