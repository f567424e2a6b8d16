// Package k6 registers the k6 extensions of Arrival: k6/x/arrival (schedule, account, native sender and subscriber)
// and the command `k6 x arrival`. Import it for its side effect; README.md shows how to build a k6 with it.
//
// The package mqtt registers k6/x/mqtt, an MQTT client for scripts. It is not imported here: k6 fails at startup if
// two extensions have one name, and a build may have another k6/x/mqtt. cmd/k6 imports both.
package k6

import (
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/subcommand"

	"github.com/arrival-bench/arrival/extensions/k6/arrival"
	"github.com/arrival-bench/arrival/extensions/k6/internal/command"
)

func init() {
	modules.Register("k6/x/arrival", arrival.New())
	subcommand.RegisterExtension(command.Name, command.New)
}
