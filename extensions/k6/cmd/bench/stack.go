package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"
)

// stack is a whole real pipeline, as npm run pipeline starts it.
type stack struct {
	client *redis.Client
	parts  map[string]int // pids of what messages go through

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
	s.client, err = b.openRedis(s.Redis.URL)
	return s, err
}

// count is how many messages have ever entered the queue.
func (s *stack) count(ctx context.Context) func() (int64, error) {
	return func() (int64, error) {
		info, err := s.client.XInfoStream(ctx, "arrival:messages").Result()
		if err != nil {
			return 0, err
		}
		if info.EntriesAdded == 0 && info.Length > 0 {
			return 0, errors.New("this Redis does not count what enters a stream: 7.0 or newer is needed")
		}
		return info.EntriesAdded, nil
	}
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
