package k6_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/js/modules"

	_ "github.com/arrival-bench/arrival/extensions/k6"
)

// other stands for another extension's k6/x/mqtt, such as grafana/xk6-mqtt.
type other struct{ modules.Module }

func init() { modules.Register("k6/x/mqtt", other{}) }

// Regression: this package registered k6/x/mqtt too, so a k6 that also had grafana/xk6-mqtt
// panicked at startup.
func TestAnotherExtensionMayBeTheMQTTClient(t *testing.T) {
	t.Parallel()
	scripts := ext.Get(ext.JSExtension)
	assert.Equal(t, []string{"k6/x/arrival", "k6/x/mqtt"}, slices.Sorted(maps.Keys(scripts)))
	assert.IsType(t, other{}, scripts["k6/x/mqtt"].Module)
	assert.Contains(t, ext.Get(ext.SubcommandExtension), "arrival")
}
