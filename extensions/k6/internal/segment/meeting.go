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

// Instances of one run begin at one moment of Redis' clock. Each says that it is ready when its subscribers hold their topics, and goes
// on saying so; who finds all of them ready writes the moment of the start, in the same step. So no instance misses the beginning
// because it was ready late, and none sends anything where one does not come, or has gone again.
const (
	Keys = "arrival:run:" // <id>, and <id>:<phase>, a hash: the start, µs, and of each generator its token and until when it is ready, µs
	// kept is how long the key stays: so long is it known that the id has been used.
	kept = 24 * time.Hour
	// StartDelay is the time from when all are ready to the start.
	StartDelay = time.Second
	// PhaseLead is that before a phase that begins when all have ended the last one, and PhaseWait how much longer than that one may
	// take the others are waited for.
	PhaseLead = 250 * time.Millisecond
	PhaseWait = 5 * time.Second
	// Look is how often the others are looked for, and readyFor how long an instance that says nothing counts as ready.
	Look     = 50 * time.Millisecond
	readyFor = 3 * time.Second
)

// readyScript says that a generator is ready. KEYS: the run. ARGV: its number and token, now, until when it is ready, how many
// generators there are, the start if this one is the last, and how long the key stays, s. Returns the start, or an empty string; what
// became of the generator; and who is ready.
var readyScript = redis.NewScript(`
local run, number, token, now = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local start, own = redis.call('HGET', run, 'start'), redis.call('HGET', run, number)
local who, till = string.match(own or '', '^(%w+) (%d+)$')
if start then return {start, who == token and 'started' or 'late'} end
if who and who ~= token and tonumber(till) > now then return {'', 'taken', own} end
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

// leaveScript takes a generator back that does not wait any more. KEYS: the run. ARGV: its number and token. Returns the start where
// there is one already, as then the others count on it; else an empty string.
var leaveScript = redis.NewScript(`
local start, own = redis.call('HGET', KEYS[1], 'start'), redis.call('HGET', KEYS[1], ARGV[1])
if start then return start end
if own and string.match(own, '^%w+') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return ''`)

// Meeting is what an instance has to do with the others in Redis before they begin.
type Meeting struct {
	client     *redis.Client
	run        string
	startDelay time.Duration // from when all are ready
	number     int
	of         int
	token      string       // tells this process from another one of its number
	now        func() int64 // of Redis, µs
}

// Meeting is that of this instance and the others about a run, or a phase of one. now is the time of Redis, µs.
func (s *Segment) Meeting(node *redis.Client, run string, startDelay time.Duration, now func() int64) *Meeting {
	return &Meeting{client: node, run: run, startDelay: startDelay, number: s.Number(), of: s.Of(), token: rand.Text(), now: now}
}

// Presence is what Redis tells an instance: the start, 0 if there is none; what became of itself; and who is ready.
type Presence struct {
	Start int64
	State string
	There []string
}

// Ready says that the instance is, for a while.
func (m *Meeting) Ready(ctx context.Context) (Presence, error) {
	now := m.now()
	reply, err := readyScript.Run(ctx, m.client, []string{Keys + m.run}, m.number, m.token, now, now+readyFor.Microseconds(), m.of,
		now+m.startDelay.Microseconds(), int(kept.Seconds())).StringSlice()
	if err != nil {
		return Presence{}, Unmet(err)
	}
	return Presence{Start: startOf(reply[0]), State: reply[1], There: reply[2:]}, nil
}

// Leave takes that back, and returns the start if it was too late to.
func (m *Meeting) Leave(ctx context.Context) (start int64, err error) {
	reply, err := leaveScript.Run(ctx, m.client, []string{Keys + m.run}, m.number, m.token).Text()
	if err != nil {
		return 0, Unmet(err)
	}
	return startOf(reply), nil
}

// startOf is the start of a run as Redis has it; 0: there is none so far.
func startOf(text string) int64 {
	start, _ := strconv.ParseInt(text, 10, 64) // written by the script
	return start
}

// Unmet says what is wanted where Redis did not do what instances ask of it.
func Unmet(err error) error {
	return fmt.Errorf("the instances of the run could not meet in Redis, where its user needs to read, write and run scripts on %s*: %w", Keys, err)
}

// Missing names the generators that are not there.
func (m *Meeting) Missing(there []string) string {
	var names []string
	for n := 1; n <= m.of; n++ {
		if number := strconv.Itoa(n); !slices.Contains(there, number) {
			names = append(names, "generator "+number)
		}
	}
	return strings.Join(names, ", ")
}
