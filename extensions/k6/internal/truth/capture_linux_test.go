package truth

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// packet is a captured TCP packet with a payload.
type packet struct {
	to uint16 // port
	at time.Time
}

// capture captures what passes the loopback interface from a port or to it. The function that it returns ends it.
func capture(t *testing.T, port uint16) (ended func() []packet) {
	t.Helper()
	ip := int(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_IP))) // what comes in
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, ip)
	if errors.Is(err, unix.EPERM) {
		t.Skip("capturing packets needs CAP_NET_RAW")
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadMemShift{Off: 0},                                                      // the length of the IP header
		bpf.LoadIndirect{Off: 0, Size: 2}, bpf.JumpIf{Val: uint32(port), SkipTrue: 2}, // from the port
		bpf.LoadIndirect{Off: 2, Size: 2}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: 1}, // or to it
		bpf.RetConstant{Val: 128}, bpf.RetConstant{},
	})
	require.NoError(t, err)
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	require.NoError(t, unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter))
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1))
	return func() (packets []packet) {
		b, control := make([]byte, 128), make([]byte, 64)
		for {
			n, c, _, _, err := unix.Recvmsg(fd, b, control, 0)
			if errors.Is(err, unix.EAGAIN) {
				return packets
			}
			require.NoError(t, err)
			tcp := b[b[0]&15*4 : n]
			if int(binary.BigEndian.Uint16(b[2:])) == int(b[0]&15)*4+int(tcp[12]>>4)*4 {
				continue // no payload
			}
			messages, err := unix.ParseSocketControlMessage(control[:c])
			require.NoError(t, err)
			stamp := (*unix.Timespec)(unsafe.Pointer(&messages[0].Data[0]))
			packets = append(packets, packet{binary.BigEndian.Uint16(tcp[2:]), time.Unix(0, stamp.Nano())})
		}
	}
}

// The record is the truth that tools are compared with. What the network saw must agree with it.
func TestTheRecordAgreesWithAPacketCapture(t *testing.T) {
	t.Parallel()
	const requests, within = 100, 100 * time.Microsecond
	server, ended := serving(t, delayed(ms))
	_, ask := dial(t, server)
	// The kernel begins to stamp some time after it was asked to.
	before, begun := Requests{}, 0
	for ; before.Answered == before.Unstamped; begun++ {
		_, err := ask(get)
		require.NoError(t, err)
		before = server.Record().Requests
	}
	port := uint16(server.listener.Addr().(*net.TCPAddr).Port)
	captured := capture(t, port)
	for range requests {
		_, err := ask(get)
		require.NoError(t, err)
	}
	packets := captured()
	ended()
	require.Len(t, packets, 2*requests)
	apart := make([]time.Duration, requests)
	for i, served := range server.served[begun:] {
		came, answer := packets[2*i], packets[2*i+1]
		require.Equal(t, port, came.to)
		require.NotEqual(t, port, answer.to)
		apart[i] = (answer.at.Sub(came.at) - served).Abs()
	}
	slices.Sort(apart)
	// A host that stops this one between the two stamps of a packet moves them apart. That is rare.
	assert.Less(t, apart[requests*9/10], within)
	t.Logf("p50 %v, p99 %v, max %v", apart[requests/2], apart[requests*99/100-1], apart[requests-1])
}
