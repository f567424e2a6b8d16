package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// stack is a whole real pipeline, as npm run pipeline starts it.
type stack struct {
	Ingest    struct{ URL, Token string }
	Redis     struct{ URL string }
	MQTT      struct{ URL, Username, Password string }
	Processes map[string]int // pids of what messages go through

	bench *bench
}

func (b *bench) startStack(env ...string) *stack {
	dir := must.Get(os.MkdirTemp(b.dir, "stack-"))
	p := b.node("the pipeline", "pipeline/stack/main.ts", append([]string{
		"STACK_DIR=" + dir, "INGEST_PORT=0", "REDIS_PORT=0", "MQTT_PORT=0", "REDIS_URL=", "MQTT_URL=", "DRAIN_LIMIT_MS=0",
	}, env...)...)
	s := &stack{bench: b}
	b.eventually("a pipeline", 3*readyWithin, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "stack.json"))
		return err == nil && json.Unmarshal(text, s) == nil
	}, p)
	return s
}

// count is how many messages have ever entered the queue.
func (s *stack) count() (int64, error) { return s.metric("arrival_ingest_messages_accepted_total") }

// metric asks the ingest for a figure of its /metrics.
func (s *stack) metric(name string) (int64, error) {
	_, text, err := s.bench.get(s.Ingest.URL + "/metrics")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no %s", s.Ingest.URL, name)
}

// mqttURL holds the credentials of the subscriber.
func (s *stack) mqttURL() string {
	u := must.Get(url.Parse(s.MQTT.URL))
	u.User = url.UserPassword(s.MQTT.Username, s.MQTT.Password)
	return u.String()
}
