package segment

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// All instances of a run begin at one time of Redis' clock. Each repeats that it is ready once its subscribers
// hold their topics. The one that finds all of them ready writes the start in the same step. So no instance
// starts late, and none sends anything if one is missing.
const (
	// Keys begins the names of hashes, <id> and <id>:<phase>: the start, µs, and for each generator its token and the
	// expiry of its readiness, µs.
	Keys = "arrival:run:"
	// kept is how long the key stays, so that the run id cannot be reused.
	kept = 24 * time.Hour
	// StartDelay is the time between all being ready and the start.
	StartDelay = time.Second
	// PhaseLead is the time between the end of a phase on all instances and the next phase. PhaseWait is how
	// long past the planned end an instance waits for the others.
	PhaseLead = 250 * time.Millisecond
	PhaseWait = 5 * time.Second
	// Look is the interval of checking for the others; readyFor is how long readiness lasts without renewal.
	Look     = 50 * time.Millisecond
	readyFor = 3 * time.Second
)

// readyScript marks a generator as ready. KEYS: the run. ARGV: its number and token, now, the expiry of its
// readiness, the number of generators, the start if this one is the last, and how long the key stays, s.
// Returns the start, or an empty string; the generator's state; and the generators that are ready.
var readyScript = redis.NewScript(`
local run, number, token, now = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local start, own = redis.call('HGET', run, 'start'), redis.call('HGET', run, number)
local holder, till = string.match(own or '', '^(%w+) (%d+)$')
if start then return {start, holder == token and 'started' or 'late'} end
if holder and holder ~= token and tonumber(till) > now then return {'', 'taken', own} end
redis.call('HSET', run, number, token .. ' ' .. ARGV[4])
redis.call('EXPIRE', run, ARGV[7])
local there = {}
for n = 1, tonumber(ARGV[5]) do
  local till = string.match(redis.call('HGET', run, n) or '', ' (%d+)$')
  if till and tonumber(till) > now then there[#there + 1] = tostring(n) end
end
if #there < tonumber(ARGV[5]) then return {'', 'waits', unpack(there)} end
redis.call('HSET', run, 'start', ARGV[6])
return {ARGV[6], 'started'}`)

// leaveScript withdraws a generator that no longer waits. KEYS: the run. ARGV: its number and token. Returns
// the start if it is already set, since the others then count on this one; otherwise an empty string.
var leaveScript = redis.NewScript(`
local start, own = redis.call('HGET', KEYS[1], 'start'), redis.call('HGET', KEYS[1], ARGV[1])
if start then return start end
if own and string.match(own, '^%w+') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return ''`)

// Meeting coordinates the start of an instance with the others in Redis.
type Meeting struct {
	client     *redis.Client
	run        string
	startDelay time.Duration // from the moment all are ready to the start
	number     int
	of         int
	token      string       // distinguishes this process from another one of its number
	now        func() int64 // the time of Redis, µs
}

// Meeting returns the meeting for a run, or for a phase of it. now is the time of Redis, µs.
func (s Segment) Meeting(node *redis.Client, run string, startDelay time.Duration, now func() int64) *Meeting {
	return &Meeting{
		client: node, run: run, startDelay: startDelay, number: s.Number(), of: s.Of(), token: rand.Text(), now: now,
	}
}

// Presence is the answer of Redis: the start, 0 if not set; the state of this instance; and the instances that
// are ready.
type Presence struct {
	Start   int64
	State   string
	Present []string
}

// Ready marks the instance as ready, for readyFor.
func (m *Meeting) Ready(ctx context.Context) (Presence, error) {
	now := m.now()
	reply, err := readyScript.Run(ctx, m.client, []string{Keys + m.run}, m.number, m.token, now,
		now+readyFor.Microseconds(), m.of, now+m.startDelay.Microseconds(), int(kept.Seconds())).StringSlice()
	if err != nil {
		return Presence{}, Unmet(err)
	}
	return Presence{Start: startOf(reply[0]), State: reply[1], Present: reply[2:]}, nil
}

// Leave withdraws the readiness. It returns the start if it is already set.
func (m *Meeting) Leave(ctx context.Context) (start int64, err error) {
	reply, err := leaveScript.Run(ctx, m.client, []string{Keys + m.run}, m.number, m.token).Text()
	if err != nil {
		return 0, Unmet(err)
	}
	return startOf(reply), nil
}

// startOf parses the start of a run; 0: not set.
func startOf(text string) int64 {
	start, _ := strconv.ParseInt(text, 10, 64) // written by the script
	return start
}

// Unmet adds to an error of Redis what instances need of it.
func Unmet(err error) error {
	return fmt.Errorf("the instances of the run could not meet in Redis, where its user needs to read, write and "+
		"run scripts on %s*: %w", Keys, err)
}

// Missing names the generators that are not ready.
func (m *Meeting) Missing(present []string) string {
	var names []string
	for n := 1; n <= m.of; n++ {
		if number := strconv.Itoa(n); !slices.Contains(present, number) {
			names = append(names, "generator "+number)
		}
	}
	return strings.Join(names, ", ")
}
