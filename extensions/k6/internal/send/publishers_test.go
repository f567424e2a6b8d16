package send

import (
	"errors"
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/netext"
)

func TestLoopbackConnectionsHaveManySourceAddresses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has many loopback addresses")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	dialer := netext.NewDialer(net.Dialer{}, nil)
	spreadSources(dialer)
	from := map[string]int{}
	for number := range 4 {
		out, err := dialer.DialContext(withSource(t.Context(), 600*number), "tcp", listener.Addr().String())
		require.NoError(t, err)
		in, err := listener.Accept()
		require.NoError(t, err)
		address, _, err := net.SplitHostPort(in.RemoteAddr().String())
		require.NoError(t, err)
		from[address]++
		require.NoError(t, errors.Join(in.Close(), out.Close()))
	}
	assert.Equal(t, map[string]int{"127.1.0.0": 2, "127.1.0.1": 2}, from)
}

func TestAConnectionOpenedAfterCloseIsClosed(t *testing.T) {
	t.Parallel()
	p := &Publishers{closed: true}
	assert.False(t, p.joined(nil, nil))
	assert.Empty(t, p.open)
}
