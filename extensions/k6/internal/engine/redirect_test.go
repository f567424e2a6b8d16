package engine

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// A redirect is not followed: k6/http would post with GET after 301 to 303. Each server that it leads to is one class.
func TestARedirectHasItsOwnClass(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url, _ := ingest(t, false, func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		w.Header().Set("Location", []string{
			"/messages/", "../login?next=secret", "https://user:pass@other.example/m?key=secret",
			fmt.Sprintf("//other.example/%d", n), "%zz",
		}[n%5])
		w.WriteHeader([]int{301, 302, 303, 307, 308}[n%5])
	})
	r := newScript(t, &fake.Pipeline{}, twenty, at(url, "")).run()
	assert.Equal(t, 20, r.Account.Rejected)
	got, examples := map[string]int{}, ""
	for _, e := range r.Errors {
		got[e.Class] = e.Count
		examples += e.Example + "\n"
	}
	assert.Equal(t, map[string]int{
		"redirect to " + url: 8, "redirect to https://other.example": 4, "redirect to http://other.example": 4,
		"HTTP 308": 4,
	}, got)
	assert.NotContains(t, examples, "pass")
	assert.NotContains(t, examples, "secret")
	assert.Contains(t, facts.Cause(r), "INGEST_URL")
}

// Regression: a server that names another host in each answer made a class of each.
func TestClassesOfErrorsAreBounded(t *testing.T) {
	t.Parallel()
	var n notes
	for i := range 3 * classesMost {
		n.Count("request", fmt.Sprint("redirect to ", i), "")
		n.Count("subscriber", fmt.Sprint(i), "")
	}
	_, classes := n.noted()
	assert.LessOrEqual(t, len(classes), classesMost+2)
	all := 0
	for _, c := range classes {
		all += c.Count
	}
	assert.Equal(t, 6*classesMost, all)
}

func TestBodiesOfAnswersAreDiscarded(t *testing.T) {
	t.Parallel()
	url, connections := ingest(t, false, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("a secret", 4000), http.StatusForbidden)
	})
	for discard, example := range map[bool]string{false: "a secret", true: ""} {
		s := newScript(t, &fake.Pipeline{}, twenty, "maxSenders: 1, "+at(url, ""))
		s.state.Options = lib.Options{DiscardResponseBodies: null.BoolFrom(discard)}
		r := s.runWith(1, sendAll(s))
		require.Len(t, r.Errors, 1)
		assert.Equal(t, "HTTP 403", r.Errors[0].Class)
		assert.Equal(t, example, r.Errors[0].Example[:min(8, len(r.Errors[0].Example))])
	}
	assert.Equal(t, int64(2), connections.Load(), "they are read all the same, or the connection could not be kept")
}

// Regression: requests had tags that systemTags did not name.
func TestRequestsHaveTheSystemTagsOfK6(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	s.state.Options = lib.Options{SystemTags: metrics.NewSystemTagSet(metrics.TagStatus)}
	s.runWith(1, sendAll(s))
	close(s.samples)
	seen := 0.0
	for container := range s.samples {
		for _, sample := range container.GetSamples() {
			if sample.Metric.Name == "http_reqs" {
				seen += sample.Value
				assert.Equal(t, map[string]string{"status": "202", "flow": "direct"}, sample.Tags.Map())
			}
		}
	}
	assert.Equal(t, 20.0, seen)
}
