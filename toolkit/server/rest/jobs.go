// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit/server/access"
)

const (
	maxJobs    = 100              // of a key, at a time
	keepJobs   = time.Hour        // after their end
	jobTimeout = 10 * time.Minute // also of other long requests
	jobEvents  = 5 * time.Second  // between two events of progress
)

// jobs are requests that run after their first answer. They live in this process.
type jobs struct {
	mu   sync.Mutex
	byID map[string]*job
	life *work.Service
}

var errClosing = fmt.Errorf("%w: the server is closing", backends.ErrUnavailable)

// job is a request that runs in the background.
type job struct {
	ID      string    `json:"id"`
	URL     string    `json:"url"` // the address to read it at
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Status  int       `json:"status,omitempty"` // the endpoint's status; 0: running
	Body    any       `json:"body,omitempty"`   // the endpoint's body

	key  string              // the name of the key
	of   backends.Scope      // the scope that it opened, after its end
	gone []*backends.Receipt // of people who were forgotten while it ran
	done chan struct{}       // closed at its end
}

// Close ends running jobs, and waits for their end, or for the end of ctx.
func (h *Handler) Close(ctx context.Context) error {
	h.jobs.life.Cancel()
	return h.jobs.life.Drain(ctx)
}

func asksEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// asksLater reports whether a request asks for a job, by "Prefer: respond-async", or for its
// progress, by "Accept: text/event-stream".
func asksLater(r *http.Request) bool {
	return asksEvents(r) || strings.Contains(r.Header.Get("Prefer"), "respond-async")
}

// later answers a call with a job that serves it, or streams the job's progress.
func (h *Handler) later(c *call) (status int, body any) {
	j, err := h.start(c)
	switch {
	case err != nil:
		return c.fail(err)
	case asksEvents(c.r):
		c.events(j)
		return 0, nil
	}
	c.w.Header().Set("Location", j.URL)
	return http.StatusAccepted, h.jobs.now(j)
}

func (h *Handler) start(c *call) (*job, error) {
	id, all := backends.NewID(), &h.jobs
	all.mu.Lock()
	defer all.mu.Unlock()
	of := 0 // by key: the jobs of others leave its limit alone
	for id, old := range all.byID {
		switch {
		case !old.Ended.IsZero() && h.cfg.Clock().Sub(old.Ended) > keepJobs:
			delete(all.byID, id)
		case old.key == c.key.Name:
			of++
		}
	}
	if of >= maxJobs {
		return nil, fmt.Errorf("%w: %d jobs of this key are kept, each for an hour", access.ErrRate, of)
	}
	j := &job{ID: id, URL: "/api/v1/jobs/" + id, Started: h.cfg.Clock(), key: c.key.Name, done: make(chan struct{})}
	// The values of the request stay; its end leaves the job running.
	err := all.life.Go(c.r.Context(), "job", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, jobTimeout)
		defer cancel()
		status, body := c.run(ctx)
		all.mu.Lock()
		j.Status, j.Body, j.Ended, j.of = status, body, h.cfg.Clock(), c.scope
		if slices.ContainsFunc(j.gone, j.shows) {
			j.Status, j.Body = c.fail(fmt.Errorf("%w: the result is about somebody who was forgotten", backends.ErrForgotten))
		}
		all.mu.Unlock()
		close(j.done)
		return nil
	})
	if err == nil {
		all.byID[id] = j
	}
	return j, err
}

// forget is the Forget of a backends.Place. It drops results about a person and results that show
// erased memories, now and at the end of running jobs.
func (all *jobs) forget(_ context.Context, _ *backends.ForgetRequest, gone *backends.Receipt) (dropped int, _ error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for id, j := range all.byID {
		if j.Ended.IsZero() {
			j.gone = append(j.gone, gone)
		} else if j.shows(gone) {
			delete(all.byID, id)
			dropped++
		}
	}
	return dropped, nil
}

// shows reports whether a result is about a forgotten person, or shows an erased memory.
func (j *job) shows(gone *backends.Receipt) bool {
	if p, err := j.of.Owner(); err == nil && p == gone.Partition {
		return true
	}
	return mentions(j.Body, gone)
}

// mentions reports whether a value names an erased memory.
func mentions(v any, gone *backends.Receipt) bool {
	ids := gone.Gone()
	if len(ids) == 0 {
		return false
	}
	b, err := json.Marshal(v)
	return err != nil || slices.ContainsFunc(ids, func(id string) bool { return bytes.Contains(b, []byte(id)) })
}

// now returns a copy of the job in its present state.
func (all *jobs) now(j *job) job {
	all.mu.Lock()
	defer all.mu.Unlock()
	return *j
}

// events writes server-sent events: progress from time to time, and result at the end.
func (c *call) events(j *job) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(jobEvents)
	defer tick.Stop()
	for name := "progress"; ; {
		state := c.jobs.now(j)
		if state.Status != 0 {
			name = "result"
		}
		b, _ := json.Marshal(state)
		_, _ = fmt.Fprintf(c, "event: %s\ndata: %s\n\n", name, b) // a client that left reads the job later
		_ = http.NewResponseController(c.w).Flush()
		if state.Status != 0 {
			return
		}
		select {
		case <-j.done:
		case <-tick.C:
		case <-c.r.Context().Done():
			return
		}
	}
}

func (h *Handler) jobRoutes() {
	type request struct {
		ID string `json:"-" path:"id"`
	}
	add(h, own, "GET /api/v1/jobs/{id}", "What became of a request that is served in the background.", traits{},
		func(c *call, in *request) (job, error) {
			c.jobs.mu.Lock()
			defer c.jobs.mu.Unlock()
			if j := c.jobs.byID[in.ID]; j != nil && j.key == c.key.Name {
				return *j, nil
			}
			return job{}, fmt.Errorf("%w: job", backends.ErrNotFound)
		})
}
