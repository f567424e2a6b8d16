package arrival

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/js/common"
)

// A k6 that numbers its events otherwise would never end a run, or end it too early.
func TestTheNumberOfTheEventIsThatOfK6(t *testing.T) {
	t.Parallel()
	global, _ := reflect.TypeFor[common.Events]().FieldByName("Global")
	subscribe, ok := global.Type.MethodByName("Subscribe")
	require.True(t, ok)
	event := reflect.New(subscribe.Type.In(0).Elem()).Elem()
	event.SetUint(exitEvent)
	assert.Equal(t, "Exit", fmt.Sprint(event.Interface()))
}

// Regression: which of several wrong options an error named differed from run to run.
func TestAnErrorNamesTheFirstWrongOption(t *testing.T) {
	t.Parallel()
	for range 20 {
		o := options{Protocol: "HTTP", Name: "a/b", Topology: "a/b", Network: "a/b"}
		require.ErrorContains(t, o.checkNames(), "name ")
		o = options{Protocol: "HTTP", Name: "a", Topology: "a", Network: "a",
			Facts: map[string]any{"b": nil, "a": nil, "c": nil}}
		require.ErrorContains(t, o.checkNames(), "facts.a ")
	}
}
