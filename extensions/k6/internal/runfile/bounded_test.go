package runfile

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// encoded is a histogram as a log holds it, with a body of so many zero bytes.
func encoded(t *testing.T, digits uint32, highest uint64, body int) string {
	t.Helper()
	head := make([]byte, histogramHead)
	binary.BigEndian.PutUint32(head[12:], digits)
	binary.BigEndian.PutUint64(head[24:], highest)
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	_, err := w.Write(append(head, make([]byte, body)...))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return base64.StdEncoding.EncodeToString(append(make([]byte, 8), deflated.Bytes()...))
}

// Regression: 3.9 MB of a log inflated to 5.9 GB.
func TestAHistogramThatNoRunWritesIsRefused(t *testing.T) {
	t.Parallel()
	check := func(digits uint32, highest uint64, body int) error {
		_, err := checkHistogram([]byte(encoded(t, digits, highest, body)))
		return err
	}
	assert.NoError(t, check(3, 3_600_000_000, 1000))
	assert.ErrorContains(t, check(3, 3_600_000_000, 50<<20), "inflates to more than")
	assert.ErrorContains(t, check(5, 3_600_000_000, 10), "5 digits")
	assert.ErrorContains(t, check(3, 1<<62, 10), "up to")
	dir := t.TempDir()
	log := "#[Histogram log format version 1.3]\n0.0,1.0,1.0," + encoded(t, 3, 1000, 50<<20) + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, LogName), []byte(log), 0o600))
	_, err := OpenLog(dir)
	assert.ErrorContains(t, err, "line 2: a histogram inflates")
}

// Regression: `k6 x arrival check` waited for a pipe, and followed links.
func TestOnlyPlainFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	require.NoError(t, os.Symlink("/dev/zero", path))
	_, err := Load(dir)
	assert.ErrorContains(t, err, "is not a plain file (L")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = Load(path)
	assert.Error(t, err)
	require.NoError(t, os.Remove(path))
	large, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, large.Truncate(limitFileBytes+1))
	require.NoError(t, large.Close())
	_, err = Load(dir)
	assert.ErrorContains(t, err, "up to 400000000 are read")
}

// Regression: the bound was each line's, so 3.9 MB of many lines inflated to 2.9 GB.
func TestALogHasABound(t *testing.T) {
	t.Parallel()
	line := "0.0,1.0,1.0," + encoded(t, 3, 1000, 3<<20) + "\n"
	assert.NoError(t, checkLog(LogName, []byte(line)))
	assert.ErrorContains(t, checkLog(LogName, bytes.Repeat([]byte(line), 10)), "inflates to more than 64 times")
	assert.ErrorContains(t, checkLog(LogName, bytes.Repeat([]byte("\n"), limitLogLines+1)), "more than 1000000 lines")
}

// Regression: what stood beyond the bound of a growing file was cut off without a word.
func TestAFileThatGrowsIsNotCut(t *testing.T) {
	t.Parallel()
	data, err := readUpTo(strings.NewReader("grown"), "f", 2, 5)
	require.NoError(t, err)
	assert.Equal(t, "grown", string(data))
	_, err = readUpTo(strings.NewReader("grown more"), "f", 2, 5)
	assert.ErrorContains(t, err, "up to 5 are read")
}

func TestATextOfTooManyValuesIsNotDecoded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("[],"), limitJSONValues/2+1), 0o600))
	_, err := Load(path)
	assert.ErrorContains(t, err, "values; up to 20000000 are read")
}

func TestATimelineHasABound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, TimelineName)
	require.NoError(t, os.WriteFile(path, []byte("{}\n"+strings.Repeat(" ", limitTimelineLineBytes)+"{}\n"), 0o600))
	seconds, err := ReadTimeline(dir)
	assert.Len(t, seconds, 1)
	assert.ErrorContains(t, err, "one of more than 1048576 bytes")
}

// Regression: 44 MB took 1.7 GB, since all of it was decoded before the schema saw any of it.
// It measures what is allocated, so it runs alone.
func TestWhatTheSchemaDoesNotKnowIsNotDecoded(t *testing.T) {
	text, err := os.ReadFile(reports + "testdata/passing.json")
	require.NoError(t, err)
	many := bytes.Repeat([]byte(`{"a":0},`), 2_000_000)
	large := slices.Concat([]byte(`{"more":[`), many, []byte("0],"), bytes.TrimPrefix(text, []byte("{")))
	require.Less(t, valuesIn(large), limitJSONValues)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	assert.ErrorContains(t, Validate(large), "additional properties 'more' not allowed")
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, 2*uint64(len(large)), "decoded it takes 38 times its length")
}

// Regression: of two equal members the schema saw the last one, and the report was made from both.
func TestEqualMembersAreRefused(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reports + "testdata/passing.json")
	require.NoError(t, err)
	for _, twice := range []string{`"account":{"lost":0},"account":`, `"acc\u006funt":{"lost":0},"account":`} {
		assert.ErrorContains(t, Validate(bytes.Replace(text, []byte(`"account":`), []byte(twice), 1)), "account")
	}
}

func TestOnlyUTF8IsRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reports + "testdata/passing.json")
	require.NoError(t, err)
	wide := []byte{0xff, 0xfe}
	for _, b := range text {
		wide = append(wide, b, 0)
	}
	for name, c := range map[string][]byte{
		"mark": append([]byte("\ufeff"), text...), "UTF-16": wide, "NUL": append(bytes.Clone(text), 0), "nothing": nil,
		"cut": text[:len(text)/2], "two": slices.Concat(text, text),
	} {
		assert.ErrorContains(t, Validate(c), "is not JSON", name)
	}
	var lines bytes.Buffer
	require.NoError(t, json.Indent(&lines, text, "", "  "))
	assert.NoError(t, Validate(bytes.ReplaceAll(lines.Bytes(), []byte("\n"), []byte("\r\n"))), "CRLF")
}
