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

// other is another extension's k6/x/mqtt, like that of grafana/xk6-mqtt.
type other struct{ modules.Module }

func init() { modules.Register("k6/x/mqtt", other{}) }

// k6/x/mqtt was registered here too, and a k6 with grafana/xk6-mqtt as well ended with a panic: it was registered already.
func TestAnotherExtensionMayBeTheMQTTClient(t *testing.T) {
	t.Parallel()
	scripts := ext.Get(ext.JSExtension)
	assert.Equal(t, []string{"k6/x/arrival", "k6/x/mqtt"}, slices.Sorted(maps.Keys(scripts)))
	assert.IsType(t, other{}, scripts["k6/x/mqtt"].Module)
	assert.Contains(t, ext.Get(ext.SubcommandExtension), "arrival")
}
