// Command k6 is k6 with this project's extensions and grafana/xk6-redis built in.
package main

import (
	"fmt"
	"os"

	"go.k6.io/k6/v2/cmd"

	_ "github.com/arrival-bench/arrival/extensions/k6" // k6/x/arrival, k6/x/mqtt
	"github.com/arrival-bench/arrival/extensions/k6/internal/sources"
	_ "github.com/grafana/xk6-redis" // k6/x/redis
)

// hash is the hash of the sources, set by: go build -ldflags "-X main.hash=…".
var hash string

func main() {
	if binary, err := os.Executable(); err == nil {
		if err := sources.Check(binary, hash); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	cmd.Execute()
}
