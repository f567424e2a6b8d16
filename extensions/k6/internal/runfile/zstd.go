package runfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdHead = "\x28\xb5\x2f\xfd"
	sizeLen  = 4 // bytes before each block of the collector's file exporter

	zstdWindowMost = 128 << 20 // bytes; what zstd itself takes by default
)

// fromZstd inflates data if it is zstd: a whole file, or blocks with their size before each, as OpenTelemetry's
// collector writes them. Other data is nil.
func fromZstd(data *bufio.Reader) (io.Reader, error) {
	head, _ := data.Peek(sizeLen + len(zstdHead)) // an error comes again when it is read
	whole := len(head) >= len(zstdHead) && string(head[:len(zstdHead)]) == zstdHead
	if !whole && (len(head) <= sizeLen || string(head[sizeLen:]) != zstdHead) {
		return nil, nil
	}
	from := io.Reader(data)
	if !whole {
		from = nil
	}
	// With a concurrency of 1 the decoder starts no goroutine, so there is nothing to close.
	d, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowMost))
	if err != nil || whole {
		return d, err
	}
	return &blocks{from: data, inflates: d}, nil
}

// blocks are zstd with the size of each before it.
type blocks struct {
	from     *bufio.Reader
	inflates *zstd.Decoder
	within   bool
	err      error
}

func (b *blocks) Read(p []byte) (n int, err error) {
	for n == 0 && b.err == nil {
		if !b.within {
			b.err = b.next()
			continue
		}
		n, err = b.inflates.Read(p)
		if errors.Is(err, io.EOF) {
			b.within = false
		} else {
			b.err = err
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, b.err
}

func (b *blocks) next() error {
	var size [sizeLen]byte
	if _, err := io.ReadFull(b.from, size[:]); err != nil {
		return err
	}
	b.within = true
	return b.inflates.Reset(io.LimitReader(b.from, int64(binary.BigEndian.Uint32(size[:]))))
}
