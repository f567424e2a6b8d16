package mqttwire

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// subprotocol is what a client asks for in the handshake [MQTT-6.0.0-3].
const subprotocol = "mqtt"

// Web is the byte stream inside a WebSocket: MQTT packets and messages need not line up [MQTT-6.0.0-2].
type Web struct {
	*websocket.Conn
	writing sync.Mutex
	message io.Reader // rest of the message being read, nil between messages
}

// NewWeb returns the stream inside a WebSocket.
func NewWeb(socket *websocket.Conn) *Web { return &Web{Conn: socket} }

func (c *Web) Read(p []byte) (int, error) {
	for {
		if c.message == nil {
			_, message, err := c.NextReader()
			if err != nil {
				return 0, err
			}
			c.message = message
		}
		n, err := c.message.Read(p)
		if errors.Is(err, io.EOF) {
			c.message, err = nil, nil
			if n == 0 {
				continue
			}
		}
		return n, err
	}
}

func (c *Web) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	// [MQTT-6.0.0-1]
	if err := c.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetWriteDeadline is for writes that start later: the WebSocket's own isn't for use beside a write.
func (c *Web) SetWriteDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

func (c *Web) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
