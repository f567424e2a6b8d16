package main

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"
)

// The bench's ingest hands on what k6 posts, and costs little: it knows the JSON that it is sent.

// between stands between two messages of a batch.
var between = []byte(`},{"id":"`)

// split calls each for every message of a body: of one, or of an array of them.
func split(body []byte, each func(message []byte)) {
	if len(body) < 2 || body[0] != '[' {
		each(body)
		return
	}
	body = body[1 : len(body)-1]
	for {
		i := bytes.Index(body, between)
		if i < 0 {
			each(body)
			return
		}
		each(body[:i+1])
		body = body[i+2:]
	}
}

var targetKey = []byte(`"target":"`)

// target is that of a message; nil without it.
func target(message []byte) []byte {
	_, rest, found := bytes.Cut(message, targetKey)
	if !found {
		return nil
	}
	value, _, found := bytes.Cut(rest, []byte{'"'})
	if !found {
		return nil
	}
	return value
}

// appendPublish adds a PUBLISH packet of QoS 0 (MQTT 5, 3.3) with a user property hops, as the pipeline's relay makes it.
func appendPublish(b, target, payload []byte, at time.Time) []byte {
	const prefix, key = "messages/", "hops"
	hops := strconv.AppendInt(make([]byte, 0, 48), at.UnixMicro(), 10)
	hops = append(hops, ",35,112,40"...)
	property := 1 + 2 + len(key) + 2 + len(hops)
	b = append(b, 0x30)
	b = binary.AppendUvarint(b, uint64(2+len(prefix)+len(target)+1+property+len(payload))) // the same as MQTT's, 1.5.5
	b = binary.BigEndian.AppendUint16(b, uint16(len(prefix)+len(target)))
	b = append(append(b, prefix...), target...)
	b = append(b, byte(property), 0x26) // below 128, so one byte
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	b = append(b, key...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(hops)))
	b = append(b, hops...)
	return append(b, payload...)
}
