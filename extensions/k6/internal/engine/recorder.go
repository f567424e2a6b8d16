package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	host "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	// checkpoint is the shortest interval between two reports of a run in progress; checkpointMost is the
	// longest.
	checkpoint     = 5 * time.Second
	checkpointMost = 5 * time.Minute
	// checkpointFirst is when the first one is written; the next ones come at twice its time each, up to checkpoint.
	checkpointFirst = time.Second
	// checkpointShare is how many times its writing time the next checkpoint waits: a longer run takes longer
	// to write.
	checkpointShare = 100
	// latestShare is the same for a report without the seconds, which does not grow with the run.
	latestShare = 10
)

// recorder appends a line a second to the timeline and keeps the report on disk current, so that a killed run
// leaves its data.
type recorder struct {
	engine   *Engine
	timeline *os.File
	log      *os.File
	hdr      *hdrhistogram.HistogramLogWriter
	sender   *meter             // reads the sending process
	own      *meter             // reads this process; nil: it is the one that sends
	live     runfile.SampleBins // live heap after the last garbage collection
	seconds  int                // written to the timeline
	follower runfile.Follower   // adds to a row what follows from the rows before
	host     host.TimesStat     // all cores at the last tick
	next     time.Time          // when the next checkpoint is due; owned by the holder of the token
	latest   time.Time          // when the next report without the seconds is due; likewise
	busy     chan struct{}      // holds a token while a checkpoint is being written
	once     sync.Once
	err      atomic.Pointer[error] // the first of a write
}

func newRecorder(e *Engine) (*recorder, error) {
	r := &recorder{engine: e, busy: make(chan struct{}, 1), next: time.Now().Add(checkpointFirst)}
	var err error
	// O_EXCL: another run may have started in this directory since the check. Then the summary must not write
	// there either.
	dir := e.dir.path()
	timeline := filepath.Join(dir, "timeline.ndjson")
	if r.timeline, err = os.OpenFile(timeline, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); errors.Is(err, fs.ErrExist) {
		e.dir.set("")
		return nil, holdsRun(dir, filepath.Base(timeline))
	} else if err != nil {
		return nil, fmt.Errorf("the run's timeline can't be written: %w", err)
	}
	e.dir.held = runfile.Hold(timeline)
	if r.log, err = os.Create(filepath.Join(dir, "arrival.hlog")); err != nil {
		return nil, fmt.Errorf("the run's histogram log can't be written: %w", err)
	}
	r.hdr = hdrhistogram.NewHistogramLogWriter(r.log)
	r.sender = newMeter(os.Getpid())
	if e.external != nil {
		r.sender, r.own = newMeter(e.external.pid), r.sender
	}
	return r, r.engine.write()
}

// begin is called when the epoch is fixed.
func (r *recorder) begin() error {
	e := r.engine
	if err := runfile.Begin(r.hdr, e.parts.ID, e.Epoch.UnixMilli()); err != nil {
		return fmt.Errorf("the run's histogram log can't be written: %w", err)
	}
	r.usage(-1)
	return nil
}

// close waits for a checkpoint in progress and closes the files. It may be called more than once.
func (r *recorder) close() {
	r.once.Do(func() {
		r.busy <- struct{}{}
		r.note(r.timeline.Close())
		r.note(r.log.Close())
	})
}

// note keeps the first write error: a run with gaps in its record is invalid.
func (r *recorder) note(err error) {
	if err != nil {
		r.err.CompareAndSwap(nil, &err)
	}
}

func (r *recorder) failed() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// unwritten reports whether an error comes from writing a file, as with a full disk.
func unwritten(err error) bool {
	var file *fs.PathError
	return errors.As(err, &file)
}

// doubt makes the run invalid if one of its files is incomplete.
func (r *recorder) doubt() {
	if err := r.failed(); err != nil {
		r.engine.notes.Distrust("the record of the run has gaps: %s", err)
	}
}

func (r *recorder) cut() {
	e := r.engine
	i := e.Ledger.Cut()
	t := r.seconds
	from, to := time.Duration(t)*tick, time.Duration(t+1)*tick
	row := runfile.Interval{
		T: t, Phase: e.phases.At(from), Requests: i.Requests, Scheduled: i.Sent, CanaryMS: e.canary.LatencyOf(t),
		LateMaxMS: lateMax(e.Ledger, t),
		Sent:      i.Sent, Accepted: i.Accepted, Rejected: i.Rejected, Failed: i.Failed,
		Arrived: i.Arrival.Count, ArrivedBytes: i.Bytes, Backlog: i.Backlog,
		Stamped: i.Stages.Stamped, Stages: i.Stages.Means(e.options.stages),
		Arrival: runfile.NewQuantiles(&i.Arrival), FromSend: runfile.NewQuantiles(&i.FromSend),
		HTTP: runfile.NewQuantiles(&i.HTTP), Bins: runfile.NewBins(&i.Arrival), Generator: r.usage(t),
	}
	if e.Pacer.Told() {
		row.Requests, row.Scheduled = e.Pacer.ToldIn(t), e.Pacer.ToldIn(t)
	} else if e.Pacer.Planned() {
		first, last := e.Pacer.Due(from), e.Pacer.Due(to)
		row.Requests, row.Scheduled = last-first, e.Pacer.Messages(last)-e.Pacer.Messages(first)
	}
	r.follower.Fill(&row)
	line, err := json.Marshal(row)
	if err == nil {
		_, err = r.timeline.Write(append(line, '\n'))
	}
	r.note(err)
	r.seconds++
	e.quarters.Add(t, i.Arrival.Histogram)
	e.external.second(row)
	for tag, s := range map[string]*ledger.Series{"arrival": &i.Arrival, "from_send": &i.FromSend, "http": &i.HTTP} {
		if s.Count == 0 {
			continue
		}
		s.Histogram.SetTag(tag)
		s.Histogram.SetStartTimeMs(e.Epoch.Add(from).UnixMilli())
		s.Histogram.SetEndTimeMs(e.Epoch.Add(to).UnixMilli())
		r.note(r.hdr.OutputIntervalHistogram(s.Histogram))
	}
}

// checkpoint writes the report of the run so far, in the background, when it is due: without the seconds each second,
// as long as that costs little too.
func (r *recorder) checkpoint() {
	select {
	case r.busy <- struct{}{}:
	default:
		return
	}
	began, seconds := time.Now(), r.seconds
	whole := !began.Before(r.next)
	if !whole && began.Before(r.latest) {
		<-r.busy
		return
	}
	go func() {
		defer func() { <-r.busy }()
		if whole {
			r.note(r.engine.write())
			r.next = nextCheckpoint(r.engine.Epoch, began, time.Now())
			return
		}
		r.note(r.engine.writeLatest(seconds))
		r.latest = began.Add(min(latestShare*time.Since(began), checkpoint))
	}()
}

// nextCheckpoint returns when the report is written next, in a run that started at start. The report has every second
// of the run, so a fixed interval would cost a long run more and more. Writing takes at most a hundredth of the time,
// until the interval reaches checkpointMost. The first ones come sooner, as a killed run has little else.
func nextCheckpoint(start, began, ended time.Time) time.Time {
	if so := ended.Sub(start); so < checkpoint {
		return ended.Add(max(checkpointFirst, so))
	}
	return ended.Add(min(max(checkpoint, checkpointShare*ended.Sub(began)), checkpointMost))
}

// usage reads the use of the processes at the end of a second of the run; -1: at its start.
func (r *recorder) usage(second int) (u runfile.Usage) {
	now := time.Now()
	u.CPUPercent, u.RSSMB = r.sender.note(second, now)
	if all, err := host.Times(false); err == nil && len(all) == 1 {
		u.StealPercent, u.HostPercent = hostBetween(r.host, all[0])
		r.host = all[0]
	}
	if r.own != nil {
		r.own.note(second, now)
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	r.live.Add(runfile.Sample{T: second,
		Gauges: map[string]float64{"live_heap_mb": float64(live[0].Value.Uint64()) / 1e6}})
	return u
}

type meter struct {
	process  *process.Process // nil: not available on this system
	cpu      float64          // seconds at the last reading
	at       time.Time        // when it was last read
	readings runfile.Readings // all so far
}

func newMeter(pid int) *meter {
	p, _ := process.NewProcess(int32(pid))
	return &meter{process: p}
}

// note reads the process at the end of a second of the run, and keeps the reading; -1: at its start, for the CPU of the
// first second.
func (m *meter) note(second int, now time.Time) (percent, mb *float64) {
	percent, mb = m.read(now)
	if second >= 0 {
		m.readings.Add(second, percent, mb)
	}
	return percent, mb
}

// read returns the CPU since the last call, in percent of a core, and the memory in MB; nil where the system
// does not report them.
func (m *meter) read(now time.Time) (percent, mb *float64) {
	if m.process == nil {
		return nil, nil
	}
	if t, err := m.process.Times(); err == nil {
		// The system counts CPU in ticks of 10 ms: over a short span a single tick would look like a busy core.
		if span := now.Sub(m.at).Seconds(); !m.at.IsZero() && span > tick.Seconds()/2 {
			percent = new((t.User + t.System - m.cpu) / span * 100)
		}
		m.cpu, m.at = t.User+t.System, now
	}
	if memory, err := m.process.MemoryInfo(); err == nil {
		mb = new(float64(memory.RSS) / 1e6)
	}
	return percent, mb
}

// hostBetween is the share of the host's CPU that its hypervisor gave to others, and that which was not idle, steal
// included; nil where it is not reported: there is no steal on bare metal.
func hostBetween(before, now host.TimesStat) (steal, busy *float64) {
	all := func(t host.TimesStat) float64 {
		// guests' time is included in User and Nice
		return t.User + t.Nice + t.System + t.Idle + t.Iowait + t.Irq + t.Softirq + t.Steal
	}
	idle := func(t host.TimesStat) float64 { return t.Idle + t.Iowait }
	span := all(now) - all(before)
	if span <= 0 {
		return nil, nil
	}
	busy = new(min(100, max(0, 100*(1-(idle(now)-idle(before))/span))))
	if now.Steal == 0 {
		return nil, busy
	}
	return new(max(0, 100*(now.Steal-before.Steal)/span)), busy
}

// resources are the readings of the sending process over the whole run, and of this one if another one sends.
func (r *recorder) resources() []runfile.Resource {
	all := []runfile.Resource{runfile.NewResource(r.engine.options.tool.Name, r.sender.readings)}
	if r.own != nil {
		all = append(all, runfile.NewResource("recorder", r.own.readings))
	}
	all[len(all)-1].Figures = r.live.Figures()
	return all
}
