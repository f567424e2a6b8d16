package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stack is a whole real pipeline, as npm run pipeline starts it.
type stack struct {
	parts map[string]int // pids of what messages go through

	Ingest struct{ URL, Token string }
	Redis  struct{ URL string }
	MQTT   struct{ URL, Username, Password string }

	Processes map[string]int
}

func (b *bench) startStack(ctx context.Context, env ...string) (*stack, error) {
	dir, err := os.MkdirTemp(b.dir, "stack-")
	if err != nil {
		return nil, err
	}
	p, err := b.start("the pipeline", append([]string{
		"STACK_DIR=" + dir, "INGEST_PORT=0", "REDIS_PORT=0", "MQTT_PORT=0", "REDIS_URL=", "MQTT_URL=", "DRAIN_LIMIT_MS=0",
	}, env...), filepath.Join(b.root, "node_modules/.bin/node"), "pipeline/stack/main.ts")
	if err != nil {
		return nil, err
	}
	s := &stack{}
	err = eventually(ctx, "a pipeline", 3*readyWithin, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "stack.json"))
		return err == nil && json.Unmarshal(text, s) == nil
	}, p)
	if err != nil {
		return nil, err
	}
	s.parts = maps.Clone(s.Processes)
	return s, nil
}

// count is how many messages have ever entered the queue.
func (s *stack) count(ctx context.Context) func() (int64, error) {
	return func() (int64, error) { return s.metric(ctx, "arrival_ingest_messages_accepted_total") }
}

// metric asks the ingest for a figure of its /metrics.
func (s *stack) metric(ctx context.Context, name string) (int64, error) {
	answer, err := get(ctx, s.Ingest.URL+"/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no %s", s.Ingest.URL, name)
}

// mqttURL holds the credentials of the subscriber.
func (s *stack) mqttURL() (string, error) {
	u, err := url.Parse(s.MQTT.URL)
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword(s.MQTT.Username, s.MQTT.Password)
	return u.String(), nil
}
