package callers

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// caller is one that has entered a room; nil: it was refused.
type caller struct {
	*Place
	conn net.Conn // its end
}

func enter(r *Room) *caller {
	theirs, ours := net.Pipe()
	p := r.Enter(ours)
	if p == nil {
		return nil
	}
	return &caller{p, theirs}
}

// says makes a whole call.
func (c *caller) says(t *testing.T, text string) {
	t.Helper()
	call := c.Begin()
	defer call.End()
	got, err := call.Read(strings.NewReader(text), 1<<20)
	require.NoError(t, err)
	assert.Equal(t, text, string(got))
}

// inside says which callers still have a place.
func inside(all ...*caller) (in []int) {
	for i, c := range all {
		if !c.Evicted() {
			in = append(in, i)
		}
	}
	return in
}

// in runs a test in virtual time, with a room of so many connections and bytes.
func in(t *testing.T, connections int, bytes int64, test func(t *testing.T, r *Room, reported map[string]int)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reported := map[string]int{}
		test(t, New(connections, bytes, func(class, _ string) { reported[class]++ }), reported)
	})
}

func TestWhoHasNeverSpokenMakesRoomFirst(t *testing.T) {
	in(t, 3, 1<<20, func(t *testing.T, r *Room, reported map[string]int) {
		idle := enter(r)
		idle.says(t, "a")
		time.Sleep(time.Minute)
		silent, later := enter(r), enter(r)
		began := time.Now()
		one, two := enter(r), enter(r)
		assert.Equal(t, grace, time.Since(began), "a caller has that long to speak")
		assert.Equal(t, []int{0, 3, 4}, inside(idle, silent, later, one, two))
		assert.Equal(t, map[string]int{"too many connections": 2}, reported)
		_, err := silent.conn.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
	})
}

func TestTheLongestIdleMakesRoomAmongThoseWhoSpoke(t *testing.T) {
	in(t, 2, 1<<20, func(t *testing.T, r *Room, _ map[string]int) {
		first, second := enter(r), enter(r)
		second.says(t, "a")
		time.Sleep(time.Second)
		first.says(t, "b")
		time.Sleep(time.Second)
		third := enter(r)
		assert.Equal(t, []int{0, 2}, inside(first, second, third))
	})
}

// A caller that waits for its answer is neither idle nor slow.
func TestNobodyIsClosedWhileBeingAnswered(t *testing.T) {
	in(t, 1, 1<<20, func(t *testing.T, r *Room, reported map[string]int) {
		busy := enter(r)
		call := busy.Begin()
		_, err := call.Read(strings.NewReader("a"), 10)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		assert.Nil(t, enter(r))
		assert.Equal(t, map[string]int{"too many connections": 1}, reported)
		assert.Equal(t, []int{0}, inside(busy))
		call.End()
		time.Sleep(time.Second)
		assert.NotNil(t, enter(r))
	})
}

func TestWhoLeavesMakesRoomAtOnce(t *testing.T) {
	in(t, 1, 1<<20, func(t *testing.T, r *Room, reported map[string]int) {
		first := enter(r)
		began := time.Now()
		time.AfterFunc(time.Millisecond, first.Leave)
		assert.NotNil(t, enter(r))
		assert.Equal(t, time.Millisecond, time.Since(began))
		assert.Empty(t, reported)
		first.Leave()
		connections, _ := r.Held()
		assert.Equal(t, 1, connections, "a place is given back once")
	})
}

// slow begins a call whose body does not end. It returns once it holds 16 KB of the room.
func (c *caller) slow() (ended <-chan error) {
	end := make(chan error, 1)
	call := c.Begin()
	go func() {
		defer call.End()
		_, err := call.Read(io.MultiReader(strings.NewReader(strings.Repeat("x", 10<<10)), c.Place.conn), 1<<20)
		end <- err
	}()
	synctest.Wait()
	return end
}

func TestTheSlowestCallMakesRoomForBytes(t *testing.T) {
	in(t, 10, 40<<10, func(t *testing.T, r *Room, reported map[string]int) {
		first := enter(r)
		ended := first.slow()
		time.Sleep(time.Second)
		second, honest := enter(r), enter(r)
		other := second.slow()
		honest.says(t, strings.Repeat("y", 15<<10))
		assert.Equal(t, []int{1, 2}, inside(first, second, honest))
		assert.Equal(t, map[string]int{"too much at once": 1}, reported)
		require.Error(t, <-ended)
		second.Leave()
		_ = second.Place.conn.Close()
		<-other
		synctest.Wait()
		_, bytes := r.Held()
		assert.Zero(t, bytes)
	})
}

// Calls that have just begun are not slow: the one for which there is no room is refused.
func TestACallWithoutRoomIsRefused(t *testing.T) {
	in(t, 10, 20<<10, func(t *testing.T, r *Room, reported map[string]int) {
		first, second := enter(r), enter(r)
		ended := first.slow()
		call := second.Begin()
		_, err := call.Read(strings.NewReader(strings.Repeat("y", 15<<10)), 1<<20)
		require.ErrorIs(t, err, ErrTooMany)
		call.End()
		assert.Equal(t, []int{0, 1}, inside(first, second))
		assert.Empty(t, reported, "who reads says it")
		_ = first.Place.conn.Close()
		<-ended
		synctest.Wait()
		_, bytes := r.Held()
		assert.Zero(t, bytes)
	})
}

// Regression: a call that was read after its connection had made room was counted a second time, as too much at once.
func TestACallOfAConnectionThatMadeRoomIsNotRefusedForBytes(t *testing.T) {
	in(t, 1, 1<<20, func(t *testing.T, r *Room, reported map[string]int) {
		first := enter(r)
		time.Sleep(time.Second)
		require.NotNil(t, enter(r))
		call := first.Begin()
		_, err := call.Read(strings.NewReader("y"), 1<<20)
		require.ErrorIs(t, err, net.ErrClosed)
		call.End()
		assert.Equal(t, map[string]int{"too many connections": 1}, reported)
	})
}

func TestABodyAboveItsLimit(t *testing.T) {
	in(t, 1, 1<<20, func(t *testing.T, r *Room, _ map[string]int) {
		c := enter(r)
		for _, most := range []int{0, 1, 4<<10 - 1, 4 << 10, 4<<10 + 1, 10_000} {
			call := c.Begin()
			body, err := call.Read(strings.NewReader(strings.Repeat("z", most)), most)
			require.NoError(t, err, most)
			assert.Len(t, body, most)
			call.End()
			call = c.Begin()
			_, err = call.Read(iotest.HalfReader(strings.NewReader(strings.Repeat("z", most+1))), most)
			require.ErrorIs(t, err, ErrTooLong, most)
			call.End()
		}
		_, bytes := r.Held()
		assert.Zero(t, bytes)
	})
}
