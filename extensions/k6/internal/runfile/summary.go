package runfile

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
)

// SummaryName is the file that a list of runs reads in place of run.json.
const SummaryName = "summary.json"

// SummarySchema is the version of summary.json that this package writes.
const SummarySchema = "arrival/summary/1"

// Summary is summary.json: some members of a run, at their paths in run.json.
type Summary struct {
	Schema   string   `json:"schema"`
	RunBytes int64    `json:"run_bytes"` // size of the run.json that it summarizes
	Run      Identity `json:"run"`
	Verdict  struct {
		Result  string   `json:"result"`
		Meaning string   `json:"meaning"`
		Reasons []string `json:"reasons"`
	} `json:"verdict"`
	Answer Answer `json:"answer"`
	Facts  struct {
		NotArrived *NotArrived `json:"not_arrived"`
		Doubts     []InDoubt   `json:"doubts"` // never nil
	} `json:"facts"`
	Account Account `json:"account"`
	Latency struct {
		Arrival struct {
			Count int64    `json:"count"`
			P50   *float64 `json:"p50"`
			P99   *float64 `json:"p99"`
		} `json:"arrival"`
	} `json:"latency"`
	Environment map[string]any `json:"environment"`
}

// summarized are the members of a run's environment that its summary has; nil: unknown.
var summarized = []string{"arrival", "cpu", "cores", "calibration_us", "pipeline", "git", "ci"}

// NewSummary summarizes a run whose run.json has so many bytes.
func NewSummary(r *Run, bytes int64) *Summary {
	s := &Summary{
		Schema: SummarySchema, RunBytes: bytes, Run: r.Run, Answer: r.Answer, Account: r.Account,
		Environment: map[string]any{},
	}
	s.Verdict.Result, s.Verdict.Meaning, s.Verdict.Reasons = r.Verdict.Result, r.Verdict.Meaning, r.Verdict.Reasons
	s.Facts.NotArrived, s.Facts.Doubts = r.Facts.NotArrived, append([]InDoubt{}, r.Facts.Doubts...)
	arrival := r.Latency.Arrival
	s.Latency.Arrival.Count, s.Latency.Arrival.P50, s.Latency.Arrival.P99 = arrival.Count, arrival.P50, arrival.P99
	for _, name := range summarized {
		s.Environment[name] = r.Environment[name]
	}
	return s
}

// SaveSummary writes the summary of a run beside its run.json.
func SaveSummary(dir string, r *Run) error {
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		return err
	}
	return Replace(filepath.Join(dir, SummaryName), func(w *bufio.Writer) error {
		return json.NewEncoder(w).Encode(NewSummary(r, info.Size()))
	})
}
