package engine

import (
	"testing"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

func TestMain(m *testing.M) { test.Main(m) }
