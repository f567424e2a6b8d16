package body_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

const prefix = "run.1."

func bodiesOf(t *testing.T, f body.Format) *body.Bodies {
	t.Helper()
	p, err := profile.Parse("p",
		"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, target: user, targets: 3, payloadBytes: 4}]")
	require.NoError(t, err)
	require.NoError(t, f.Check())
	return body.New(f, p.Flows, pacer.New(p), prefix, false)
}

func TestBodiesAreMadeFromATemplate(t *testing.T) {
	t.Parallel()
	slot := pacer.Slot{FirstID: 41, OfFlow: 7, Messages: 1}
	for template, want := range map[string]string{
		"": `{"meta":{"id":"run.1.41"},"source":"k6","target":"user/1","payload":"xxxx"}`,
		`<m id='{{id}}'><to>{{ target }}</to>{{payload}}</m>`: "<m id='run.1.41'><to>user/1</to>xxxx</m>",
		`{{id}}`:          "run.1.41",
		`{{id}} {{id}} `:  "run.1.41 run.1.41 ",
		`{"{": "{{id}}"}`: `{"{": "run.1.41"}`,
	} {
		b := bodiesOf(t, body.Format{ID: "meta.id", Template: template, Source: "k6"})
		made := b.Append(nil, slot)
		assert.Equal(t, want, string(made))
		assert.Equal(t, []int{41}, b.Seqs(made, nil), template)
	}
}

func TestRandomPayloadsRepeatWithTheSeed(t *testing.T) {
	t.Parallel()
	slot := pacer.Slot{FirstID: 41, OfFlow: 7, Messages: 1}
	spec, err := fuzz.Parse("[age,int,ok,boolean]")
	require.NoError(t, err)
	f := body.Format{ID: "id", Source: "k6", Fuzz: spec, Seed: 5}
	made := string(bodiesOf(t, f).Append(nil, slot))
	assert.Regexp(t, `^{"id":"run\.1\.41","source":"k6","target":"user/1","payload":{"age":\d+,"ok":(true|false)}}$`,
		made)
	assert.Equal(t, made, string(bodiesOf(t, f).Append(nil, slot)))
	assert.Regexp(t,
		`^{"id":"run\.canary\.3","source":"k6","target":"canary/run","payload":{"age":\d+,"ok":(true|false)}}$`,
		string(body.NewSingle(f, "run.canary.", "canary/run").Message(3)))
}

func TestAnInvalidTemplateIsRefusedWithThePosition(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		`{"id":"{{id}}","x":"{{source}}"}`: "body, character 21: {{source}} is not known; allowed: {{id}}, {{target}}, {{payload}}, {{webhook}}",
		`{"id":"{{id}}","to":"{{webhook}}"}`: "body, character 22: {{webhook}} is the URL of the run's webhook, and none is known: " +
			"set webhook (ARRIVE=webhook) with its port, or webhook.url (WEBHOOK_URL)",
		`{"id":"{{id"}`:       "body, character 8: {{ without }}",
		`{"to":"{{target}}"}`: "body has no {{id}}: without an id a message cannot be followed",
	} {
		assert.EqualError(t, body.Format{Template: template}.Check(), want)
	}
}

func TestTheCanaryUsesTheTemplate(t *testing.T) {
	t.Parallel()
	f := body.Format{Template: "{{target}}|{{id}}|{{payload}}|{{id}}|{{target}}"}
	canary := body.NewSingle(f, "run.canary.", "canary/run")
	assert.Equal(t, "canary/run|run.canary.7||run.canary.7|canary/run", string(canary.Message(7)))
	assert.Equal(t, []int{7}, canary.Numbers(canary.Message(7)))
}

// Regression: a payload with the message before it ahead of its own id was that one for the canary, and the greeting
// "did not arrive". For the load it was right.
func TestTheCanaryFindsIDsByTheRuleOfTheLoad(t *testing.T) {
	t.Parallel()
	f := body.Format{ID: "id"}
	load, canary := bodiesOf(t, f), body.NewSingle(f, "run.canary.", "canary/run")
	for text, want := range map[string][]int{
		`{"prev":"%s6","id":"%s7"}`:   {7},
		`{"id":"%s7","prev":"%s6"}`:   {7},
		`[{"id":"%s6"},{"id":"%s7"}]`: {6, 7},
		`{"seen":["%s6","%s7"]}`:      {6, 7},
	} {
		of := func(prefix string) []byte { return []byte(strings.ReplaceAll(text, "%s", prefix)) }
		assert.Equal(t, want, load.Seqs(of("run.1."), nil), text)
		assert.Equal(t, want, canary.Numbers(of("run.canary.")), text)
	}
	assert.Equal(t, []int{7}, canary.Numbers([]byte("run.canary.7")), "an id alone")
	assert.Empty(t, canary.Numbers(load.Append(nil, pacer.Slot{FirstID: 41, Messages: 1})), "of the load")
}

func TestAnIDInsideALongerOneIsIgnored(t *testing.T) {
	t.Parallel()
	f := body.NewSingle(body.Format{Template: "MsgID={{id}}"}, "run1.1.", "")
	for payload, want := range map[string][]int{
		`{"MsgID":"myrun1.1.17"}`:                      nil,
		`{"before":"myrun1.1.17","MsgID":"run1.1.18"}`: {18},
		`run1.1.19;`:           {19},
		`MsgID=run1.1.20`:      {20},
		`run1.1.`:              nil,
		`xrun1.1.run1.1.21`:    {21},
		`xrun1.1.xrun1.1.2 x1`: nil,
	} {
		assert.Equal(t, want, f.Numbers([]byte(payload)), payload)
	}
}

// Regression: only the first id of a payload counted, so 60 of 75 delivered messages were lost.
func TestAllMessagesInAPayloadAreFound(t *testing.T) {
	t.Parallel()
	id := `{"id":"run.1.`
	for payload, want := range map[string][]int{
		`[` + id + `1"},` + id + `2"},` + id + `3"}]`:                  {1, 2, 3},
		id + "1\"}\n" + id + `2"}`:                                     {1, 2},
		`{"ids":["run.1.4","run.1.5"]}`:                                {4, 5},
		`{"prev":"run.1.6","id":"run.1.7"}`:                            {7},
		`{"id":"run.1.7","prev":"run.1.6"}`:                            {7},
		`{"id" : "run.1.7", "prev" : "run.1.6"}`:                       {7},
		`{"id":"run.1.8","copy":"run.1.8"}`:                            {8},
		`{"id":"run.1.x","n":"run.1.9"}`:                               {9},
		`{"events":[{"ref":"run.1.1","of":"run.1.2"},"run.1.1"]}`:      {1, 2},
		`{"prev":"run.2.6","id":"run.1.7","next":"run.1.","z":"run."}`: {7},
		`{}`: nil,
	} {
		assert.Equal(t, want, bodiesOf(t, body.Format{ID: "id"}).Seqs([]byte(payload), nil), payload)
	}
	var many []byte // regression: the time was the square of the number of ids, 40 s for these
	for n := range 200_000 {
		many = fmt.Appendf(many, `{"id":"run.1.%d"},`, n)
	}
	assert.Len(t, bodiesOf(t, body.Format{ID: "id"}).Seqs(many, nil), 200_000)
	own := bodiesOf(t, body.Format{Template: `{"MsgID": "{{id}}", "trace": "{{id}}"}`})
	assert.Equal(t, []int{7}, own.Seqs([]byte(`{"id":"run.1.6","MsgID":"run.1.7"}`), nil))
	plain := bodiesOf(t, body.Format{Template: `;{{id}}`})
	assert.Equal(t, []int{7, 6}, plain.Seqs([]byte(`run.1.7;run.1.6`), nil))
}
