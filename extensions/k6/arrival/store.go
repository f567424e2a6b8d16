package arrival

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// store is the Redis of the pipeline.
type store struct {
	*redis.Client                      // the node that the address names first: its TIME is the clock of the run
	cluster       *redis.ClusterClient // nil: it is the only one
}

// addressNodes are the parts of "redis://user:password@host:port,host:port/db" before, in, and after the list of nodes.
var addressNodes = regexp.MustCompile(`^(rediss?://(?:[^@/]*@)?)([^/?]+)(.*)$`)

// parseRedis reads the address of a Redis, or those of some nodes of a Redis Cluster. The options are of the first node.
func parseRedis(address string) (first *redis.Options, nodes []string, err error) {
	parts := addressNodes.FindStringSubmatch(address)
	if parts == nil {
		first, err = redis.ParseURL(address)
		return first, nil, err
	}
	for i, host := range strings.Split(parts[2], ",") {
		o, err := redis.ParseURL(parts[1] + host + parts[3])
		if err != nil {
			return nil, nil, err
		}
		if nodes = append(nodes, o.Addr); i == 0 {
			first = o
		}
	}
	return first, nodes, nil
}

// openStore looks whether the node behind a client belongs to a cluster. One that does not say so is taken for the only one.
func openStore(ctx context.Context, client *redis.Client, address string) *store {
	s := &store{Client: client}
	info, err := client.Info(ctx, "cluster").Result()
	if err != nil || !strings.Contains(info, "cluster_enabled:1") {
		return s
	}
	_, nodes, _ := parseRedis(address) // the client could not have been made of another one
	o := client.Options()
	s.cluster = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: nodes, Username: o.Username, Password: o.Password, Dialer: o.Dialer, DialTimeout: o.DialTimeout,
		MaxRetries: o.MaxRetries, DisableIdentity: true, ContextTimeoutEnabled: true,
	})
	return s
}

// holder is the node that has a key.
func (s *store) holder(ctx context.Context, key string) (*redis.Client, error) {
	if s.cluster == nil {
		return s.Client, nil
	}
	return s.cluster.MasterForKey(ctx, key)
}

// places are where messages can be left: streams in the first list, and streams of dead letters in the second. A queue that is
// divided has one of each for each of its shards (pipeline/queue/keys.ts).
func (s *store) places(ctx context.Context) (messages, deadLetters []string, err error) {
	messages, deadLetters = []string{messageStream}, []string{deadLetterStream}
	node, err := s.holder(ctx, shardCount)
	if err != nil {
		return messages, deadLetters, err
	}
	shards, err := node.Get(ctx, shardCount).Int()
	if err == redis.Nil {
		return messages, deadLetters, nil
	}
	for shard := range shards {
		messages = append(messages, fmt.Sprintf("arrival:{%d}:messages", shard))
		deadLetters = append(deadLetters, fmt.Sprintf("arrival:{%d}:dead-letters", shard))
	}
	return messages, deadLetters, err
}

func (s *store) Close() error {
	if s.cluster != nil {
		_ = s.cluster.Close()
	}
	return s.Client.Close()
}
