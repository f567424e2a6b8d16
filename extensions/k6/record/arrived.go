package record

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/arrived"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// arrived records what the caller received.
func (r *recording) arrived(ctx context.Context, l line) error {
	if !r.run.Receives() {
		return errors.New(`arrived is for a run with the option "arrived": {}, which receives nothing itself`)
	}
	messages, err := l.received()
	if err != nil {
		return fmt.Errorf("arrived: %w", err)
	}
	at := socket.Arrival{At: time.Now(), Waited: socket.Unknown}
	if l.AtUS != nil {
		if at.At, err = r.moment(l.AtUS); err != nil { // the caller's own clock: how late it read is not known either
			return fmt.Errorf("arrived: %w", err)
		}
	}
	target := 0
	if l.Target != "" {
		if target, err = r.run.Recipient(l.Target); err != nil {
			return fmt.Errorf("arrived %w", err)
		}
	}
	for i := range messages {
		messages[i].At, messages[i].Target = at, target
	}
	subscriber := 1
	if l.Subscriber != nil {
		subscriber = *l.Subscriber
	}
	if err := r.run.CheckSubscriber(subscriber); err != nil {
		return fmt.Errorf("arrived: %w", err)
	}
	select {
	case <-r.run.Ready():
		r.run.Arrived(subscriber-1, messages)
	case <-r.done: // the reason follows
	case <-ctx.Done():
	}
	return nil
}

// received are the messages of an arrived line: a text, or a list of texts.
func (l line) received() ([]arrived.Message, error) {
	texts := make([]string, 1)
	into := any(&texts[0])
	if l.Arrived[0] == '[' {
		into = &texts
	}
	if err := engine.Decode(l.Arrived, into); err != nil {
		return nil, errors.New("it is neither a text nor a list of texts")
	}
	if l.Encoding != "" && l.Encoding != "base64" {
		return nil, fmt.Errorf(`encoding %q; allowed: "base64", for payloads that are not text`, l.Encoding)
	}
	messages := make([]arrived.Message, len(texts))
	for i, text := range texts {
		messages[i] = arrived.Message{Payload: []byte(text), Stamps: []byte(l.Hops)}
		if l.Encoding == "" {
			continue
		}
		var err error
		if messages[i].Payload, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("message %d of the line is not base64: %w", i+1, err)
		}
	}
	return messages, nil
}
