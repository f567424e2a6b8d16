package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// environment is a Lookup of some variables.
func environment(all map[string]string) Lookup {
	return func(name string) (string, bool) { value, is := all[name]; return value, is }
}

var variables = environment(map[string]string{
	"TOKEN": "s3cret", "PASSWORD": "p@ss/w:rd", "HOST": "h:1", "EMPTY": "", "N": "7",
})

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "my.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// read returns the settings of a file as NAME=value.
func read(t *testing.T, text string) map[string]string {
	all, err := Read(write(t, text), variables)
	require.NoError(t, err)
	values := map[string]string{}
	for _, s := range all {
		values[s.Name] = s.Value
	}
	return values
}

const ingest = "ingest: {url: http://h}\n"

func TestAPipelineFileIsSettings(t *testing.T) {
	t.Parallel()
	got := read(t, `# yaml-language-server: $schema=x
ingest:
  url: http://$HOST/v1
  token: $TOKEN
  path: /events/{{target}}
  headers: { x-tenant: 7, Authorization: 'Bearer ${TOKEN}' }
  timeout: 2.50
  keepAlive: false
body: '{"MsgID":"{{id}}","price":"$5 or $$N"}'
id: { from: 'json:$.meta.id' }
targets: [d1, site/d2]
arrive:
  mqtt: { url: 'mqtts://me:$PASSWORD@broker', topicPrefix: '', qos: 0, version: 5 }
stages: [request, api]
verify: off
labels: { build: 17, branch: main }
senders: $N
`)
	assert.Equal(t, map[string]string{
		"INGEST_URL": "http://h:1/v1", "INGEST_TOKEN": "s3cret", "INGEST_PATH": "/events/{{target}}",
		"HEADERS": `{"Authorization":"Bearer s3cret","x-tenant":"7"}`, "TIMEOUT": "2.5", "KEEPALIVE": "false",
		"BODY": `{"MsgID":"{{id}}","price":"$5 or $N"}`, "ID_FROM": "json:$.meta.id", "TARGETS": "d1,site/d2",
		"ARRIVE": "mqtt", "MQTT_URL": "mqtts://me:p%40ss%2Fw%3Ard@broker", "TOPIC_PREFIX": "", "QOS": "0",
		"MQTT_VERSION": "5", "STAGES": "request,api", "VERIFY": "off", "LABELS": "build=17,branch=main", "SENDERS": "7",
	}, got)
}

func TestOneKindOfArrivalIsARRIVE(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "sse", read(t, ingest+"arrive: {sse: {url: http://h, clients: 5}}")["ARRIVE"])
	assert.Equal(t, "webhook", read(t, ingest+"arrive: {webhook: {}}")["ARRIVE"])
}

// What YAML allows beside the plain form.
func TestOtherFormsOfAFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"CRLF":                        "ingest:\r\n  url: http://h\r\n",
		"a byte order mark":           "\ufeffingest:\n  url: http://h\n",
		"JSON":                        `{"ingest": {"url": "http://h"}}`,
		"an anchor":                   "ingest:\n  url: &here http://h\narrive: {sse: {url: *here}}\n",
		"the marks of one document":   "---\ningest:\n  url: http://h\n...\n",
		"an empty document behind it": "ingest:\n  url: http://h\n---\n",
		"a text in a block":           "ingest:\n  url: >-\n    http://h\n",
		"tabs in a text":              "body: |\n  {\n  \t{{id}}\n  }\ningest:\n  url: http://h\n",
	} {
		assert.Equal(t, "http://h", read(t, text)["INGEST_URL"], name)
	}
}

func TestAPathIsSeenFromTheFile(t *testing.T) {
	t.Parallel()
	path := write(t, ingest+"bodyFile: body.json")
	body := filepath.Join(filepath.Dir(path), "body.json")
	_, err := Read(path, variables)
	require.ErrorContains(t, err, "my.yml:2:11: bodyFile can't be read")
	require.NoError(t, os.WriteFile(body, []byte("{{id}}"), 0o600))
	all, err := Read(path, variables)
	require.NoError(t, err)
	assert.Equal(t, body, all[1].Value)
}

// Each error has the place, and what is allowed there.
func TestAWrongFileIsRefusedAtItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{"", "my.yml is empty; allowed: arrive, body"},
		{"# only a comment\n", "is empty"},
		{"---\n", "is empty"},
		{"- a\n", "my.yml:1:1: the file is a list; allowed: keys with values"},
		{"http://h", `my.yml:1:1: the file is "http://h"; allowed`},
		{"body: x\n", "my.yml:1:1: ingest is missing"},
		{"ingest: {path: /x}\n", "my.yml:1:9: ingest.url is missing"},
		{ingest + "ingset: 1\n", "my.yml:2:1: ingset is not known, ingest is; allowed: arrive, "},
		{"ingest:\n  ulr: x\n", "my.yml:2:3: ingest.ulr is not known, url is; allowed: headers, "},
		{ingest + "<<: {verify: off}\n", "my.yml:2:1: << is not known"},
		{ingest + "verify: 1\nverify: off\n", "my.yml:3:1: verify stands here and in line 2"},
		{ingest + "deliveries: 99\n", `my.yml:2:13: deliveries is "99"; allowed: whole numbers from 1 to 32`},
		{ingest + "deliveries: 1.5\n", "whole numbers from 1 to 32"},
		{ingest + "deliveries: two\n", `is "two"`},
		{ingest + "deliveries: .nan\n", "allowed: whole numbers"},
		{ingest + "deliveries: [1]\n", "deliveries is a list; allowed: whole numbers"},
		{ingest + "deliveries:\n", "deliveries is empty; allowed: whole numbers"},
		{ingest + "deliveries: !env N\n", "my.yml:2:13: deliveries has the tag !env"},
		{ingest + "body: {id: x}\n", "body is a mapping; allowed: a text"},
		{ingest + "body: ''\n", "body is empty: leave it out"},
		{ingest + "body: \"a\\0\"\n", "zero byte"},
		{ingest + "targets: 0\n", "1 to 100000, or a list of names"},
		{ingest + "targets: [a, 'b,c']\n", `my.yml:2:14: targets has "b,c"; allowed: names without a comma`},
		{ingest + "targets: [7]\n", "one name, which is a number"},
		{ingest + "stages: request\n", `stages is "request"; allowed: a list`},
		{ingest + "canary: no\n", "allowed: true, on, false, off"},
		{ingest + "arrive: mqtt\n", `arrive is "mqtt"; allowed: keys with values: mqtt, sse, webhook, websocket`},
		{ingest + "arrive: {}\n", "arrive has 0 keys; allowed: one of mqtt"},
		{ingest + "arrive: {sse: {url: http://h}, mqtt: {url: mqtt://h}}\n", "arrive has 2 keys; allowed: one of mqtt"},
		{ingest + "arrive: {mqtt: }\n", "arrive.mqtt is empty; allowed: keys with values"},
		{ingest + "labels: {a: 'x,y'}\n", "labels.a has a comma"},
		{"ingest: {url: http://h, headers: {a: 1, a: 2}}\n", "ingest.headers.a stands twice"},
		{"ingest:\n\turl: http://h\n", "my.yml:2:1: a tab indents this line; allowed: spaces"},
		{"ingest:\n  url: http://h\n\tpath: /x\n", "my.yml:3:1: a tab indents this line"},
		{"\tingest: x\n", "my.yml:1:1: a tab indents this line"},
		{"body: |\n  \t{\n\t{{id}}\n" + ingest, "my.yml:3:1: a tab indents this line"},
		{"body: |\n  {\n  \t{{id}}\n  }\ningest: @h\n", "my.yml:5: not YAML"}, // regression: line 3 was blamed
		{"body: \"{\n\t{{id}}}\"\ningest: [\n", "my.yml:3: not YAML"},
		{"ingest: @h\nbody: {\n\ta}", "my.yml: not YAML"},
		{"ingest: *h\n", "my.yml: not YAML: unknown anchor 'h' referenced"},
		{"ingest: {url: http://h\n", "not YAML"},
		{"? [a]\n: b\n", "my.yml:1:3: a key is a list; allowed: arrive"},
		{ingest + "---\nbody: x\n", "my.yml:3:1: a second document; allowed is one"},
		{"ingest: &a {url: http://h, headers: *a, path: *a}\n", "ingest.headers.headers is a mapping"},
		{ingest + strings.Repeat("#", fileMost), "the most of a pipeline file"},
	} {
		_, err := Read(write(t, c.text), variables)
		require.ErrorContains(t, err, c.says, c.text[:min(len(c.text), 99)])
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestASecretIsAVariable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{"ingest: {url: http://h, token: hunter22}", "my.yml:1:32: ingest.token is a secret"},
		{"ingest: {url: http://h, token: Bearer $TOKEN}", "ingest.token is a secret"},
		{"ingest: {url: http://h, token: $token}", "ingest.token is a secret"},
		{"ingest: {url: http://h, headers: {X-Api-Key: hunter22}}", "ingest.headers.X-Api-Key is a secret"},
		{"ingest: {url: 'http://u:hunter22@h'}", "ingest.url has a secret (the password)"},
		{"ingest: {url: 'http://h?api_key=hunter22'}", "ingest.url has a secret (api_key)"},
		{ingest + "arrive: {webhook: {secret: whsec_hunter22}}", "arrive.webhook.secret is a secret"},
		{ingest + `arrive: {websocket: {url: ws://h, send: '{"token":"hunter22"}'}}`, "arrive.websocket.send has a secret"},
		{ingest + "body: $UNKNOWN", "my.yml:2:7: body has $UNKNOWN, which is not set in the environment ($$ stands for $)"},
		{"ingest: {url: http://h, token: $EMPTY}", "$EMPTY, which is not set"},
	} {
		_, err := Read(write(t, c.text), variables)
		require.ErrorContains(t, err, c.says, c.text)
		assert.NotContains(t, err.Error(), "hunter22")
	}
	read(t, "ingest: {url: 'http://h?api_key=$TOKEN'}")
	assert.Equal(t, `{"token":"s3cret"}`,
		read(t, ingest+`arrive: {websocket: {url: ws://h, send: '{"token":"$TOKEN"}'}}`)["WEBSOCKET_SEND"])
}

func TestAFileThatIsNone(t *testing.T) {
	t.Parallel()
	_, err := Read(filepath.Join(t.TempDir(), "none.yml"), variables)
	require.ErrorContains(t, err, "can't be read")
	_, err = Read(t.TempDir(), variables)
	require.ErrorContains(t, err, "is a directory")
}

func TestFlagsStandBeforeTheFileAndTheEnvironmentMayNotContradict(t *testing.T) {
	t.Parallel()
	all, err := Read(write(t, "ingest: {url: $URL}\nverify: off"), environment(map[string]string{"URL": "http://h"}))
	require.NoError(t, err)
	one, err := Effective(all, []string{"INGEST_URL"}, environment(map[string]string{"VERIFY": "off"}))
	require.NoError(t, err)
	require.Len(t, one, 1)
	assert.Equal(t, "VERIFY", one[0].Name)
	_, err = Effective(all, []string{"INGEST_URL"}, environment(map[string]string{"VERIFY": "1"}))
	require.ErrorContains(t, err, "my.yml:2:9: verify is VERIFY, which has another value in the environment")
	_, err = Effective(all, []string{"VERIFY"}, environment(map[string]string{"INGEST_URL": "http://h"}))
	require.NoError(t, err)
}

// Regression: a relative path of the environment was refused as another value than the same file's absolute one.
func TestTheSameValueInOtherWordsIsNoContradiction(t *testing.T) {
	text := ingest[:len(ingest)-2] + ", timeout: 2.5, headers: {a: x, b: y}}\nbodyFile: body.json\n" +
		"targets: [d1, d2]\nlabels: {build: 17, branch: main}\ndeliveries: 3\n"
	path := write(t, text)
	t.Chdir(filepath.Dir(path))
	require.NoError(t, os.WriteFile("body.json", []byte("{{id}}"), 0o600))
	require.NoError(t, os.WriteFile("other.json", []byte("{{id}}"), 0o600))
	all, err := Read("my.yml", variables)
	require.NoError(t, err)
	for name, texts := range map[string]struct{ same, other string }{
		"BODY_FILE":  {"./body.json", "other.json"},
		"TIMEOUT":    {"2.50", "2.51"},
		"HEADERS":    {`{ "b": "y", "a": "x" }`, `{ "a": "x" }`},
		"TARGETS":    {"d1, d2", "d2,d1"},
		"LABELS":     {"build=17, branch=main", "build=18,branch=main"},
		"DELIVERIES": {"3.0", "4"},
	} {
		effective, err := Effective(all, nil, environment(map[string]string{name: texts.same}))
		require.NoError(t, err, name)
		assert.Len(t, effective, len(all), name)
		_, err = Effective(all, nil, environment(map[string]string{name: texts.other}))
		require.ErrorContains(t, err, name+", which has another value in the environment")
	}
}
