package runfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// histogramHead is the length of an encoded histogram's head, in bytes.
const histogramHead = 40

// ReadFile reads a file of a run. It refuses what is not a plain file, as a pipe would be waited for and a link may
// lead anywhere, and what is larger than any run's.
func ReadFile(path string) ([]byte, error) { return ReadFileUpTo(path, limitFileBytes) }

// ReadFileUpTo is ReadFile for a file that has fewer bytes.
func ReadFileUpTo(path string, most int64) ([]byte, error) {
	f, size, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readUpTo(f, path, size, most)
}

func openPlain(path string) (f *os.File, size int64, err error) {
	if f, err = openFile(path); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = noPlainFile(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// OpenStream opens a file that is read piece by piece, as it may be larger than memory: a plain one, inflated if it is
// gzip or zstd. Reading more than any such file has is an error.
func OpenStream(path string) (io.ReadCloser, error) {
	f, _, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	data := bufio.NewReader(f)
	from := io.Reader(data)
	if head, _ := data.Peek(len(gzipHead)); string(head) == gzipHead {
		if from, err = gzip.NewReader(data); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("%s is not gzip: %w", path, err)
		}
	} else if inflated, err := fromZstd(data); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not zstd: %w", path, err)
	} else if inflated != nil {
		from = inflated
	}
	return &bounded{from, f, limitStreamBytes}, nil
}

const gzipHead = "\x1f\x8b"

type bounded struct {
	from io.Reader
	io.Closer
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it has more than %d bytes", int64(limitStreamBytes))
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// readUpTo reads all of a file, which may grow meanwhile. It cuts nothing: it refuses what is longer than most bytes.
func readUpTo(r io.Reader, path string, size, most int64) ([]byte, error) {
	var data bytes.Buffer
	if size <= most {
		data.Grow(int(size) + bytes.MinRead)
		n, err := data.ReadFrom(io.LimitReader(r, most+1))
		if err != nil {
			return nil, err
		}
		size = n
	}
	if size > most {
		return nil, fmt.Errorf("%s has %d bytes or more; up to %d are read", path, size, most)
	}
	return data.Bytes(), nil
}

// checkValues refuses a JSON text of more values than any run has: decoded, each takes up to a hundred times its
// length. It counts the characters before values, also those inside of texts.
func checkValues(path string, data []byte) error {
	if n := valuesIn(data); n > limitJSONValues {
		return fmt.Errorf("%s has about %d values; up to %d are read", path, n, limitJSONValues)
	}
	return nil
}

func valuesIn(data []byte) (n int) {
	for _, before := range []string{"[", "{", ","} {
		n += bytes.Count(data, []byte(before))
	}
	return n
}

// checkLog refuses a histogram log that inflates, or makes histograms, beyond what any run writes.
func checkLog(path string, data []byte) error {
	n, inflated, most := 0, int64(0), int64(len(data))*limitLogInflatesTimes+limitHistogramBytes
	for line := range bytes.Lines(data) {
		n++
		if n > limitLogLines {
			return fmt.Errorf("%s has more than %d lines", path, limitLogLines)
		}
		if bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		text := bytes.TrimSpace(line)
		size, err := checkHistogram(text[bytes.LastIndexByte(text, ',')+1:])
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		if inflated += size; inflated > most {
			return fmt.Errorf("%s inflates to more than %d times its size", path, limitLogInflatesTimes)
		}
	}
	return nil
}

// checkHistogram checks an encoded histogram (HdrHistogram's V2 encoding, deflated, in base64), and returns its
// inflated size. What is none is left to the decoder.
func checkHistogram(text []byte) (size int64, err error) {
	encoded, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(encoded) < 8 {
		return 0, nil
	}
	inflate, err := zlib.NewReader(bytes.NewReader(encoded[8:]))
	if err != nil {
		return 0, nil
	}
	head := make([]byte, histogramHead)
	if _, err := io.ReadFull(inflate, head); err != nil {
		return 0, nil
	}
	digits, highest := binary.BigEndian.Uint32(head[12:]), binary.BigEndian.Uint64(head[24:])
	if digits > limitHistogramDigits || highest > limitHistogramHighestUS {
		return 0, fmt.Errorf("a histogram of %d digits up to %d; up to %d digits and %d µs are read",
			digits, highest, limitHistogramDigits, int64(limitHistogramHighestUS))
	}
	size, err = io.Copy(io.Discard, io.LimitReader(inflate, limitHistogramBytes))
	if err == nil && size == limitHistogramBytes {
		return 0, fmt.Errorf("a histogram inflates to more than %d bytes", limitHistogramBytes)
	}
	return size, nil
}
