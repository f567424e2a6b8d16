package arrival

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

func bodiesOf(t *testing.T, o *options) *bodies {
	t.Helper()
	var err error
	o.profile, err = profile.Parse("p", "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, target: user, targets: 3, payloadBytes: 4}]")
	require.NoError(t, err)
	return newBodies(o, "run.1.", "")
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
		b := bodiesOf(t, &options{ID: "meta.id", Body: template, tool: report.Tool{Name: "k6"}})
		body := b.append(nil, slot)
		assert.Equal(t, want, string(body))
		seq, ok := b.seq(body)
		assert.True(t, ok, template)
		assert.Equal(t, 41, seq, template)
	}
}

func TestPayloadsCanBeRandomObjectsThatASeedRepeats(t *testing.T) {
	t.Parallel()
	slot := pacer.Slot{FirstID: 41, OfFlow: 7, Messages: 1}
	spec, err := fuzz.Parse("[age,int,ok,boolean]")
	require.NoError(t, err)
	o := &options{ID: "id", tool: report.Tool{Name: "k6"}, Fuzz: &fuzzOptions{Seed: 5, spec: spec}}
	body := string(bodiesOf(t, o).append(nil, slot))
	assert.Regexp(t, `^{"id":"run\.1\.41","source":"k6","target":"user/1","payload":{"age":\d+,"ok":(true|false)}}$`, body)
	assert.Equal(t, body, string(bodiesOf(t, o).append(nil, slot)))
	before, after := o.fixed("run.canary.", "canary/run")
	assert.Equal(t, []string{`{"id":"run.canary.`, `","source":"k6","target":"canary/run","payload":{}}`}, []string{before, after})
}

func TestATemplateThatMakesNoSenseIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		`{"id":"{{id}}","x":"{{source}}"}`: "body, character 21: {{source}} is not known; allowed: {{id}}, {{target}}, {{payload}}",
		`{"id":"{{id"}`:                    "body, character 8: {{ without }}",
		`{"to":"{{target}}"}`:              "body has no {{id}}: a message that cannot be told from others cannot be followed",
	} {
		_, err := parseBody(template, "", "")
		assert.EqualError(t, err, want)
	}
}

func TestTheCanaryHasTheTemplateToo(t *testing.T) {
	t.Parallel()
	before, after := (&options{Body: "{{target}}|{{id}}|{{payload}}|{{id}}|{{target}}"}).fixed("run.canary.", "canary/run")
	assert.Equal(t, []string{"canary/run|run.canary.", "||run.canary.0|canary/run"}, []string{before, after})
}

// A pipeline of one's own has other messages and other topics.
func TestAPipelineWithMessagesAndTopicsOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, `
phases: [{name: steady, duration: 1, arrivalRate: 50}]
flows: [{name: own, target: devices, targets: 1}]`,
		"body: `{\"MsgID\":\"{{id}}\",\"target\":\"{{target}}\"}`, mqtt: { url: 'BROKER', filter: 'messages/devices/0' }").run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, report.Pass, result, reasons)
	assert.Equal(t, 50, r.Account.Arrived)
	assert.Contains(t, report.Text(r, "", false), "request to delivery as one: the pipeline told no stamps")
}

func TestAnIdInsideALongerOneIsAnothers(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]int{
		`{"MsgID":"myrun1.1.17"}`:                      -1,
		`{"before":"myrun1.1.17","MsgID":"run1.1.18"}`: 18,
		`run1.1.19;`:           19,
		`MsgID=run1.1.20`:      20,
		`run1.1.`:              -1,
		`xrun1.1.run1.1.21`:    21,
		`xrun1.1.xrun1.1.2 x1`: -1,
	} {
		n, ok := numberAfter([]byte(payload), []byte("run1.1."), false)
		if !ok {
			n = -1
		}
		assert.Equal(t, want, n, payload)
	}
}
