package mqtt

import (
	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// RootModule is k6/x/mqtt; k6 asks it for one instance per VU.
type RootModule struct{}

var _ modules.Module = &RootModule{}

// New returns the module to register as k6/x/mqtt.
func New() *RootModule { return &RootModule{} }

func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	instruments, err := registerMetrics(vu.InitEnv().Registry)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	constructor := vu.Runtime().ToValue(func(call sobek.ConstructorCall) *sobek.Object {
		return newClient(vu, instruments, call)
	})
	exported := map[string]any{"Client": constructor}
	// Built once: k6 asks for the exports at each use of a named import.
	return &instance{modules.Exports{Default: exported, Named: exported}}
}

type instance struct{ exports modules.Exports }

// Exports implements modules.Instance: Client, as a named export and as a member of the default export.
func (i *instance) Exports() modules.Exports { return i.exports }
