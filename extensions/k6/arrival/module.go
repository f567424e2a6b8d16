package arrival

import "go.k6.io/k6/v2/js/modules"

// RootModule is the module of the process.
type RootModule struct{}

// New returns the module.
func New() *RootModule { return &RootModule{} }

// NewModuleInstance implements modules.Module.
func (*RootModule) NewModuleInstance(modules.VU) modules.Instance { return nil }
