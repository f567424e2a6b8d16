package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
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

// JUnit is a run for CI systems, in the form common to Ant's and Jenkins' schemas: a case for the verdict and one for
// each rule. A broken limit of the pipeline is a failure. An untrusted instrument or an incomplete run is an error.
func JUnit(r *Run) ([]byte, error) {
	suite := junitSuite{Name: r.Run.Name, Time: fmt.Sprintf("%.3f", seconds(r)), Stamp: localStamp(r.Run.Started), Host: "localhost", Out: strings.TrimSpace(r.Answer.Sentence + "\n" + accountLine(r.Account))}
	if host, ok := r.Environment["hostname"].(string); ok {
		suite.Host = host
	}
	add := func(name, result, message, text string) {
		c := junitCase{Class: "arrival", Name: name, Time: "0.000"}
		switch result {
		case Pass:
		case Fail:
			c.Failure = &junitText{message, result, text}
			suite.Failures++
		default:
			c.Error = &junitText{message, result, text}
			suite.Errors++
		}
		suite.Cases = append(suite.Cases, c)
	}
	text := ""
	for _, reason := range r.Verdict.Reasons {
		text += reason + "\n"
	}
	message := cmp.Or(r.Answer.Sentence, r.Verdict.Result)
	for _, rule := range r.Verdict.Rules { // a failure shows measured and required value
		if r.Verdict.Result == Fail && rule.OK != nil && !*rule.OK && rule.Result == Fail {
			message = rule.why()
			break
		}
	}
	add("verdict", r.Verdict.Result, message, text)
	suite.Cases[0].Time = suite.Time // only once: readers sum the cases
	for _, rule := range r.Verdict.Rules {
		switch {
		case rule.OK == nil:
			suite.Cases = append(suite.Cases, junitCase{Class: "arrival", Name: rule.Limited(), Time: "0.000", Skipped: &struct{}{}})
			suite.Skipped++
		case *rule.OK:
			add(rule.Limited(), Pass, "", "")
		default:
			add(rule.Limited(), rule.Result, rule.why(), "")
		}
	}
	suite.Tests = len(suite.Cases)
	data, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

// localStamp is a UTC time in the schemas' form: to the second, without a zone.
func localStamp(stamp string) string {
	at, _ := time.Parse(time.RFC3339, stamp) // in run.json's form
	return at.UTC().Format("2006-01-02T15:04:05")
}

// seconds is the length of the run; 0: it has not ended.
func seconds(r *Run) float64 {
	if r.Run.Ended == nil {
		return 0
	}
	from, _ := time.Parse(time.RFC3339, r.Run.Started)
	to, _ := time.Parse(time.RFC3339, *r.Run.Ended)
	return to.Sub(from).Seconds()
}
