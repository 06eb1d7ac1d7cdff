// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"io"
	"net/http"
	"time"

	"github.com/einomem/einomem/backends"
)

const (
	patience = 30 * time.Second // without any byte
	leastKiB = 1                // of a body, a second
)

// Paced returns h so that a client that takes nothing for 30 seconds is cut, and one that
// sends nothing for so long, or less of a body than a KiB a second. A slow one that goes on
// is served. Servers that cannot set deadlines serve as before. Handlers of packages rest
// and mcp are paced.
func Paced(h http.Handler) http.Handler { return paced(h, patience) }

func paced(h http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pace{ResponseController: http.NewResponseController(w), patience: patience, began: backends.SystemClock()}
		asked := r
		if r.Body != nil && r.Body != http.NoBody {
			_ = p.SetReadDeadline(p.began.Add(patience)) // what h leaves of the body is read, too
			b := *r
			b.Body = &pacedBody{r.Body, p}
			r = &b
		}
		out := &pacedWriter{w, p, r.ProtoMajor > 1}
		h.ServeHTTP(out, r)
		asked.Pattern = r.Pattern // by which what is around h names the endpoint
		out.extend()              // what is buffered is sent after h
	})
}

// pace is the progress of one request.
type pace struct {
	*http.ResponseController
	patience time.Duration
	began    time.Time
	read     time.Duration // that the bytes read so far were worth
}

// pacedBody is a body that must go on.
type pacedBody struct {
	io.ReadCloser
	*pace
}

func (b *pacedBody) Read(into []byte) (int, error) {
	until, least := backends.SystemClock().Add(b.patience), b.began.Add(b.patience+b.read)
	if least.Before(until) {
		until = least
	}
	_ = b.SetReadDeadline(until)
	n, err := b.ReadCloser.Read(into)
	b.read += time.Duration(n) * time.Second / (leastKiB << 10)
	if err == io.EOF {
		_ = b.SetReadDeadline(time.Time{}) // else the connection counts as gone then
	}
	return n, err
}

// pacedWriter is an answer that must be taken.
type pacedWriter struct {
	http.ResponseWriter
	*pace
	multiplexed bool // a deadline that passes ends the stream, whether anything is written or not
}

func (w *pacedWriter) extend() { _ = w.SetWriteDeadline(backends.SystemClock().Add(w.patience)) }

func (w *pacedWriter) Write(b []byte) (int, error) {
	w.extend()
	n, err := w.ResponseWriter.Write(b)
	w.rest()
	return n, err
}

// Flush implements http.Flusher.
func (w *pacedWriter) Flush() {
	w.extend()
	_ = w.ResponseController.Flush()
	w.rest()
}

// rest takes the deadline back where it would end an answer that comes in pieces.
func (w *pacedWriter) rest() {
	if w.multiplexed {
		_ = w.SetWriteDeadline(time.Time{})
	}
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
