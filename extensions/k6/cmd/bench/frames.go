package main

import (
	"bytes"
	"strconv"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
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

// appendPublish adds a PUBLISH packet of QoS 0 with a user property hops, as the pipeline's relay makes it.
func appendPublish(b, target, payload []byte, at time.Time) []byte {
	hops := append(strconv.AppendInt(make([]byte, 0, 48), at.UnixMicro(), 10), ",35,112,40"...)
	p := mqttwire.Publish{
		Topic: append([]byte("messages/"), target...), Payload: payload,
		Properties: mqttwire.AppendUserProperty(nil, "hops", hops),
	}
	return p.Append(b, mqttwire.Version5)
}
