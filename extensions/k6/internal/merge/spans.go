package merge

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/spans"
)

// spansOf makes stages of the spans that any instance got, for the sampled messages of all, and writes the files that
// do so again. The spans of a message may come to another instance than the one that sent it: a pipeline exports to one
// endpoint.
func spansOf(parts []Instance, r *runfile.Run, out string) {
	var all *spans.Traced
	var received []*runfile.SpansReceived
	listen := ""
	for _, p := range parts {
		if p.Run.Spans == nil {
			continue
		}
		received = append(received, &p.Run.Spans.Received)
		if listen == "" {
			listen = p.Run.Spans.Listen
		}
		traced, err := spans.ReadTraced(p.dir)
		if err == nil && all != nil && (traced.OneIn != all.OneIn || !reflect.DeepEqual(traced.Marks, all.Marks)) {
			must.Fail("generator %d asked for other spans than generator %d", p.generator().Number,
				all.Generators[0].Number)
		}
		switch {
		case err != nil:
			r.Errors = append(r.Errors, runfile.ErrorClass{
				Stage: "spans", Class: "not merged", Count: 1,
				Example: fmt.Sprintf("generator %d: %s", p.generator().Number, err),
			})
		case all == nil:
			all = traced
		default:
			all.Add(traced)
		}
	}
	if all == nil {
		return
	}
	k := all.Keeper()
	dirs := each(parts, func(p Instance) string { return p.dir })
	for _, dir := range dirs {
		err := spans.ReadExported(filepath.Join(dir, spans.SpansName), func(of spans.Exported) { k.Take(of) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			must.Do(err)
		}
	}
	d := k.Describe(all.Sampling(listen, must.Get(spans.Table(all.Marks))))
	d.Received = *combined(received)
	r.Spans = d.Against(r.Latency.Arrival)
	must.Do(all.Write(out))
	must.Do(spans.Copy(dirs, out))
}
