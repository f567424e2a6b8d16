package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runs"
	"github.com/arrival-bench/arrival/extensions/k6/internal/spans"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

func newSpans(gs *state.GlobalState) *cobra.Command {
	var marks string
	var suggest bool
	c := &cobra.Command{
		Use:   "spans <run.json|directory> [file]...",
		Short: "Join spans with a run: those exported elsewhere, or its own with other marks",
		Long: `Makes stages of the sampled messages of a run with SPANS. The spans are those in the files: OTLP in JSON, as the
collector's file exporter writes it, Tempo's JSON or Jaeger's, each also with gzip or zstd. Without files they are
those that came to the run's endpoint (spans.ndjson.gz). They replace the run's spans in its run.json, summary.json,
summary.md and page, each written atomically.

--suggest changes nothing. It proposes spans.marks, as JSON for --marks or a script, from the spans of the run's
messages, or of all traces if there is no run.

Exit code: 0 when the run has stages or there is a proposal, 1 when not.`,
		Example: "  k6 x arrival spans reports/runs/smoke-single-loopback-20260131T120000Z traces.json\n" +
			"  k6 x arrival spans --marks marks.json reports/runs/smoke-single-loopback-20260131T120000Z\n" +
			"  k6 x arrival spans --suggest reports/runs/smoke-single-loopback-20260131T120000Z " +
			"traces.json > marks.json",
		Args: some("the directory of a run, and files of spans"),
		RunE: func(_ *cobra.Command, given []string) (err error) {
			if suggest {
				err = suggestMarks(gs, given)
			} else {
				err = joinSpans(gs, given[0], given[1:], marks)
			}
			return errext.WithExitCodeIfNone(err, wrong)
		},
	}
	c.Flags().StringVar(&marks, "marks", "", "`file` with a list like spans.marks (default: what the run asked for)")
	c.Flags().BoolVar(&suggest, "suggest", false, "propose marks")
	return c
}

// joinSpans replaces the spans of a run by those of files.
func joinSpans(gs *state.GlobalState, run string, files []string, marks string) error {
	traced, err := spans.ReadTraced(runfile.DirectoryOf(run))
	if err != nil {
		return err
	}
	own, err := ownSpans(run, files)
	if err != nil {
		return err
	}
	if own != nil {
		files = []string{filepath.Join(runfile.DirectoryOf(run), spans.SpansName)}
	}
	if marks != "" {
		if traced.Marks, err = readMarks(marks); err != nil {
			return err
		}
	}
	table, err := spans.Table(traced.Marks)
	if err != nil {
		return err
	}
	k := traced.Keeper()
	if err := readSpans(gs, k, files); err != nil {
		return err
	}
	d := k.Describe(traced.Sampling("", table))
	d.Received.Requests = len(files)
	if own != nil {
		d.Received, d.Listen = own.Received, own.Listen
	}
	if d.Received.Own+d.Received.Linked == 0 {
		return fmt.Errorf("none of %d spans belongs to a message of the run %s", d.Received.Spans, traced.Run)
	}
	r, err := render.SetSpans(run, d, facts.DivideTime)
	if err != nil {
		return err
	}
	for _, line := range render.SpansText(r) {
		fmt.Fprintln(gs.Stdout, words.Printable(line))
	}
	fmt.Fprintln(gs.Stdout, words.Printable(words.ShortPath(filepath.Join(runfile.DirectoryOf(run), runfile.PageName))))
	return nil
}

// ownSpans returns the spans of a run with an endpoint if no files are given; else nil.
func ownSpans(run string, files []string) (*runfile.Spans, error) {
	if len(files) > 0 {
		return nil, nil
	}
	path := filepath.Join(runfile.DirectoryOf(run), spans.SpansName)
	if !exists(path) {
		return nil, fmt.Errorf("the run has no %s, as no span of its messages came to it: "+
			"give files of spans; --help says more", path)
	}
	r, err := runs.Read(run)
	if err == nil && r.Spans == nil {
		err = fmt.Errorf("%s has a %s, but its %s no spans", run, spans.SpansName, runfile.FileName)
	}
	if err != nil {
		return nil, err
	}
	return r.Spans, nil
}

func readMarks(path string) (marks []spans.MarkOption, err error) {
	data, err := runfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err = strict.Decode(&marks); err != nil && strings.Contains(err.Error(), "unknown field") {
		return nil, fmt.Errorf("--marks: %s has an %s; allowed: mark, at, and span with kind, name, service", path,
			strings.TrimPrefix(err.Error(), "json: "))
	}
	if err != nil || len(marks) == 0 || !errors.Is(strict.Decode(&struct{}{}), io.EOF) {
		return nil, fmt.Errorf(`--marks: %s is not a list like [{"mark": "claimed", "span": {"kind": "consumer"}}]`, path)
	}
	return marks, nil
}

// readSpans keeps the spans of files.
func readSpans(gs *state.GlobalState, k *spans.Keeper, files []string) error {
	for _, path := range files {
		before := k.Received().Spans
		err := spans.ReadExported(path, func(all spans.Exported) { k.Take(all) })
		if errors.Is(err, spans.ErrCut) {
			gs.Logger.Warn(err)
		} else if err != nil {
			return err
		}
		if k.Received().Spans == before {
			return fmt.Errorf("%s has no spans: OTLP in JSON, and Tempo's and Jaeger's JSON are read", path)
		}
	}
	return nil
}

// suggestMarks prints a proposal of marks, and to standard error the groups of spans that it is from.
func suggestMarks(gs *state.GlobalState, given []string) error {
	messages, err := messagesOf(gs, given)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return errors.New("no span of a message of the run is known")
	}
	groups := spans.Suggest(messages)
	fmt.Fprintf(gs.Stderr, groupRow, "messages", "once", "start ms", "end ms", "span")
	var marks []string
	for i, g := range groups {
		if i < groupsMost {
			fmt.Fprintf(gs.Stderr, groupRow, fmt.Sprint(g.Messages), fmt.Sprint(g.Once), fmt.Sprintf("%.3f", g.Start),
				fmt.Sprintf("%.3f", g.End),
				words.Printable(strings.TrimSpace(g.Service+" "+g.Kind+" "+g.Name)))
		}
		if g.Mark != nil {
			row, err := json.Marshal(g.Mark)
			if err != nil {
				return err
			}
			marks = append(marks, string(row))
		}
	}
	if len(marks) == 0 {
		return errors.New("no span of a server, producer, consumer or client is in half of the messages, once in each")
	}
	fmt.Fprintf(gs.Stdout, "[\n  %s\n]\n", strings.Join(marks, ",\n  "))
	return nil
}

const groupRow = "%8s %6s %9s %9s  %s\n"

// groupsMost is how many groups --suggest lists.
const groupsMost = 60

// messagesOf are the spans of each message.
func messagesOf(gs *state.GlobalState, given []string) (all [][]runfile.SpansSpan, err error) {
	if !isRun(given[0]) {
		k := spans.NewKeeper(spans.NewMixing(""), func(string) (int, bool) { return 0, false })
		if err := readSpans(gs, k, given); err != nil {
			return nil, err
		}
		return k.OtherTrees(), nil
	}
	files := given[1:]
	if own := filepath.Join(runfile.DirectoryOf(given[0]), spans.SpansName); len(files) == 0 && exists(own) {
		files = []string{own}
	}
	if len(files) > 0 {
		traced, err := spans.ReadTraced(runfile.DirectoryOf(given[0]))
		if err != nil {
			return nil, err
		}
		k := traced.Keeper()
		if err := readSpans(gs, k, files); err != nil {
			return nil, err
		}
		return k.Trees(traced.Kept), nil
	}
	r, err := runs.Read(given[0])
	if err != nil {
		return nil, err
	}
	if r.Spans != nil {
		for _, m := range r.Spans.Slowest {
			if len(m.Spans) > 0 {
				all = append(all, m.Spans)
			}
		}
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isRun(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || filepath.Base(path) == runfile.FileName
}
