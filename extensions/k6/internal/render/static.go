package render

import (
	_ "embed"
	html "html/template"
	"io"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// staticText is the part of the page that needs no script, for where none may run: Jenkins, mail, previews of files.
// The page's script replaces it.
//
//go:embed static.gohtml
var staticText string

var static = html.Must(html.New("static").Funcs(html.FuncMap{
	"text": words.Printable, "count": words.Count, "samples": func(n int64) string { return words.Count(int(n)) },
	"num": words.MS,
	"at":  func(l runfile.Latency, p float64) string { return words.MS(l.At(p)) },
}).Parse(staticText))

// staticPage is the data of the page's static part.
type staticPage struct {
	*runfile.Run
	About   string
	Account []staticEnding
	Columns []staticColumn
	Stages  []staticStage
	Chart   *staticChart // nil: nothing to draw
}

type staticEnding struct {
	Count       int
	Name, Share string
}

type staticColumn struct {
	Name, Unit string
	Of         runfile.Latency
}

type staticStage struct {
	Name, From, To, Share string
	Of                    runfile.Latency
}

// writeStatic writes the static part of a run's page. Without a balanced account it has no latency.
func writeStatic(w io.Writer, r *runfile.Run) error {
	p := staticPage{Run: r, About: about(r), Account: staticAccount(r.Account)}
	if r.Account.Balanced {
		p.Columns, p.Stages, p.Chart = staticColumns(r), staticStages(r), newStaticChart(r)
	}
	return static.Execute(w, p)
}

func about(r *runfile.Run) string {
	ended := ", not ended"
	if r.Run.Ended != nil {
		ended = " to " + dayTime(*r.Run.Ended)
	}
	tool := strings.TrimSpace(r.Run.Tool.Name + " " + r.Run.Tool.Version)
	if n := len(r.Generators); n > 1 {
		tool += " · " + words.Plural(n, "generator")
	}
	return strings.Join([]string{dayTime(r.Run.Started) + ended, tool, "profile " + r.Run.Profile.Name, r.Run.Topology,
		r.Run.Network}, " · ")
}

// dayTime is a stamp of run.json as the page writes it; what is none stays as it is.
func dayTime(stamp string) string {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return stamp
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

func staticAccount(a runfile.Account) (rows []staticEnding) {
	add := func(end ledger.EndCount) {
		n := end.Of(a)
		rows = append(rows, staticEnding{n, end.Word(), words.Percent(float64(n) / float64(max(1, a.Scheduled)))})
	}
	add(ledger.Ends[ledger.EndArrived])
	for i, end := range ledger.Ends {
		if ledger.End(i) != ledger.EndArrived && end.Of(a) > 0 {
			add(end)
		}
	}
	return rows
}

func staticColumns(r *runfile.Run) []staticColumn {
	l, http := r.Latency, staticColumn{r.Run.Protocol, "sent → answer", r.Latency.HTTP}
	if r.Run.Model == runfile.Closed { // there a message is due when it is sent
		return []staticColumn{{"arrival", "sent → arrived", l.Arrival}, http}
	}
	return []staticColumn{{"arrival", "due → arrived", l.Arrival}, {"from send", "sent → arrived", l.FromSend}, http}
}

func staticStages(r *runfile.Run) (all []staticStage) {
	for _, s := range r.Stages {
		l := r.Latency.Stages[s.Name]
		if l.Count == 0 {
			continue
		}
		share := ""
		if whole := r.Latency.Arrival.Mean; whole != nil && *whole > 0 && l.Mean != nil {
			share = words.Percent(max(0, *l.Mean / *whole))
		}
		all = append(all, staticStage{s.Name, s.From, s.To, share, l})
	}
	return all
}
