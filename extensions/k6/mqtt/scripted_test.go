package mqtt

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"
)

// scripted starts a broker that runs one function per connection, and returns its URL. The
// functions answer CONNECT themselves.
func scripted(t *testing.T, connections ...func(*peer)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for _, play := range connections {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			play(&peer{conn, bufio.NewReader(conn)})
			_ = conn.Close()
		}
	}()
	return "mqtt://" + listener.Addr().String()
}

const typePublish = 3

type peer struct {
	net.Conn
	reader *bufio.Reader
}

// expect returns the first byte and body of the next packet of the kind; 0 at the end.
func (p *peer) expect(kind byte) (first byte, body []byte) {
	for {
		if first, body = p.next(); first>>4 == kind || first == 0 {
			return first, body
		}
	}
}

// next returns the next packet's first byte and body; 0 at the end.
func (p *peer) next() (first byte, body []byte) {
	first, err := p.reader.ReadByte()
	if err != nil {
		return 0, nil
	}
	length, err := binary.ReadUvarint(p.reader)
	if err != nil {
		return 0, nil
	}
	body = make([]byte, length)
	if _, err := io.ReadFull(p.reader, body); err != nil {
		return 0, nil
	}
	return first, body
}

// accept answers CONNECT in its MQTT version.
func (p *peer) accept(sessionPresent byte) {
	_, body := p.expect(1)
	if body[len("\x00\x04MQTT")] == mqtt5 {
		_, _ = p.Write([]byte{0x20, 3, sessionPresent, 0, 0})
	} else {
		_, _ = p.Write([]byte{0x20, 2, sessionPresent, 0})
	}
}

// acknowledge answers a PUBLISH to the topic t.
func (p *peer) acknowledge(publish []byte) {
	if id := len("\x00\x01t"); len(publish) >= id+2 {
		_, _ = p.Write([]byte{0x40, 2, publish[id], publish[id+1]})
	}
}

// silentBroker starts a broker that acknowledges nothing, and returns its address. With accept it
// answers CONNECT. It closes a connection on a PUBLISH to the topic "close".
func silentBroker(t *testing.T, accept bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for buffer := make([]byte, 4096); ; {
					n, err := conn.Read(buffer)
					if err != nil || bytes.Contains(buffer[:n], []byte("\x00\x05close")) {
						return
					}
					if !accept || buffer[0]>>4 != packets.Connect {
						continue
					}
					const levelAt = 2 + len("\x00\x04MQTT") // after the fixed header of a short packet
					if buffer[levelAt] == mqtt5 {
						_, _ = conn.Write([]byte{packets.Connack << 4, 3, 0, 0, 0})
					} else {
						_, _ = conn.Write([]byte{packets.Connack << 4, 2, 0, 0})
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}
