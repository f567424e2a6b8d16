package mqtt

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

func TestMalformedPacketsEndTheConnection(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string][]byte{
		"length of five bytes":     {0x30, 0xff, 0xff, 0xff, 0xff, 0x01},
		"topic beyond the packet":  {0x30, 3, 0, 9, 'a'},
		"no packet id at QoS 1":    {0x32, 3, 0, 1, 'a'},
		"packet id 0":              {0x32, 6, 0, 1, 'a', 0, 0, 0},
		"no packet id at QoS 2":    {0x34, 4, 0, 1, 'a', 0},
		"QoS 3":                    {0x36, 6, 0, 1, 'a', 0, 1, 0},
		"topic alias":              {0x30, 7, 0, 1, 'a', 3, 0x23, 0, 1},
		"wildcard":                 {0x30, 4, 0, 1, '#', 0},
		"not UTF-8":                {0x30, 4, 0, 1, 0xff, 0},
		"PUBREL without an id":     {0x62, 1, 0},
		"PUBREL of id 0":           {0x62, 2, 0, 0},
		"properties beyond packet": {0x30, 4, 0, 1, 'a', 9},
		"unknown property":         {0x30, 5, 0, 1, 'a', 1, 0x7e},
		"truncated property":       {0x30, 6, 0, 1, 'a', 2, 0x26, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, broker := connected(t)
			last := make(chan []byte, 1)
			go func() {
				_, _ = broker.Write(bytes)
				sent, _ := io.ReadAll(broker)
				last <- sent
			}()
			_, err := collect(c)
			var wrong *mqtt.Violation
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, []byte{0xe0, 1, wrong.Code}, <-last)
		})
	}
}

func TestUnexpectedPacketsEndTheConnection(t *testing.T) {
	t.Parallel()
	for want, bytes := range map[string][]byte{
		"MQTT broker broker:1883: Packet too large: a packet of 268435455 bytes; allowed: 16777216": {0x30, 0xff, 0xff, 0xff, 0x7f},
		"MQTT broker broker:1883: Protocol Error: PUBACK is not due":                                {0x40, 2, 0, 1},
	} {
		c, broker := connected(t)
		go func() {
			_, _ = broker.Write(bytes)
			_, _ = io.Copy(io.Discard, broker)
		}()
		_, err := collect(c)
		assert.EqualError(t, err, want)
	}
}
