package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// lateBy is a run of 20 seconds at 1,500 requests/s whose generator was 40 ms late in each second from the tenth on,
// and what change makes of each of these seconds.
func lateBy(change func(s *runfile.Interval)) Evidence {
	r := run(func(r *runfile.Run) {
		own := latency(40)
		own.Max = new(40.0)
		r.Health.Lateness, r.Account.Requests.Scheduled = &own, 30_000
		for t := range 20 {
			s := runfile.Interval{T: t, Requests: 1500, LateMaxMS: new(0.3),
				Generator: runfile.Usage{CPUPercent: new(30.0), HostPercent: new(50.0), StealPercent: new(0.0)}}
			if t >= 10 {
				s.LateMaxMS = new(40.0)
				change(&s)
			} else {
				s.Requests = 930
			}
			r.Timeline = append(r.Timeline, s)
		}
		r.Steps = []runfile.Step{{Name: "hold", Measured: true, DurationS: 20, Requests: 30_000}}
	})
	return Evidence{Run: r, Cores: 2, Senders: 64, SendersBy: "SENDERS", Limits: []runfile.Rule{p99Below(5, 10)}}
}

func TestTheCauseOfALateGeneratorIsWhatTheEvidenceShows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *runfile.Interval)
		more   func(e *Evidence)
		why    string
		remedy string
	}{
		// Regression: "Give it more senders" on a host that was saturated, where more made it worse.
		"a saturated host, and senders that wait": {func(s *runfile.Interval) { s.Generator.HostPercent = new(99.0) },
			func(e *Evidence) { e.Unattended = 9000 }, "the host was saturated in 10 of the 10 seconds",
			"RATE=930 is what this host can carry"},
		"the hypervisor": {func(s *runfile.Interval) { s.Generator.StealPercent = new(20.0) }, nil,
			"the hypervisor took 10 % of this host's CPU", "use a machine that is not shared"},
		"its own cores": {func(s *runfile.Interval) { s.Generator.CPUPercent = new(195.0) }, nil,
			"the generator was out of CPU in 10 of the 10 seconds", "give it more cores"},
		"senders": {func(*runfile.Interval) {}, func(e *Evidence) { e.Unattended, e.Run.Latency.HTTP = 9000, latency(120) },
			"9,000 requests were due while all 64 senders waited", "Give it 256 senders (SENDERS"},
		"a caller that takes them late": {func(*runfile.Interval) {},
			func(e *Evidence) { e.Unattended, e.SendersBy = 9000, "" },
			"9,000 requests were taken after they were due", "Lower the rate"},
		"nothing that was used up": {func(*runfile.Interval) {}, nil, "something paused it for a short time",
			"Lower the rate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := lateBy(c.change)
			if c.more != nil {
				c.more(&e)
			}
			rule := ruleNamed(t, Of(e), lateRule)
			assert.Contains(t, rule.Reason, c.why)
			assert.Contains(t, rule.Remedy, c.remedy)
		})
	}
}

func TestMoreSendersThanMayBeAreNoAdvice(t *testing.T) {
	t.Parallel()
	e := lateBy(func(*runfile.Interval) {})
	e.Unattended, e.Senders = 9000, 8000
	rule := ruleNamed(t, Of(e), lateRule)
	assert.Contains(t, rule.Reason, "while all 8,000 senders waited")
	assert.Contains(t, rule.Remedy, "Lower the rate")
	assert.NotContains(t, rule.Remedy, "senders")
}

// Regression: with 503s that the script allows, the lateness was blamed on them.
func TestRefusalsAreNotTheCauseOnAFullHost(t *testing.T) {
	t.Parallel()
	e := lateBy(func(s *runfile.Interval) { s.Generator.HostPercent = new(100.0) })
	e.Run.Account.Requests.Sent, e.Run.Account.Requests.Failed = 30_000, 20_000
	e.Run.Errors = []runfile.ErrorClass{{Stage: runfile.RequestStage, Class: "HTTP 503", Count: 20_000}}
	assert.NotContains(t, ruleNamed(t, Of(e), lateRule).Reason, "503")
}
