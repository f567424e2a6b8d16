package engine

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// judge sets the verdict of a report. ran is how long an unfinished run has lasted.
func (d description) judge(r *runfile.Run, doubts []string, ran time.Duration) runfile.Verdict {
	rules, replaced := d.run.judging.Rules(d.run.judging.builtIn())
	aborted, cutOff := d.run.judging.Aborted(), "the run was "+render.CutOff(ran, d.planned())
	if cause := d.run.life.now().cause; cause != "" && len(aborted) == 0 {
		cutOff += ": " + cause
	}
	r.Scene = d.scene()
	return judge.Of(judge.Evidence{
		Run: r, CutOff: cutOff, Doubts: doubts, Limits: rules,
		Replaced: replaced, Aborted: aborted, Cores: runtime.GOMAXPROCS(0), Unattended: d.run.sending.open.Unattended(),
		AtMostOnce: d.run.options.from.AtMostOnce, Halted: d.run.IsHalted(), Senders: d.mostUnderWay(),
		SendersBy: d.sendersBy(),
		Unread:    d.run.options.from.Unread,
	})
}

// scene returns the evidence that a cause needs besides run.json.
func (d description) scene() *runfile.Scene {
	s := &runfile.Scene{Subscribed: d.run.options.from.Words, Greeted: d.run.greeted}
	if d.run.Pacer.Told() { // the paths are the caller's
		s.URL = words.Mask(d.run.options.Ingest.URL)
	} else if d.run.options.Protocol == "HTTP" {
		path, _, query := strings.Cut(d.run.options.Ingest.Path, "?")
		if s.URL = words.Mask(d.run.options.Ingest.URL) + path; query { // it may hold a secret
			s.URL += "?…"
		}
	}
	if d.run.external == nil && d.run.options.Publishers == nil && !d.run.options.profile.Closed() {
		s.InFlight = d.run.segment.Scale(d.mostUnderWay())
	}
	d.run.notes.note(func() { s.Abandoned = d.run.notes.abandoned })
	if first := d.run.parts.Foreign(); first != nil {
		s.Sample, s.Carries = runfile.ExcerptOf(first), d.run.carries(first)
	}
	return s
}

// mostUnderWay is how many requests all instances together may have under way.
func (d description) mostUnderWay() int {
	if d.run.parts.Scripted.Load() {
		return d.run.options.Senders
	}
	return d.run.sending.most
}

// sendersBy names what limits the senders; empty: a caller sends.
func (d description) sendersBy() string {
	switch {
	case d.run.external != nil:
		return ""
	case d.run.parts.Scripted.Load():
		return "SENDERS, or senders of new Run()"
	}
	return "SENDERS, in ingest and matrix CONNECTIONS, or maxSenders of new Run()"
}

// carries reports whether a message has the run's id in some form.
func (e *Engine) carries(payload []byte) bool { return bytes.Contains(payload, []byte(e.parts.ID)) }

// planned is the planned length of the load; 0: it depends on the pipeline.
func (d description) planned() time.Duration {
	p := d.run.options.profile
	if slices.ContainsFunc(p.Phases, func(ph profile.Phase) bool { return ph.Requests > 0 || ph.Drain > 0 }) {
		return 0
	}
	return p.Duration()
}
