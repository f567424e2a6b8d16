package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

type bench struct {
	settings
	ctx      context.Context // its end is that of the bench
	root     string          // of the repository
	dir      string          // for the time being
	row      string
	children []*process
	closers  []func() // what the row runs in this process
	watchdog io.Writer
	unleash  func()
}

func newBench(ctx context.Context, s settings) *bench {
	root := must.Get(os.Getwd())
	if s.profiles != "" {
		must.Do(os.MkdirAll(s.profiles, 0o700))
	}
	dir := must.Get(os.MkdirTemp(filepath.Join(root, ".stack"), "bench-"))
	// The same binary until the end, whatever is built meanwhile.
	if err := os.Link(filepath.Join(root, "k6"), filepath.Join(dir, "k6")); err != nil {
		must.Fail("there is no ./k6 here: npm run bench, in the repository's root, builds it (%w)", err)
	}
	return &bench{settings: s, ctx: ctx, root: root, dir: dir, unleash: func() {}}
}

func (b *bench) close() {
	b.stopAll()
	b.unleash()
	_ = os.RemoveAll(b.dir)
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench  %-12s%s\n", b.row, fmt.Sprintf(format, args...))
}

// closing has something of this process closed at the end of the row.
func (b *bench) closing(c io.Closer) { b.closers = append(b.closers, func() { _ = c.Close() }) }

// listen opens a free port until the row is over.
func (b *bench) listen() net.Listener {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	b.closing(l)
	return l
}

// freeAddress is one on which nobody listens.
func freeAddress() string {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	must.Do(l.Close())
	return l.Addr().String()
}

// sleep waits, and gives up when the bench is stopped or one of the processes ends.
func (b *bench) sleep(d time.Duration, watched ...*process) {
	select {
	case <-time.After(d):
	case <-b.ctx.Done():
		must.Do(b.ctx.Err())
	}
	for _, p := range watched {
		select {
		case <-p.done:
			must.Do(p.failure())
		default:
		}
	}
}

const readyWithin = 10 * time.Second

// eventually asks again and again until the answer is yes.
func (b *bench) eventually(what string, within time.Duration, holds func() bool, watched ...*process) {
	for deadline := time.Now().Add(within); !holds(); b.sleep(20*time.Millisecond, watched...) {
		if time.Now().After(deadline) {
			must.Fail("%s did not come about within %s", what, within)
		}
	}
}

func (b *bench) get(url string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(b.ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// counted asks a server of the bench's for the count of its /count.
func (b *bench) counted(url string) (int64, error) {
	var answer struct{ Count int64 }
	_, body, err := b.get(url + "/count")
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	return answer.Count, err
}
