// Package k6 registers the k6 extensions of Arrival: k6/x/arrival (ledger, pacer, native sender and subscriber),
// k6/x/mqtt (an MQTT client for scripts) and the command `k6 x arrival`. Import it for its side effect, or build with
//
//	xk6 build --with github.com/arrival-bench/arrival/extensions/k6
package k6

import (
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/subcommand"

	"github.com/arrival-bench/arrival/extensions/k6/arrival"
	"github.com/arrival-bench/arrival/extensions/k6/internal/command"
	"github.com/arrival-bench/arrival/extensions/k6/mqtt"
)

func init() {
	modules.Register("k6/x/arrival", arrival.New())
	modules.Register("k6/x/mqtt", mqtt.New())
	subcommand.RegisterExtension(command.Name, command.New)
}
