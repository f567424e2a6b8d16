package spans

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files come from anywhere: none ends the program.
func FuzzExported(f *testing.F) {
	for _, s := range []string{
		`null`, `{"resourceSpans":[null]}`, `{"data":[null]}`, `{"data":[{"spans":[null],"processes":{"p":null}}]}`,
		`{"resourceSpans":[{"scopeSpans":[null,{"spans":[null,{"links":[null]}]}]}]}`,
		`{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"x","startTime":1,"duration":2,"processID":"p",
		"references":[{"refType":"CHILD_OF","traceID":"1","spanID":"3"},null],"tags":[{"key":"span.kind","value":"server"},null]}],
		"processes":{"p":{"serviceName":"a","tags":[]}}}]}`,
		`{"trace":{"batches":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}},null]},
		"scopeSpans":[{"spans":[{"traceId":"AAAAAAAAAADW6TKdZ7YUaw==","spanId":"AAAAAAAAEjQ="}]}]}]}}`,
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		k := NewKeeper(NewMixing("x"), func(string) (int, bool) { return 0, false })
		_ = ReadExported(path, func(all Exported) { k.Take(all) })
		Suggest(k.OtherTrees())
	})
}
