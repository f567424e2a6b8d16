package render

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

type junitSuite struct {
	XMLName    xml.Name    `xml:"testsuite"`
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"`
	Stamp      string      `xml:"timestamp,attr"`
	Host       string      `xml:"hostname,attr"`
	Properties struct{}    `xml:"properties"`
	Cases      []junitCase `xml:"testcase"`
	Out        string      `xml:"system-out"`
	Err        string      `xml:"system-err"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Error   *junitText `xml:"error"`
	Failure *junitText `xml:"failure"`
	Skipped *struct{}  `xml:"skipped"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit is a run for CI systems, in the form common to Ant's and Jenkins' schemas: a case for each rule, so that one
// broken rule is one failure. A broken limit of the pipeline is a failure. An undecided limit, an untrusted instrument
// or an incomplete run is an error. The verdict has a case of its own, which is skipped where a broken rule has said
// it.
func JUnit(r *runfile.Run) ([]byte, error) {
	suite := junitSuite{
		Name: r.Run.Name, Time: fmt.Sprintf("%.3f", seconds(r)), Stamp: localStamp(r.Run.Started), Host: "localhost",
		Out: strings.TrimSpace(r.Answer.Sentence + "\n" + accountLine(r.Account) + "\n" + lines(r.Verdict.Doubts)),
	}
	if host, ok := r.Environment["hostname"].(string); ok {
		suite.Host = host
	}
	if slices.ContainsFunc(r.Verdict.Rules, runfile.Rule.Decides) {
		suite.skip("verdict")
	} else {
		suite.add("verdict", r.Verdict.Result, cmp.Or(r.Answer.Sentence, r.Verdict.Result), lines(r.Verdict.Reasons))
	}
	suite.Cases[0].Time = suite.Time // only once: readers sum the cases
	for _, rule := range r.Verdict.Rules {
		switch {
		case rule.Undecided:
			suite.add(caseName(rule), runfile.Invalid, rule.Reason, "")
		case rule.OK == nil:
			suite.skip(caseName(rule))
		case *rule.OK || rule.Result == runfile.Doubtful: // what it puts in doubt has an error of its own
			suite.add(caseName(rule), runfile.Pass, "", "")
		default:
			suite.add(caseName(rule), rule.Result, why(rule), "")
		}
	}
	suite.Tests = len(suite.Cases)
	data, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

// add appends a case with a result of a rule.
func (s *junitSuite) add(name, result, message, text string) {
	c := junitCase{Class: "arrival", Name: name, Time: "0.000"}
	switch result {
	case runfile.Pass:
	case runfile.Fail:
		c.Failure = &junitText{message, result, text}
		s.Failures++
	default:
		c.Error = &junitText{message, result, text}
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

func (s *junitSuite) skip(name string) {
	s.Cases = append(s.Cases, junitCase{Class: "arrival", Name: name, Time: "0.000", Skipped: &struct{}{}})
	s.Skipped++
}

func lines(all []string) string {
	text := ""
	for _, one := range all {
		text += one + "\n"
	}
	return text
}

// localStamp is a UTC time in the schemas' form: to the second, without a zone.
func localStamp(stamp string) string {
	at, _ := time.Parse(time.RFC3339, stamp) // the format of run.json
	return at.UTC().Format("2006-01-02T15:04:05")
}

// seconds is the length of the run; 0: it has not ended.
func seconds(r *runfile.Run) float64 {
	if r.Run.Ended == nil {
		return 0
	}
	from, _ := time.Parse(time.RFC3339, r.Run.Started)
	to, _ := time.Parse(time.RFC3339, *r.Run.Ended)
	return to.Sub(from).Seconds()
}

// caseName is the rule as text without a computed limit, which differs from run to run: CI systems follow a case by its
// name.
func caseName(r runfile.Rule) string {
	if r.Basis != "" {
		return r.FullName()
	}
	return r.Limited()
}

// why is a broken rule in one line: measured and required value, and the reason if it adds anything.
func why(r runfile.Rule) string {
	switch {
	case r.LimitText() == "":
		return cmp.Or(r.Reason, "did not hold")
	case r.Reason == "":
		return r.Broken()
	case strings.HasSuffix(r.Reason, ", limit "+r.LimitText()): // a limit of the script
		return r.Reason
	}
	return r.Reason + " (" + r.Broken() + ")"
}
