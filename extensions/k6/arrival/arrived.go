package arrival

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/arrived"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// how is what a script says about messages besides their payloads.
type how struct {
	at         time.Time // zero: now
	subscriber int       // its number, from 1; 0: the VU's own
	target     int       // the target it arrived at, from 1; 0: not given
	hops       string
}

// agedMost is how long before now a message may have been received: beyond that its time has another unit.
const agedMost = 24 * time.Hour

// arrived is run.arrived(payload, how) and run.arrived([…], how): it records messages that the script has received.
func (m *instance) arrived(e *engine.Engine, payload, given sobek.Value) {
	now := time.Now()
	m.inScenario("run.arrived()")
	if !e.Arrives() {
		m.refuse("run.arrived()", errors.New("is for a run with the option arrived: {}, which receives nothing itself"))
	}
	told, err := exported(given)
	var all how
	if err == nil {
		all, err = readHow(e, told, how{}, now)
	}
	var content any
	if err == nil {
		content, err = exported(payload)
	}
	if err != nil {
		m.refuse("run.arrived()", err)
	}
	list, batch := content.([]any)
	if !batch {
		list = []any{content}
	}
	waited := m.consumer.late(now)
	bySubscriber := map[int][]arrived.Message{}
	for i, one := range list {
		of := all
		if fields, ok := one.(map[string]any); ok && batch {
			one = fields["payload"]
			delete(fields, "payload")
			of, err = readHow(e, fields, all, now)
		}
		var text []byte
		if err == nil {
			text, err = bytesOf(one)
		}
		if err != nil {
			if batch {
				err = fmt.Errorf("message %d of the list: %w", i+1, err)
			}
			m.refuse("run.arrived()", err)
		}
		at := socket.Arrival{At: now, Waited: waited}
		if !of.at.IsZero() {
			at = socket.Arrival{At: of.at, Waited: socket.Unknown} // nor is it known how late its client was
		}
		subscriber, err := m.consumer.subscriber(e, of.subscriber)
		if err != nil {
			m.refuse("run.arrived()", err)
		}
		message := arrived.Message{Payload: text, Stamps: []byte(of.hops), At: at, Target: of.target}
		bySubscriber[subscriber] = append(bySubscriber[subscriber], message)
	}
	if r, ok := e.Receiver().(*arrived.Receiver); ok { // arrivals before and after the run are not counted
		for subscriber, messages := range bySubscriber {
			r.Arrive(subscriber, messages)
		}
	}
}

func (m *instance) refuse(call string, err error) {
	common.Throw(m.vu.Runtime(), fmt.Errorf("%s %w", call, err))
}

// listMost is the longest list of messages that a script may hand over at once.
const listMost = 1_000_000

// exported is a value of a script. The memory for a list would be as large as the list says it is long.
func exported(v sobek.Value) (any, error) {
	if v == nil {
		return nil, nil
	}
	if o, ok := v.(*sobek.Object); ok && o.ClassName() == "Array" {
		if n := o.Get("length").ToInteger(); n > listMost {
			return nil, fmt.Errorf("has a list of %d; allowed: up to %d", n, listMost)
		}
	}
	return v.Export(), nil
}

// readHow reads what a script says of messages, beside what it says of all of a list.
func readHow(e *engine.Engine, given any, all how, now time.Time) (how, error) {
	if given == nil {
		return all, nil
	}
	fields, ok := given.(map[string]any)
	if !ok {
		return all, errors.New("takes a second argument like { at: 1700000000000.5, subscriber: 1, hops: '…' }")
	}
	h := all
	for name, value := range fields {
		if value == nil { // undefined
			continue
		}
		var err error
		switch name {
		case "at":
			h.at, err = momentOf(value, now)
		case "subscriber":
			h.subscriber, err = subscriberOf(e, value)
		case "target":
			h.target, err = e.Recipient(value)
		case "hops":
			h.hops, ok = value.(string)
			switch {
			case !ok:
				err = fmt.Errorf("has hops %v; allowed: a text of stamps", value)
			case !e.Stamped():
				err = errors.New("has hops, but the clock of their stamps is not known: " +
					"redis.url (REDIS_URL) is missing")
			}
		default:
			err = fmt.Errorf("does not know %q; allowed: at, subscriber, target, hops", name)
		}
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

// momentOf is a time of Date.now() on this process's clock.
func momentOf(value any, now time.Time) (time.Time, error) {
	ms, ok := numberOf(value)
	if !ok {
		return now, fmt.Errorf("has at %v; allowed: ms since 1970, as Date.now()", value)
	}
	age := time.Duration(now.UnixMicro())*time.Microsecond - time.Duration(ms*1000)*time.Microsecond
	if ms < 0 || ms > 1e14 || age > agedMost || -age > time.Second {
		return now, fmt.Errorf("has at %v, and now is %d; allowed: ms since 1970, as Date.now(), and no time to come",
			value, now.UnixMilli())
	}
	return now.Add(-age), nil
}

func subscriberOf(e *engine.Engine, value any) (int, error) {
	n, ok := numberOf(value)
	if !ok || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return 0, fmt.Errorf("has subscriber %v; allowed: a whole number, from 1 on", value)
	}
	if err := e.CheckSubscriber(int(n)); err != nil {
		return 0, fmt.Errorf("has %w", err)
	}
	return int(n), nil
}

func numberOf(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

// bytesOf is the payload that a script hands over. A number is an id.
func bytesOf(v any) ([]byte, error) {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(nil, v, 10), nil
	case float64:
		return strconv.AppendFloat(nil, v, 'f', -1, 64), nil
	}
	b, err := common.ToBytes(v)
	if err != nil {
		return nil, errors.New("takes a payload that is a text, an ArrayBuffer, a Uint8Array or a number; " +
			"JSON.stringify() makes a text of an object")
	}
	return b, nil
}
