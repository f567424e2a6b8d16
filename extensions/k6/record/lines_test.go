package record

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// Lines come from any program: whatever they say, the recorder takes or refuses them. go test -fuzz FuzzLines ./record
// goes on from those here.
func FuzzLines(f *testing.F) {
	of := func(lines ...string) {
		for _, l := range lines {
			f.Add([]byte(l))
		}
	}
	of(`{"arrived":"ID","subscriber":2,"at_us":NOW}`, `{"arrived":["ID","x"],"subscriber":-1}`, `{"arrived":"ID"}`,
		`{"arrived":"ID","target":"user/0"}`, `{"arrived":"ID","target":"user/-1"}`, `{"arrived":null}`,
		`{"arrived":"","hops":"1,2,3"}`, `{"arrived":"ID","at_us":-1}`,
		`{"sent":0,"at_us":9223372036854775807}`, `{"sent":-1,"at_us":NOW}`, `{"sent":1,"at_us":NOW}`,
		`{"settled":1,"at_us":NOW,"status":202,"retries":9223372036854775807}`, `{"unsent":-9223372036854775808}`,
		`{"next":9223372036854775807}`, `{"next":1,"flow":"direct","id":[{}]}`, `{"next":1}`,
		`{"figure":{"name":"x","value":1e308,"unit":"ms"}}`, `{"start":{"in_us":-1}}`, `{"now":null}`, `null`, `[]`, ``)
	c := record(f, &fake.Pipeline{}, "phases: [{duration: 600, arrivalRate: 1000}]\nflows: [{name: direct}]", received)
	c.started()
	id := c.slots(`{"next": 10}`)[0].IDs[0]
	go func() { _, _ = io.Copy(io.Discard, c.out) }()
	f.Cleanup(func() { // the file is closed before its directory is removed
		c.stop()
		<-c.code
	})
	f.Fuzz(func(t *testing.T, line []byte) {
		if strings.Contains(string(line), `"end"`) {
			return
		}
		now := fmt.Sprint(c.clock.us(time.Now()))
		_ = c.recording.handle(t.Context(), []byte(strings.NewReplacer("ID", id, "NOW", now).Replace(string(line))))
	})
}
