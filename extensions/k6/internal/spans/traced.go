package spans

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// TracedName is the file of a run's directory that has what joins spans later: Asked in its first line, and a delivery
// of a sampled message in each further one.
const TracedName = "traced.ndjson"

// TracedMost bounds the deliveries of sampled messages; a run keeps the newest.
const TracedMost = 200_000

// Asked is what a run asks of spans, wherever they come from.
type Asked struct {
	Run     string       `json:"run"` // its id
	OneIn   int          `json:"one_in"`
	All     int64        `json:"all"`      // deliveries of the measured phases
	OneHost bool         `json:"one_host"` // all generators and the pipeline are on one host
	Marks   []MarkOption `json:"marks"`    // empty: Default
	Clocks  []Clock      `json:"clocks"`   // that are known by Redis' clock
	// Generators are at least one. All clocks are compared with that of the first.
	Generators []Generator `json:"generators"`
}

// Generator is what the spans need to know of an instance of a run.
type Generator struct {
	Number int    `json:"number"` // from 1
	Prefix string `json:"prefix"` // what the ids of its messages begin with; their numbers follow
	Host   string `json:"host"`
	// RedisMS is Redis' clock minus its own; nil: not known.
	RedisMS *float64 `json:"redis_ms"`
	BoundMS float64  `json:"bound_ms"`
}

// same reports whether a host has the first generator's clock. named: it is a host's name, not a service's.
func (a Asked) same(host string, named bool) bool {
	if named {
		return host == a.Generators[0].Host
	}
	return a.OneHost
}

// Traced are the deliveries of sampled messages, of the measured phases, and the ids of these messages.
type Traced struct {
	Asked
	Kept []ledger.Kept // Seq is a Number
	IDs  map[int]string
}

// tracedRow is a line of the file. Times are µs since 1970 on the clock of the message's generator.
type tracedRow struct {
	N          int    `json:"n"` // see Number; its trace id is made of it
	ID         string `json:"id"`
	Subscriber int    `json:"subscriber"`
	Due        int64  `json:"due"`
	Sent       *int64 `json:"sent"` // nil: forgotten
	Arrived    int64  `json:"arrived"`
}

// Write writes it into a run's directory.
func (t *Traced) Write(dir string) error {
	kept := slices.SortedFunc(slices.Values(t.Kept), func(a, b ledger.Kept) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Subscriber, b.Subscriber))
	})
	return runfile.Replace(filepath.Join(dir, TracedName), func(w *bufio.Writer) error {
		lines := json.NewEncoder(w)
		err := lines.Encode(t.Asked)
		for _, k := range kept {
			row := tracedRow{N: k.Seq, ID: t.IDs[k.Seq], Subscriber: k.Subscriber, Due: k.Due, Arrived: k.Arrived}
			if k.Sent != ledger.Forgotten {
				row.Sent = &k.Sent
			}
			err = cmp.Or(err, lines.Encode(row))
		}
		return err
	})
}

// ReadTraced reads the file of a run's directory.
func ReadTraced(dir string) (*Traced, error) {
	path := filepath.Join(dir, TracedName)
	data, err := runfile.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s: the run was not asked for spans (SPANS), or did not end", path)
	}
	if err != nil {
		return nil, err
	}
	t := &Traced{IDs: map[int]string{}}
	n := 0
	for line := range bytes.Lines(data) {
		if n == 0 {
			err = json.Unmarshal(line, &t.Asked)
		} else {
			err = t.add(line)
		}
		if n++; err != nil {
			return nil, fmt.Errorf("%s is broken in line %d: %w", path, n, err)
		}
	}
	if t.Run == "" || t.OneIn < 1 || len(t.Generators) == 0 {
		return nil, fmt.Errorf("%s is broken in line 1: it names no run, or no generator", path)
	}
	return t, nil
}

func (t *Traced) add(line []byte) error {
	var row tracedRow
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	switch {
	case len(t.Kept) == TracedMost:
		return fmt.Errorf("up to %d deliveries are read", TracedMost)
	case row.N < 0 || row.ID == "" || row.Due < 1 || row.Arrived < 1:
		return errors.New("it is not a delivery")
	}
	sent := int64(ledger.Forgotten)
	if row.Sent != nil {
		sent = *row.Sent
	}
	t.Kept = append(t.Kept, ledger.Kept{Seq: row.N, Subscriber: row.Subscriber, Due: row.Due, Sent: sent,
		Arrived: row.Arrived})
	t.IDs[row.N] = row.ID
	return nil
}

// Keeper keeps the spans of the run's messages.
func (t *Traced) Keeper() *Keeper { return NewKeeper(NewMixing(t.Run), t.numberOf) }

// numberOf is the number of a message of the run, sampled or not: in a trace of several messages a span may be of
// another.
func (a Asked) numberOf(id string) (n int, own bool) {
	for _, g := range a.Generators {
		if rest, ok := strings.CutPrefix(id, g.Prefix); ok {
			if number, err := strconv.Atoi(rest); err == nil && number >= 0 {
				return Number(g.Number, number), true
			}
		}
	}
	return 0, false
}

// Sampling is what a Keeper describes of them.
func (t *Traced) Sampling(listen string, table []Mark) Sampling {
	return Sampling{
		Asked: t.Asked, Listen: listen, Table: table, Kept: t.Kept, ID: func(n int) string { return t.IDs[n] },
	}
}
