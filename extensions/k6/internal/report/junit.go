package report

import (
	"encoding/xml"
	"fmt"
	"time"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Stamp    string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr,omitempty"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit is a run as CI systems read it: a case for the verdict, one for the account and one for each threshold.
func JUnit(r *Run) ([]byte, error) {
	suite := junitSuite{Name: r.Run.Name, Time: fmt.Sprintf("%.3f", seconds(r)), Stamp: r.Run.Started}
	add := func(name string, ok bool, message string, more ...string) {
		c := junitCase{Class: "arrival", Name: name}
		if !ok {
			c.Failure = &junitFailure{Message: message}
			for _, line := range more {
				c.Failure.Text += line + "\n"
			}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	add("verdict", r.Verdict.Result == Pass, r.Verdict.Result, r.Verdict.Reasons...)
	add("account balances", r.Account.Balanced, equation(r.Account))
	for _, t := range r.Thresholds {
		add(t.Metric+": "+t.Expression, t.OK, "the threshold was crossed")
	}
	suite.Cases[0].Time = suite.Time // once: what reads it adds up the cases
	suite.Tests = len(suite.Cases)
	data, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

// seconds that the run took; 0 if it has not ended.
func seconds(r *Run) float64 {
	if r.Run.Ended == nil {
		return 0
	}
	from, err1 := time.Parse(time.RFC3339, r.Run.Started)
	to, err2 := time.Parse(time.RFC3339, *r.Run.Ended)
	if err1 != nil || err2 != nil {
		return 0
	}
	return to.Sub(from).Seconds()
}

// equation is the account in one line.
func equation(a Account) string {
	sign := "="
	if !a.Balanced {
		sign = "≠"
	}
	s := fmt.Sprintf("%s scheduled %s %s dropped + %s rejected + %s unknown + %s arrived + %s dead-lettered + %s queued + %s lost",
		count(a.Scheduled), sign, count(a.Dropped), count(a.Rejected), count(a.Unknown), count(a.Arrived), count(a.DeadLettered),
		count(a.Queued), count(a.Lost))
	if a.Pending > 0 {
		s += fmt.Sprintf(" + %s pending", count(a.Pending))
	}
	return s
}
