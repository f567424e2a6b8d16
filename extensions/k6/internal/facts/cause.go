package facts

import (
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// causes say at which end a run stopped, in the order of the message's way: what stops at one end is missing at all
// later ones. Only the first that holds counts.
var causes = []struct {
	holds func(r *runfile.Run) bool
	text  func(r *runfile.Run) string
}{
	{func(r *runfile.Run) bool { return scene(r).Abandoned != "" }, func(r *runfile.Run) string {
		if names, ok := r.Environment[runfile.Executors].(string); ok && r.Run.Model == runfile.Closed {
			return scene(r).Abandoned + ": let its phases last as long as " + names + " begins iterations, and add a last " +
				"one with measured: false, in which they end"
		}
		return scene(r).Abandoned + ": give the senders' scenario at least the time and the iterations of the " +
			"load, as run.scenarios() does"
	}},
	{func(r *runfile.Run) bool { return r.Account.Scheduled == 0 }, func(*runfile.Run) string {
		return "the script sent no message: none of its virtual users came as far as a request that carries one"
	}},
	{func(r *runfile.Run) bool {
		e := unsent(r)
		return e != nil && 2*e.Count > r.Account.Requests.Scheduled-r.Account.Requests.Sent
	},
		func(r *runfile.Run) string {
			e := unsent(r)
			return fmt.Sprintf("%s of %s were not sent: %s", words.Count(e.Count),
				words.Plural(r.Account.Requests.Scheduled, "request"),
				words.Short(words.Printable(e.Example)))
		}},
	{mostFailed, func(r *runfile.Run) string {
		s, e := Failures(r), worstRequest(r)
		if e == nil {
			return s
		}
		advice := adviceOn(e.Class)
		if refusal(r) != nil && sentenceOf(e.Example) != "" && strings.HasSuffix(advice, logSaysWhy) { // it has said so
			return s
		}
		if said := sentenceOf(e.Example); said != "" && refusal(r) == nil {
			s += ", for example “" + said + "”"
		}
		return s + ": " + advice
	}},
	{func(r *runfile.Run) bool { return silent(r) && r.Account.Foreign > 0 }, func(r *runfile.Run) string {
		s := fmt.Sprintf("%s arrived without an id of this run", words.Plural(r.Account.Foreign, "message"))
		why := "does the pipeline pass the id on, in its field (ID_KEY, ID_FORMAT), and where (ID_FROM)?"
		if scene(r).Carries {
			s = fmt.Sprintf("%s arrived whose ids could not be read", words.Plural(r.Account.Foreign, "message"))
			why = "the id has to arrive as it was sent, not escaped, encoded or within a longer one; " +
				"ID_FROM says where it is"
		}
		if sample := scene(r).Sample; sample != "" {
			s += ", the first of them " + sample
		}
		return s + ": " + why
	}},
	{func(r *runfile.Run) bool {
		return silent(r) && r.Account.Misdelivered > 0 && mostOf(r.Account.Misdelivered, r)
	},
		func(r *runfile.Run) string {
			return fmt.Sprintf("%s came to another recipient%s: by what does the pipeline route?",
				words.Plural(r.Account.Misdelivered, "message"), Misdelivered(r))
		}},
	{func(r *runfile.Run) bool { return silent(r) && r.Account.Altered > 0 && mostOf(r.Account.Altered, r) },
		func(r *runfile.Run) string {
			return fmt.Sprintf("%s arrived with other content than was sent: does the pipeline wrap or rewrite messages "+
				"on purpose (VERIFY=off)?",
				words.Plural(r.Account.Altered, "message"))
		}},
	{func(r *runfile.Run) bool { return silent(r) && r.Account.Queued > 0 && mostOf(r.Account.Queued, r) },
		func(r *runfile.Run) string {
			return fmt.Sprintf("%s are still in the queue: does a relay run, and does it reach the broker?",
				words.Plural(r.Account.Queued, "message"))
		}},
	{func(r *runfile.Run) bool {
		return silent(r) && r.Account.DeadLettered > 0 && mostOf(r.Account.DeadLettered, r)
	}, func(r *runfile.Run) string {
		return fmt.Sprintf("the pipeline gave up %s (dead-lettered): its log says why",
			words.Plural(r.Account.DeadLettered, "message"))
	}},
	{func(r *runfile.Run) bool { return silent(r) && Denied(r.Errors) != "" }, func(r *runfile.Run) string {
		return "the requests were accepted, and the webhook took none of the calls that came: " + Denied(r.Errors)
	}},
	{func(r *runfile.Run) bool { return silent(r) && goesRound(r) && len(r.Health.Gaps) == 0 }, func(*runfile.Run) string {
		return "the requests were accepted, and nothing of the load arrived, though messages of the canary did: " +
			"does the pipeline deliver to the targets of the load (TARGET, the flows' target), " +
			"and at its rate? Its log says it"
	}},
	{func(r *runfile.Run) bool { return silent(r) && scene(r).Subscribed != "" && len(r.Health.Gaps) == 0 },
		func(r *runfile.Run) string {
			return "the requests were accepted and nothing arrived at all; " + scene(r).Subscribed
		}},
}

// Cause says where the messages of a run that does not pass stopped, and why; empty: no single cause explains it.
func Cause(r *runfile.Run) string {
	for _, cause := range causes {
		if cause.holds(r) {
			text := cause.text(r)
			if url := scene(r).URL; url != "" && r.Account.Requests.Sent > 0 {
				text += " (posted to " + url + ")"
			}
			return text
		}
	}
	return ""
}

func scene(r *runfile.Run) runfile.Scene {
	if r.Scene == nil {
		return runfile.Scene{}
	}
	return *r.Scene
}

func mostFailed(r *runfile.Run) bool { return 2*r.Account.Requests.Failed > r.Account.Requests.Sent }

func mostOf(n int, r *runfile.Run) bool { return 2*n > r.Account.Scheduled-r.Account.Dropped }

// silent reports whether messages were accepted and none arrived.
func silent(r *runfile.Run) bool {
	a := r.Account
	return a.Deliveries.Arrived == 0 && a.Scheduled-a.Dropped-a.Rejected > 0
}

// goesRound reports whether the pipeline delivered messages outside the load.
func goesRound(r *runfile.Run) bool {
	return scene(r).Greeted || r.Canary != nil && r.Canary.Arrived > 0
}

// Denied says which calls came to a webhook that did not take them, most frequent first; empty: none.
func Denied(errors []runfile.ErrorClass) string {
	var why []string
	for _, e := range errors {
		if e.Stage == runfile.DenialStage && len(why) < classesMost {
			why = append(why, fmt.Sprintf("%s × %s (%s)", words.Count(e.Count), e.Class,
				words.Short(words.Printable(e.Example))))
		}
	}
	return strings.Join(why, ", ")
}

// worstRequest is the most frequent error of requests; nil: there is none.
func worstRequest(r *runfile.Run) (worst *runfile.ErrorClass) {
	for i := range r.Errors {
		if e := &r.Errors[i]; e.Stage == runfile.RequestStage && (worst == nil || e.Count > worst.Count) {
			worst = e
		}
	}
	return worst
}

// unsent are the requests that the caller did not send, for a reason of its own; nil: there are none.
func unsent(r *runfile.Run) *runfile.ErrorClass {
	for i := range r.Errors {
		if e := &r.Errors[i]; e.Stage == runfile.CallerStage && e.Class == runfile.UnsentClass {
			return e
		}
	}
	return nil
}

// logSaysWhy is the advice where an answer says nothing itself.
const logSaysWhy = "its log says why"

// advice is about classes of errors of requests, by the beginning of their name.
var advice = []struct{ class, text string }{
	{"HTTP 401", "the token is missing or wrong (INGEST_TOKEN, ingest.token)"},
	{"HTTP 403", "the token or the account may not post there"},
	{"HTTP 404", "is the path right (INGEST_PATH, ingest.path)?"},
	{"HTTP 405", "is the path right (INGEST_PATH, ingest.path)?"},
	{"HTTP 413", "the ingest takes smaller bodies only"},
	{"HTTP 415", "the ingest wants another content type (HEADERS, ingest.headers)"},
	{"HTTP 429", "the ingest limits its rate: lower that of the run, or allow it more"},
	{"HTTP 503", "the ingest does not take more: " + logSaysWhy},
	{"redirect to", "requests follow no redirect: post to that address (INGEST_URL, INGEST_PATH)"},
	{"HTTP 3", "the ingest answers elsewhere, and requests do not follow: post to that address"},
	{"HTTP 4", "does the ingest expect another body (BODY, body) or header?"},
	{"HTTP 5", "the ingest, or a gateway before it, failed: " + logSaysWhy},
	{"no connection: blocked", "k6's options forbid the ingest's address (blacklistIPs, blockHostnames)"},
	{"closed", "the ingest closed the connection without an answer: " +
		"does it want https:// (INGEST_URL)? Else its log says why"},
	{"reset", "the ingest closed the connection without an answer: " +
		"does it want https:// (INGEST_URL)? Else its log says why"},
	{"answer cut", "the connection ended within an answer: the log of the ingest, or of a proxy before it, says why"},
	{"no HTTP/1.1", "run.next() with k6/http speaks HTTP/2 over TLS, or let the ingest take HTTP/1.1 too"},
	{"timeout", "the ingest did not answer in time: does it hang, or is TIMEOUT too short?"},
	{"no connection", "does the ingest run there, and can this host reach it?"},
	{"TLS", "does the ingest speak TLS there, is its certificate trusted here (TLS_CA, ca), " +
		"and does it want one of its clients (tlsAuth of k6)?"},
	{"not settled", "the script has to call run.settle() for each request of run.next()"},
}

func adviceOn(class string) string {
	for _, a := range advice {
		if strings.HasPrefix(class, a.class) {
			return a.text
		}
	}
	return "the log of the ingest says why"
}
