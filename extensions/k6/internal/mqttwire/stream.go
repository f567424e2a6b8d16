package mqttwire

import (
	"fmt"
	"io"

	"github.com/eclipse/paho.golang/packets"
)

// Buffer holds the bytes of a stream that were read and not yet parsed. Most bounds a packet.
type Buffer struct {
	B    []byte // its length is how much one read takes, until a packet is larger
	Held int    // bytes at the start of B
	Most int
}

func (s *Buffer) Fill(from io.Reader) error {
	if s.Held == len(s.B) {
		s.B = append(s.B, make([]byte, len(s.B))...)
	}
	n, err := from.Read(s.B[s.Held:])
	s.Held += n
	if n > 0 {
		return nil // the next read returns the error
	}
	return err
}

// At finds the packet at an offset; size is 0 while not all of it is there.
func (s *Buffer) At(offset int) (kind byte, body []byte, size int, err error) {
	return Frame(s.B[offset:s.Held], s.Most)
}

// Drop removes size bytes at an offset.
func (s *Buffer) Drop(offset, size int) {
	s.Held = offset + copy(s.B[offset:], s.B[offset+size:s.Held])
}

// Hello sends CONNECT and reads the CONNACK (3.2). Messages of a session that follow stay in the buffer. If the
// broker violates MQTT 5, Hello sends the reason before it closes the connection (4.13.1).
func (c *Connect) Hello(conn io.Writer, s *Buffer, fill func() error) (a Answer, err error) {
	if _, err = conn.Write(c.Append(nil)); err != nil {
		return a, err
	}
	for {
		kind, body, size, err := s.At(0)
		switch {
		case err != nil:
		case size == 0:
			if err := fill(); err != nil {
				return a, fmt.Errorf("no answer to CONNECT: %w", err)
			}
			continue
		case kind>>4 != packets.CONNACK: // [MQTT-3.2.0-1]
			err = ProtocolError("it answered CONNECT with %s", Name(kind))
		default:
			a, err = ReadAnswer(c.Version, kind, body)
			s.Drop(0, size)
		}
		if wrong, ok := err.(*Violation); ok && c.Version == Version5 {
			_, _ = conn.Write(AppendDisconnect(nil, c.Version, wrong.Code, nil))
		}
		return a, err
	}
}
