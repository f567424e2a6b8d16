package store

import (
	"cmp"
	"fmt"
	"regexp"
)

// defaultPrefix is before the keys of a pipeline without QUEUE_PREFIX (pipeline/queue/keys.ts).
const defaultPrefix = "arrival"

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// CheckPrefix refuses a prefix that no pipeline has; option names it. Empty: the default one.
func CheckPrefix(prefix, option string) error {
	if prefix == "" || prefixForm.MatchString(prefix) {
		return nil
	}
	return fmt.Errorf("%s (QUEUE_PREFIX) is %q; allowed: 1 to 64 letters, digits, _, . and -", option, prefix)
}

// keys are the keys of a pipeline of this repository, by its QUEUE_PREFIX. Where another pipeline has other keys, its
// queued messages count as lost.
type keys string

// keysOf are the keys behind a prefix.
func keysOf(prefix string) keys { return keys(cmp.Or(prefix, defaultPrefix)) }

func (k keys) of(what string) string { return string(k) + ":" + what }

func (k keys) messages() string    { return k.of("messages") }
func (k keys) list() string        { return k.of("list") }         // with QUEUE=list
func (k keys) depth() string       { return k.of("depth") }        // how many messages the stream holds
func (k keys) shards() string      { return k.of("shards") }       // absent: one shard
func (k keys) ingestTrace() string { return k.of("trace:ingest") } // with TRACE_LOG_EVERY
func (k keys) relayTrace() string  { return k.of("trace:relay") }

// parts are the keys of the whole queue, and of each of its shards.
func (k keys) parts(shards int, what string) []string {
	all := []string{k.of(what)}
	for n := range shards {
		all = append(all, k.shard(n, what))
	}
	return all
}

// shard is a key of a shard. The braces put all of them on one node of a Redis Cluster.
func (k keys) shard(n int, what string) string { return fmt.Sprintf("%s:{%d}:%s", string(k), n, what) }
