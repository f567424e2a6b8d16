package body_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

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

func TestPlaceholdersOfRealBodies(t *testing.T) {
	t.Parallel()
	spec, err := fuzz.Parse(`{"temp":{"type":"float","range":[-40,60]},"unit":["C","F"]}`)
	require.NoError(t, err)
	f := body.Format{
		Template: `{"id":"{{id}}","at":{{now}},"us":{{now.us}},"iso":"{{now.iso}}","n":{{n}},"r":{{random}},` +
			`"temp":{{random.temp}},"unit":{{random.unit}},"tenant":"{{row.tenant}}"}`,
		Fuzz: spec, Seed: 3, Rows: map[string][]string{"tenant": {"a", `b "B"`, "c"}},
	}
	b := bodiesOf(t, f)
	slot := pacer.Slot{FirstID: 41, OfFlow: 7, FirstSeq: 41, Messages: 1}
	before := time.Now()
	made := b.Append(nil, slot)
	var message struct {
		ID           string
		At, US, N, R int64
		ISO          time.Time
		Temp         float64
		Unit, Tenant string
	}
	require.NoError(t, json.Unmarshal(made, &message), string(made))
	assert.Equal(t, []any{"run.1.41", int64(41), `b "B"`}, []any{message.ID, message.N, message.Tenant})
	for _, at := range []time.Time{time.UnixMilli(message.At), time.UnixMicro(message.US), message.ISO} {
		assert.WithinRange(t, at, before.Truncate(time.Millisecond), time.Now())
	}
	assert.True(t, message.R < 1e9 && message.Temp >= -40 && message.Temp <= 60, string(made))

	// What arrives later is the message that was sent, unless another byte than those of its times has changed.
	for text, whole := range map[string]bool{
		string(made): true,
		strings.Replace(string(made), `"n":41`, `"n":42`, 1):              false,
		strings.Replace(string(made), `"at":1`, `"at":x`, 1):              false,
		strings.Replace(string(made), `b \"B\"`, `b \"C\"`, 1):            false,
		strings.Replace(string(made), `{"id":`, `{"id": `, 1):             false,
		strings.Replace(string(made), `"at":1`, `"at":2`, 1):              true, // no time is known
		strings.Replace(string(made), `"unit":"`, `"unit":"x`, 1):         false,
		strings.Replace(string(made), `run.1.41","at"`, `run.1.41"}"`, 1): false,
	} {
		got, _ := b.Whole([]byte(text), slot, 0, 1, nil)
		assert.Equal(t, whole, got, text)
	}
	canary := string(body.NewSingle(f, "run.canary.", "canary/run").Message(7))
	assert.Regexp(t, `^{"id":"run\.canary\.7","at":\d{13},"us":\d{16},.*"n":7,.*"tenant":"a"}$`, canary)
	single := body.NewSingle(f, "run.canary.", "canary/run")
	early := strings.Replace(string(single.Message(7)), `"at":1`, `"at":2`, 1)
	assert.Equal(t, early, string(single.MessageLike(7, []byte(early))))
	plain := bodiesOf(t, body.Format{Template: "{{id}};{{row.tenant}}", Rows: f.Rows})
	assert.Equal(t, `run.1.41;b "B"`, string(plain.Append(nil, slot)), "it is not JSON")
}

func TestAPlaceholderWithoutItsValuesIsRefused(t *testing.T) {
	t.Parallel()
	spec, err := fuzz.Parse("[a,int]")
	require.NoError(t, err)
	rows := map[string][]string{"b": {"1"}, "a": {"1"}}
	for template, want := range map[string]string{
		"{{id}} {{row.c}}":    "body, character 8: {{row.c}} is not a column of rows (TARGETS_FILE, as CSV); allowed: a, b",
		"{{id}} {{random.b}}": "body, character 8: {{random.b}} is not a field of fuzz.spec (SPEC)",
	} {
		assert.EqualError(t, body.Format{Template: template, Fuzz: spec, Rows: rows}.Check(), want)
	}
	assert.ErrorContains(t, body.Format{Template: "{{id}} {{row.c}}"}.Check(), "allowed: none, as there are no rows")
	assert.ErrorContains(t, body.Format{Template: "{{id}} {{random.a}}"}.Check(), "is a field of fuzz.spec (SPEC), which is not set")
	assert.ErrorContains(t, body.Format{Template: "{{id}} {{now.ns}}"}.Check(), "{{now.ns}} is not known")
}

func TestAnInvalidTemplateIsRefusedWithThePosition(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		`{"id":"{{id}}","x":"{{source}}"}`: "body, character 21: {{source}} is not known; allowed: {{id}}, {{target}}, {{payload}}, {{webhook}}, " +
			"{{now}}, {{now.us}}, {{now.iso}}, {{n}}, {{random}}, {{random.<field>}}, {{row.<column>}}",
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

func TestAnIdHasAPlace(t *testing.T) {
	t.Parallel()
	of := func(f body.Format, payload string) string {
		return body.NewSingle(f, "run.", "t").Place(7, []byte(payload))
	}
	assert.Equal(t, "found at $.payload.MsgID", of(body.Format{}, `{"a":1,"payload":{"MsgID":"run.7"}}`))
	assert.Equal(t, `found at $[1]["msg-id"]`, of(body.Format{}, `[{},{"msg-id":"run.7"}]`))
	assert.Equal(t, "found at $.n", of(body.Format{Form: body.Number}, `{"n":`+body.Number.Prefix("run.")+`000000007}`))
	assert.Equal(t, "found: it is the whole message", of(body.Format{}, "run.7"))
	assert.Equal(t, "found at byte 3 of 8", of(body.Format{}, "id=run.7"))
	from, err := body.ParseFrom("json:$.id")
	require.NoError(t, err)
	assert.Contains(t, of(body.Format{From: from}, `{"id":"run.7"}`), "json:$.id")
}
