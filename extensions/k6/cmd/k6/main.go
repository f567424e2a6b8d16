// Command k6 is k6 with this project's extensions and grafana/xk6-redis built in.
package main

import (
	"go.k6.io/k6/v2/cmd"

	_ "github.com/arrival-bench/arrival/extensions/k6" // k6/x/arrival, k6/x/mqtt
	_ "github.com/grafana/xk6-redis"                   // k6/x/redis
)

func main() {
	cmd.Execute()
}
