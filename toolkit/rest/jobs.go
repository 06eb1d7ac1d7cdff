// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
)

const (
	maxJobs   = 100             // of a key that are known at a time
	keepJobs  = time.Hour       // after their end
	jobEvents = 5 * time.Second // between two events of progress
)

// jobs are requests that are served after they were answered. They live in this process.
type jobs struct {
	clock backends.Clock
	mu    sync.Mutex
	byID  map[string]*job
	work  sync.WaitGroup
	ctx   context.Context
	stop  context.CancelFunc
}

type job struct {
	Job
	key    string // whose it is
	cancel context.CancelFunc
	done   chan struct{}
}

// Job is a request that is served in the background.
type Job struct {
	ID       string    `json:"id"`
	Endpoint string    `json:"endpoint"`
	URL      string    `json:"url"` // where it is read, and ended by DELETE; URL/events streams it
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Status   int       `json:"status,omitempty"` // as the endpoint would have answered; 0: under way
	Body     any       `json:"body,omitempty"`   // likewise
}

func newJobs(clock backends.Clock) *jobs {
	j := &jobs{clock: clock, byID: map[string]*job{}}
	j.ctx, j.stop = context.WithCancel(context.Background())
	return j
}

func (j *jobs) close(ctx context.Context) error {
	j.stop()
	done := make(chan struct{})
	go func() { j.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// later answers a call that asks for a job, by "Prefer: respond-async", or for its progress,
// by "Accept: text/event-stream". It reports whether it did.
func (h *Handler) later(c *call) bool {
	events := strings.Contains(c.r.Header.Get("Accept"), "text/event-stream")
	if !events && !strings.Contains(c.r.Header.Get("Prefer"), "respond-async") {
		return false
	}
	j, err := h.jobs.start(c)
	switch {
	case err != nil:
		h.answer(c, nil, err)
	case events:
		h.jobs.stream(c.w, c.r, j)
	default:
		c.w.Header().Set("Location", j.URL)
		c.w.Header().Set("Preference-Applied", "respond-async")
		h.write(c.w, http.StatusAccepted, h.jobs.now(j))
	}
	return true
}

func (j *jobs) start(c *call) (*job, error) {
	id := backends.NewID()
	x := &job{Job: Job{ID: id, Endpoint: c.route.pattern, URL: "/api/v1/jobs/" + id, Started: j.clock()}, key: c.key.Name, done: make(chan struct{})}
	j.mu.Lock()
	defer j.mu.Unlock()
	of := 0 // the key: one has no part of what others may start
	for id, old := range j.byID {
		if !old.Ended.IsZero() && j.clock().Sub(old.Ended) > keepJobs {
			delete(j.byID, id)
		} else if old.key == x.key {
			of++
		}
	}
	if of >= maxJobs || j.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %d jobs of this key are kept, each for an hour", access.ErrRate, of)
	}
	// The values of the request stay; its end is not the job's.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.cfg.JobTimeout)
	release := context.AfterFunc(j.ctx, cancel)
	x.cancel = cancel
	j.byID[id] = x
	j.work.Go(func() {
		defer release()
		defer cancel()
		status, body := c.result(ctx)
		j.mu.Lock()
		x.Status, x.Body, x.Ended = status, body, j.clock()
		j.mu.Unlock()
		close(x.done)
	})
	return x, nil
}

// result serves the call as handle does, and returns what it would answer.
func (c *call) result(ctx context.Context) (status int, body any) {
	defer func() {
		if p := recover(); p != nil {
			c.cfg.Log.ErrorContext(ctx, "rest: panic in a job", "endpoint", c.route.pattern, "panic", p)
			status, body = http.StatusInternalServerError, errorBody{Code: "internal", Error: "internal error"}
		}
	}()
	out, err := c.run(ctx)
	if err != nil {
		return c.route.fail(c.Handler, err, c.body)
	}
	return c.route.status, out
}

func (j *jobs) now(x *job) Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return x.Job
}

// of returns a job of the key. That of another key is not found.
func (j *jobs) of(key, id string) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if x := j.byID[id]; x != nil && x.key == key {
		return x, nil
	}
	return nil, fmt.Errorf("%w: job", backends.ErrNotFound)
}

// stream writes server-sent events: progress from time to time, and result at the end.
func (j *jobs) stream(w http.ResponseWriter, r *http.Request, x *job) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	event := func(name string) error {
		b, err := json.Marshal(j.now(x))
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, b); err != nil {
			return err
		}
		return out.Flush()
	}
	tick := time.NewTicker(jobEvents)
	defer tick.Stop()
	for event("progress") == nil {
		select {
		case <-x.done:
			_ = event("result") // a caller that went away reads the job later
			return
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

type jobRequest struct {
	ID string `json:"-" path:"id"`
}

func (h *Handler) jobRoutes() {
	add(h, own, "GET /api/v1/jobs/{id}", "What became of a request that is served in the background.", traits{},
		func(c *call, in *jobRequest) (Job, error) {
			c.opened = true // a job is its key's
			x, err := h.jobs.of(c.key.Name, in.ID)
			if err != nil {
				return Job{}, err
			}
			return h.jobs.now(x), nil
		})
	add(h, own, "GET /api/v1/jobs/{id}/events", "The progress of a job as server-sent events.", traits{stream: true},
		func(c *call, in *jobRequest) (any, error) {
			c.opened = true
			x, err := h.jobs.of(c.key.Name, in.ID)
			if err == nil {
				h.jobs.stream(c.w, c.r, x)
			}
			return nil, err
		})
	add(h, own, "DELETE /api/v1/jobs/{id}", "End a job. What it stored stays.", traits{},
		func(c *call, in *jobRequest) (Job, error) {
			c.opened = true
			x, err := h.jobs.of(c.key.Name, in.ID)
			if err != nil {
				return Job{}, err
			}
			x.cancel()
			select {
			case <-x.done:
			case <-c.Done():
			}
			return h.jobs.now(x), nil
		})
}
