package runfile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Files of a run's directory; Save writes more.
const (
	FileName     = "run.json"
	PageName     = "index.html"
	MarkdownName = "summary.md"
	LogName      = "arrival.hlog"
	TimelineName = "timeline.ndjson"
)

// Replace writes or replaces a file atomically. It first removes the next one's draft, as a kill may leave one:
// writing to a pipe would wait, and a link may lead anywhere.
func Replace(path string, write func(*bufio.Writer) error) error {
	name := path + ".next"
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	next, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(next)
	if err := cmp.Or(write(b), b.Flush(), next.Close()); err != nil {
		_ = os.Remove(next.Name())
		return err
	}
	return os.Rename(next.Name(), path)
}

// Load reads a valid run.json as it stands, by its path or that of its directory. Errors name the file and the fault.
func Load(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := checkValues(path, data); err != nil {
		return nil, err
	}
	if err := Validate(data); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return data, nil
}

// Read is Load, decoded.
func Read(path string) (*Run, error) {
	data, err := Load(path)
	if err != nil {
		return nil, err
	}
	return Decode(path, data)
}

// Decode decodes a valid run.json; the error names its path.
func Decode(path string, data []byte) (*Run, error) {
	r, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not a run that this version can read: %w", path, err)
	}
	return r, nil
}

// Parse decodes a valid run.json.
func Parse(data []byte) (*Run, error) {
	r := &Run{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	return r, nil
}

// ReadTimeline reads the seconds of a run from its directory. Of a run in progress, or a killed one, half a last line
// is left out. With an error come the seconds before it; they are never nil.
func ReadTimeline(dir string) ([]Interval, error) {
	seconds, err := readLines(filepath.Join(dir, TimelineName))
	Follow(seconds)
	return seconds, err
}

// readLines reads the lines of a timeline as they stand.
func readLines(path string) ([]Interval, error) {
	seconds := []Interval{}
	data, err := ReadFile(path)
	if err != nil {
		return seconds, err
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if len(seconds) == limitTimelineSeconds || len(line) > limitTimelineLineBytes {
			return seconds, fmt.Errorf("%s has more than %d lines, or one of more than %d bytes", path,
				limitTimelineSeconds, limitTimelineLineBytes)
		}
		var second Interval
		if err := json.Unmarshal(line, &second); err != nil {
			return seconds, fmt.Errorf("%s is broken in line %d: %w", path, len(seconds)+1, err)
		}
		seconds = append(seconds, second)
	}
	return seconds, nil
}

// Begin writes the head of a histogram log (µs, one interval a second); startMS is the start of the run, ms since 1970.
// The format has three decimals for the times of the head. The writer's own methods cut them off, and with them up to a
// second of all that follows.
func Begin(w *hdrhistogram.HistogramLogWriter, id string, startMS int64) error {
	w.SetBaseTime(startMS)
	start := fmt.Sprintf("%d.%03d (seconds since epoch)", startMS/1000, startMS%1000)
	return cmp.Or(w.OutputComment("[arrival "+id+": µs, one interval a second]"), w.OutputLogFormatVersion(),
		w.OutputComment("[StartTime: "+start+", "+time.UnixMilli(startMS).UTC().Format(time.RFC3339)+"]"),
		w.OutputComment("[BaseTime: "+start+"]"), w.OutputLegend())
}

// Log reads a run's histogram log second by second.
type Log struct {
	reader *hdrhistogram.HistogramLogReader
	base   float64 // start of the run, seconds since 1970
	next   *hdrhistogram.Histogram
}

var baseTime = regexp.MustCompile(`#\[BaseTime: ([\d.]+)`)

// OpenLog opens the histogram log of a run's directory. A killed run may have none, or half a last line.
func OpenLog(dir string) (*Log, error) {
	path := filepath.Join(dir, LogName)
	data, err := ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	if err := checkLog(path, data); err != nil {
		return nil, err
	}
	l := &Log{reader: hdrhistogram.NewHistogramLogReader(bytes.NewReader(data))}
	if base := baseTime.FindSubmatch(data); base != nil {
		// The text has digits and points only. If it is not a number, l.base is 0, and no second is found.
		l.base, _ = strconv.ParseFloat(string(base[1]), 64)
	}
	if l.next, err = l.reader.NextIntervalHistogram(); err != nil {
		return nil, fmt.Errorf("%s is not a histogram log: %w", path, err)
	}
	return l, nil
}

// At returns the histograms of a second of the run by tag. Call it with ascending seconds.
func (l *Log) At(second int) (map[string]*hdrhistogram.Histogram, error) {
	found := map[string]*hdrhistogram.Histogram{}
	for l.next != nil {
		at := int(math.Round(float64(l.next.StartTimeMs())/1000 - l.base))
		if at > second {
			break
		}
		if at == second {
			found[l.next.Tag()] = l.next
		}
		var err error
		if l.next, err = l.reader.NextIntervalHistogram(); err != nil {
			return nil, fmt.Errorf("%s is broken in second %d: %w", LogName, second, err)
		}
	}
	return found, nil
}

// DirectoryOf is the directory of a run, by the path of its run.json or its own.
func DirectoryOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}
