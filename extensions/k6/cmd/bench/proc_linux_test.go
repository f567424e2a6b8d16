package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAReaderWakesWhenEnoughBytesAreThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	ours, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = ours.Close() }()
	theirs, err := listener.Accept()
	require.NoError(t, err)
	defer func() { _ = theirs.Close() }()
	raw, err := ours.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	woken := func(within int) (ready int) {
		require.NoError(t, raw.Control(func(fd uintptr) {
			for err = unix.EINTR; errors.Is(err, unix.EINTR); { // the Go runtime's signals interrupt it
				ready, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, within)
			}
		}))
		require.NoError(t, err)
		return ready
	}
	require.NoError(t, wakeAt(ours, 8))
	_, err = theirs.Write([]byte("seven b"))
	require.NoError(t, err)
	assert.Zero(t, woken(20))
	_, err = theirs.Write([]byte("y"))
	require.NoError(t, err)
	assert.Equal(t, 1, woken(5000))
	require.ErrorContains(t, wakeAt(nil, 8), "no TCP connection")
}

// Not parallel: it pins this process's threads to cores.
func TestReserveGivesTheBrokerItsOwnCore(t *testing.T) {
	var all, broker, ours unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	if all.Count() < 2 {
		t.Skip("needs two cores")
	}
	child := exec.Command("sleep", "3600")
	require.NoError(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	release, err := reserve(child.Process.Pid)
	require.NoError(t, err)
	require.NoError(t, unix.SchedGetaffinity(child.Process.Pid, &broker))
	assert.Equal(t, 1, broker.Count())
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		require.NoError(t, unix.SchedGetaffinity(id, &ours))
		assert.Equal(t, all.Count()-1, ours.Count())
		for core := range 1024 {
			assert.False(t, broker.IsSet(core) && ours.IsSet(core))
		}
	}
	release()
	require.NoError(t, unix.SchedGetaffinity(0, &ours))
	assert.Equal(t, all, ours)
	_, err = reserve(-1)
	require.Error(t, err)
}
