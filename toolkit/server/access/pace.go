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

// Paced returns h with limits for slow clients. It cuts a client that takes no byte for 30 seconds.
// It also cuts one that sends no byte for so long, or less of a body than a KiB a second. A slow
// client that keeps going is served. Servers without deadlines serve as before. Handlers of
// packages rest and mcp are paced.
func Paced(h http.Handler) http.Handler { return paced(h, patience) }

func paced(h http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pace{ResponseController: http.NewResponseController(w), patience: patience, began: backends.SystemClock()}
		asked := r
		if r.Body != nil && r.Body != http.NoBody {
			_ = p.SetReadDeadline(p.began.Add(patience)) // the server reads the rest of the body, too
			b := *r
			b.Body = &pacedBody{r.Body, p}
			r = &b
		}
		out := &pacedWriter{w, p, r.ProtoMajor > 1}
		h.ServeHTTP(out, r)
		asked.Pattern = r.Pattern // the code around h names the endpoint by it
		out.extend()              // the server sends buffered bytes after h
	})
}

// pace is the progress of one request.
type pace struct {
	*http.ResponseController
	patience time.Duration
	began    time.Time
	read     time.Duration // the time that the bytes so far were worth
}

// pacedBody is a body whose client must keep sending.
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

// pacedWriter is an answer whose client must keep reading.
type pacedWriter struct {
	http.ResponseWriter
	*pace
	multiplexed bool // a passed deadline ends the stream, with or without a write
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

// rest removes the deadline if it would end an answer that comes in pieces.
func (w *pacedWriter) rest() {
	if w.multiplexed {
		_ = w.SetWriteDeadline(time.Time{})
	}
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
