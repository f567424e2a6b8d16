package arrival

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

const (
	// liveRuns is a stream of the runs that several instances do: `directory`, and `run` as run.json has it.
	liveRuns     = "arrival:runs"
	liveRunsKept = 100
	// liveSeconds is how many seconds of each instance Redis keeps, and liveKept for how long.
	liveSeconds = 1000
	liveKept    = time.Hour
	// livePatience is how long one write may take, and at the end of the run all that are left; liveWaiting is how many seconds may wait for it.
	livePatience = time.Second
	liveWaiting  = 8
)

// live tells the seconds of one of several instances in Redis as they end, for who adds them up while the run goes on
// (reports/history): a stream of `number`, and `second`, a line of timeline.ndjson, with `arrival`, its histogram; or `end`. What Redis
// does not take in time is left out, as the load must not wait: the files have it. nil: the instance is the only one.
type live struct {
	engine *engine
	store  *store
	rows   chan []string
	told   chan struct{} // closed when nothing more is written

	writing context.Context
	giveUp  context.CancelFunc
}

func newLive(e *engine, client *store) *live {
	if e.met == nil {
		return nil
	}
	l := &live{engine: e, store: client, rows: make(chan []string, liveWaiting), told: make(chan struct{})}
	l.writing, l.giveUp = context.WithCancel(context.Background())
	go l.write()
	return l
}

// tell hands over a second.
func (l *live) tell(second []byte, arrival *ledger.Series) {
	if l == nil {
		return
	}
	row := []string{"second", string(second)}
	if arrival.Count > 0 {
		histogram, err := arrival.Histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return
		}
		row = append(row, "arrival", string(histogram))
	}
	select {
	case l.rows <- row:
	default:
	}
}

// close says that no second comes any more, and waits until that is told, or given up.
func (l *live) close() {
	if l == nil {
		return
	}
	select {
	case l.rows <- []string{"end", "1"}:
	default:
	}
	close(l.rows)
	defer time.AfterFunc(livePatience, l.giveUp).Stop()
	<-l.told
	l.giveUp()
}

func (l *live) write() {
	defer close(l.told)
	if l.engine.first {
		l.announce()
	}
	key := runKeys + l.engine.id + ":timeline"
	number := strconv.Itoa(l.engine.met.Number)
	for row := range l.rows {
		l.add(key, int64(liveSeconds*l.engine.met.Of), liveKept, append([]string{"number", number}, row...))
	}
}

// announce says once for all instances that there is a run.
func (l *live) announce() {
	run := l.engine.identity()
	run.Command = "" // it may name more than a reader of Redis has to know
	text, err := json.Marshal(run)
	if err != nil {
		return
	}
	l.add(liveRuns, liveRunsKept, runKept, []string{"directory", filepath.Base(filepath.Dir(l.engine.dir)), "run", string(text)})
}

func (l *live) add(key string, most int64, kept time.Duration, values []string) {
	ctx, cancel := context.WithTimeout(l.writing, livePatience)
	defer cancel()
	node, err := l.store.holder(ctx, key)
	if err != nil {
		return
	}
	_, _ = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.XAdd(ctx, &redis.XAddArgs{Stream: key, MaxLen: most, Approx: true, Values: values})
		p.Expire(ctx, key, kept)
		return nil
	})
}
