package mqtt

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connect connects with MQTT 5 to a broker that answers CONNECT with these bytes; nil: not at all.
func connect(t *testing.T, ctx context.Context, answer []byte) (*Conn, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	go func() {
		if _, err := packets.ReadPacket(theirs); err == nil && answer != nil {
			_, _ = theirs.Write(answer)
		}
	}()
	d := Dialer{ReadSize: 64, Most: MaxField}
	d.Dial = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
	return d.Connect(ctx, Address{Host: "broker:1883", Username: "u"}, Connect{Version: Version5, KeepAlive: 60})
}

func TestConnectTakesTheBrokersKeepAlive(t *testing.T) {
	t.Parallel()
	c, err := connect(t, t.Context(), []byte{0x20, 6, 1, 0, 3, packets.PropServerKeepAlive, 0, 4})
	require.NoError(t, err)
	assert.True(t, c.Accepted.Present)
	assert.Equal(t, 4*time.Second, c.Alive.KeepAlive)
	assert.Equal(t, c.Heard(), c.Sent())
}

func TestTheErrorOfConnectHasTheRefusalWithoutTheBrokersName(t *testing.T) {
	t.Parallel()
	_, err := connect(t, t.Context(), []byte{0x20, 3, 0, 0x87, 0})
	require.EqualError(t, err, `MQTT broker broker:1883 refused user "u": Not authorized`)
	var failed *ConnectError
	require.ErrorAs(t, err, &failed)
	assert.EqualError(t, failed.Err, "Not authorized")
	assert.ErrorIs(t, err, ErrRefused)
}

// A broker of 3.1.1 that takes an MQTT 5 client would be sent, and send, packets that neither understands.
func TestABrokerThatAcceptsMQTT5InTheFormOf311IsRefused(t *testing.T) {
	t.Parallel()
	_, err := connect(t, t.Context(), []byte{0x20, 2, 0, 0})
	var refusal *ReasonError
	require.ErrorAs(t, err, &refusal)
	assert.True(t, refusal.Old)
	assert.ErrorContains(t, err, "Unsupported Protocol Version")
}

func TestTheErrorOfConnectNamesTheCauseOfTheContext(t *testing.T) {
	t.Parallel()
	stopped := errors.New("the run was stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	_, err := connect(t, ctx, nil)
	require.EqualError(t, err, "MQTT broker broker:1883: CONNECT: the run was stopped")
	require.ErrorIs(t, err, stopped)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAlive(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		asked             int // −1: no ping is unanswered
		now, sent, heard  int
		ping, silent      bool
		again             int
		answer, keepAlive int
	}{
		"idle":                             {-1, 29, 0, 0, false, false, 1, 5, 60},
		"nothing sent for half of it":      {-1, 30, 0, 20, true, false, 5, 5, 60},
		"nothing heard for all of it":      {-1, 60, 59, 0, true, false, 5, 5, 60},
		"busy both ways":                   {-1, 70, 69, 68, false, false, 29, 5, 60},
		"waits for an answer":              {30, 34, 30, 20, false, false, 1, 5, 60},
		"no answer":                        {30, 35, 30, 20, false, true, 0, 5, 60},
		"sends meanwhile, hears nothing":   {60, 65, 64, 0, false, true, 0, 5, 60},
		"an answer at the same moment":     {30, 36, 30, 30, false, false, 24, 5, 60},
		"an answer, then nothing for long": {30, 61, 30, 31, true, false, 5, 5, 60},
		"no keep-alive":                    {-1, 9999, 0, 0, false, false, 0, 5, 0},
	} {
		a := Alive{KeepAlive: time.Duration(c.keepAlive) * time.Second, Answer: time.Duration(c.answer) * time.Second}
		if c.asked >= 0 {
			a.asked = at(c.asked)
		}
		ping, silent, again := a.Look(at(c.now), at(c.sent), at(c.heard))
		assert.Equal(t, c.ping, ping, name)
		assert.Equal(t, c.silent, silent, name)
		assert.Equal(t, time.Duration(c.again)*time.Second, again, name)
	}
}
