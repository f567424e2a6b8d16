package runfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// WriteJSON writes a run as JSON. It encodes one second of the timeline at a time: that of a day has 56 MB.
func WriteJSON(w io.Writer, r *Run) error {
	return WriteChangedJSON(w, r, func(all []byte) ([]byte, error) { return all, nil })
}

// WriteChangedJSON writes a run. change may edit its JSON without the timeline.
func WriteChangedJSON(w io.Writer, r *Run, change func([]byte) ([]byte, error)) error {
	rest := *r
	rest.Timeline = nil
	data, err := json.Marshal(&rest)
	if err == nil {
		data, err = change(data)
	}
	if err != nil {
		return err
	}
	// Neighbours in Run. This text occurs once: strings escape their quotes, and map keys are sorted.
	const timeline, next = `,"timeline":`, `,"resources":`
	if r.Timeline == nil {
		_, err := w.Write(data)
		return err
	}
	before, after, _ := bytes.Cut(data, []byte(timeline+"null"+next))
	b := bufio.NewWriter(w) // Flush returns its first error
	_, _ = b.Write(before)
	_, _ = b.WriteString(timeline + "[")
	for i := range r.Timeline {
		row, err := json.Marshal(&r.Timeline[i])
		if err != nil {
			return err
		}
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_, _ = b.Write(row)
	}
	_, _ = b.WriteString("]" + next)
	_, _ = b.Write(after)
	return b.Flush()
}

// SetMember replaces a member of a JSON object, or puts it first.
func SetMember(object []byte, name string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	found := false
	object, err = MapMembers(object, func(member string, value json.RawMessage) json.RawMessage {
		if member != name {
			return value
		}
		found = true
		return text
	})
	if err != nil || found {
		return object, err
	}
	return slices.Concat([]byte(`{"`+name+`":`), text, []byte(","), object[1:]), nil
}

// MapMembers changes the values of a JSON object's members.
func MapMembers(object []byte, change func(name string, value json.RawMessage) json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(make([]byte, 0, len(object)))
	for separator := byte('{'); d.More(); separator = ',' {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		for _, piece := range [][]byte{{separator}, name, {':'}, change(fmt.Sprint(key), value)} {
			_, _ = b.Write(piece)
		}
	}
	_ = b.WriteByte('}')
	return b.Bytes(), nil
}
