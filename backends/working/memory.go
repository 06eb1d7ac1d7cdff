// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/work"
)

// ErrClosed is returned by every method of a closed [Memory]. The turns appended before are in
// the log; a new Memory on the same sessions learns from them.
var ErrClosed = errors.New("working memory is closed")

// The stages of Config.OnError.
const (
	StageAppend      = "append"      // writing a recorded turn to the log failed
	StageConsolidate = "consolidate" // learning from a range of the log failed
	StageSweep       = "sweep"       // listing the sessions that other processes left failed
	StageBudget      = "budget"      // the budget of a day is spent, or could not be kept
)

// closeGrace is how long Close waits for cancelled work to end.
const closeGrace = time.Second

// Memory is the log of sessions and its learner. Its methods are safe for concurrent use. Close
// it: it owns goroutines.
type Memory struct {
	cfg   Config
	owner string // of leases: one Memory, so that a process may have several

	life  *work.Service                      // calls, and what follows
	queue *work.Queue[session.Key, *entries] // recorded turns
	due   *work.List[session.Key]            // sessions to consolidate; one consolidation a session in this process

	accounts work.Locks[backends.Partition] // held while an account changes

	mu       sync.Mutex
	backlogs map[session.Key]*backlog

	close    sync.Once
	closeErr error
}

// New returns a running Memory. It appends recorded turns, consolidates the appended ones, and
// looks at once for sessions that a dead process left. Background work has the values of ctx and
// outlives its cancellation.
func New(ctx context.Context, cfg *Config) (*Memory, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Memory{
		cfg: c, owner: c.IDs(), backlogs: make(map[session.Key]*backlog),
	}
	m.life = work.NewService(ctx, ErrClosed, c.OnError)
	m.queue = work.NewQueue(m.life, StageAppend, work.QueueConfig[session.Key, *entries]{
		Size: c.Queue, Workers: c.Workers, Handle: m.appendRecorded,
		Pause: func(failures int) time.Duration { return min(m.pause(failures), appendPause) },
	})
	m.due = work.NewList(m.life, StageConsolidate, c.Workers, m.visit)
	if c.Sweep > 0 {
		_ = m.life.Every(ctx, StageSweep, c.Sweep, m.sweep)
	}
	return m, nil
}

// enter begins a call about the session that a scope names: see [work.Service.Enter].
func (m *Memory) enter(s backends.Scope) (k session.Key, leave func(), err error) {
	if k, _, err = session.KeyOf(s); err == nil {
		leave, err = m.life.Enter()
	}
	return k, leave, err
}

// report logs an error of background work, and passes it to Config.OnError.
func (m *Memory) report(ctx context.Context, stage string, err error) {
	work.Report(ctx, m.cfg.OnError, stage, err)
}

// Flush returns once every turn that was recorded through this Memory before is appended, and
// every complete one is learnt or queued by the backend. The error has the failures, session by
// session: these turns stay in the queue or in the log and are retried. Turns that are still open
// stay in the log, and so do those beyond Config.Budget. Neither they nor older failures are part
// of the error.
func (m *Memory) Flush(ctx context.Context) error {
	leave, err := m.life.Enter()
	if err != nil {
		return err
	}
	defer leave()
	appended := m.queue.Flush(ctx)
	return errors.Join(appended, m.each(m.backlogged(), func(k session.Key) error {
		_, err := m.consolidate(ctx, k)
		return err
	}))
}

// Settle returns once every turn of the scope's partition that was recorded through this Memory
// before is in the log. The error has the turns that could not be appended.
func (m *Memory) Settle(ctx context.Context, s backends.Scope) error {
	k, leave, err := m.enter(s)
	if err != nil {
		return err
	}
	defer leave()
	var errs []error
	for _, e := range m.queue.Waiting() {
		if e.key.Partition == k.Partition {
			errs = append(errs, m.queue.Do(ctx, e.key, func() error { return nil }))
		}
	}
	return errors.Join(errs...)
}

// each calls do for Config.Workers sessions at a time, and joins the errors.
func (m *Memory) each(keys []session.Key, do func(session.Key) error) error {
	return errors.Join(work.Each(len(keys), m.cfg.Workers, "session", func(i int) error { return do(keys[i]) })...)
}

// Close appends the recorded turns, waits for running consolidations, and stops the workers.
// Turns still to be learnt from stay in the log, for the next process. When ctx ends first,
// running work is cancelled; turns that could not be appended are lost then, and the error names
// them. A second call waits for the first and returns the same error. All calls after it return
// [ErrClosed]. Sessions and Backend stay open.
func (m *Memory) Close(ctx context.Context) error {
	m.close.Do(func() { m.closeErr = m.shutdown(ctx) })
	return m.closeErr
}

func (m *Memory) shutdown(ctx context.Context) error {
	m.life.Stop()
	_ = m.appendRest(ctx) // before the wait below, which may take all the time that is left
	err := m.life.Close(ctx, closeGrace)
	if err != nil {
		err = fmt.Errorf("closing working memory: what was under way was cancelled: %w", err)
	}
	// A running call may have recorded one more.
	return errors.Join(err, m.lost(ctx, m.appendRest(ctx)))
}

// appendRest appends the recorded turns, with pauses after failures.
func (m *Memory) appendRest(ctx context.Context) error {
	for n := 1; ; n++ {
		err := m.queue.Flush(ctx)
		if err == nil || n == appendTries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(m.pause(n)):
		}
	}
}

// lost names the turns that are still in the queue, in its error and to OnError.
func (m *Memory) lost(ctx context.Context, cause error) error {
	turns := m.queue.Waiting()
	if len(turns) == 0 {
		return nil
	}
	ids := make([]string, len(turns))
	for i, e := range turns {
		ids[i] = e.turn
	}
	ids = slices.Compact(ids) // of parts of one turn
	err := fmt.Errorf("closing working memory: %d recorded turns were not appended and are lost: %q: %w", len(ids), ids, cause)
	m.report(ctx, StageAppend, err)
	return err
}

// Stats is the present work of one Memory. [Memory.Health] counts the work of all.
type Stats struct {
	Queued   int // recorded turns that are still to be appended
	Sessions int // sessions with turns that were appended here and are still to be learnt from
}

// Stats returns the present counts. It also works on a closed Memory.
func (m *Memory) Stats() Stats {
	return Stats{Queued: len(m.queue.Waiting()), Sessions: len(m.backlogged())}
}

// Config configures a [Memory]. [New] copies it.
type Config struct {
	// Sessions keeps the log. Required. Processes that share it share the work.
	Sessions store.Sessions
	// Backend learns from the log. Required. It stays open when the Memory is closed.
	Backend backends.Backend

	// A session is consolidated once it has MaxTurns pending turns (default 8), MaxTokens
	// pending tokens (default 4000), or no new turn for Idle (default 1 s). MaxTurns and
	// MaxTokens also bound one call of the backend: a longer backlog is learnt in several calls,
	// and a message larger than MaxTokens alone.
	MaxTurns  int
	MaxTokens int
	Idle      time.Duration

	// OpenTurn is how long after its last message a turn that is not Done counts as complete:
	// its process died, or its end was never marked. Until then the turn and all later ones stay
	// pending. Defaults to 2 minutes.
	OpenTurn time.Duration
	// Lease is how long a session stays with a process that died while it consolidated.
	// It is renewed while the backend works. Defaults to 30 seconds.
	Lease time.Duration
	// Timeout ends a call of a backend that hangs. It should exceed the time of all calls of the
	// model for one batch. Defaults to 30 minutes.
	Timeout time.Duration

	// Backoff is the longest pause after the first failure. It doubles with each further
	// failure, or is as long as the outage has lasted, up to 300 times Backoff. Each pause is
	// random, between half of that and all of it. Defaults to 1 second, and so to at most 5
	// minutes.
	Backoff time.Duration

	// Budget bounds the cost of learning a day and partition. Optional. Defaults to any cost.
	Budget Budget

	// Workers is how many sessions this process appends to, consolidates, and takes over
	// from other processes at the same time. Defaults to 2 of each.
	Workers int
	// Queue is how many recorded turns, and parts of turns, may be pending. Defaults to 2048.
	Queue int
	// TTL ends a session so long after its last message, learnt from or not; a failure of
	// learning counts as a message. If it is 0, sessions live for ever.
	TTL time.Duration
	// Sweep is the interval of looking for sessions that other processes left. Defaults to 30
	// seconds. A negative value turns it off, for a process that only reads.
	Sweep time.Duration

	// Redact changes texts before they are stored: contents, text parts, reasoning and arguments
	// of tool calls. Optional. Defaults to redact.Text; redact.None keeps all.
	Redact func(string) string
	// Confirm goes with each request to Backend: see backends.AddRequest. Optional.
	Confirm backends.Confirm
	// OnError gets the failures of background work. stage is one of the Stage constants. Several
	// goroutines call it, and it must return quickly. Optional; log/slog's default logger gets
	// them in any case.
	OnError func(ctx context.Context, stage string, err error)

	// OnLearned gets the response for each learnt batch. Optional. Several goroutines call it,
	// and it must return quickly.
	OnLearned func(ctx context.Context, learnt *backends.AddResponse)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.

	// maxAttempts is how often a range of the log is tried before it is divided to find the turn
	// that spoils it: 5 times. Attempts that end in an outage do not count:
	// backends.ErrUnavailable, ErrDimension, ErrConflict and time-outs have other causes than
	// the messages, and are retried for as long as it takes.
	maxAttempts int
	// grace is how long an Add whose context ended may still answer, so that its stored memories are
	// known. Defaults to 2 seconds: an Add that heeds its context needs far less.
	grace time.Duration
}

// withDefaults returns a complete copy, or ErrInvalid.
func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Sessions == nil || c.Backend == nil {
		return Config{}, fmt.Errorf("working memory: %w: Config.Sessions and Config.Backend are required", backends.ErrInvalid)
	}
	d := *c
	work.Default(&d.Sweep, 30*time.Second)
	work.Default(&d.Redact, redact.Text)
	work.Default(&d.maxAttempts, 5)
	work.Default(&d.grace, 2*time.Second)
	work.Default(&d.Budget.Location, time.UTC)
	d.Clock, d.IDs = work.Clock(d.Clock), work.IDs(d.IDs)
	return d, errors.Join(
		orDefault("MaxTurns", &d.MaxTurns, 8), orDefault("MaxTokens", &d.MaxTokens, 4000),
		orDefault("Workers", &d.Workers, 2), orDefault("Queue", &d.Queue, 2048),
		orDefault("Idle", &d.Idle, time.Second), orDefault("OpenTurn", &d.OpenTurn, 2*time.Minute),
		orDefault("Lease", &d.Lease, 30*time.Second), orDefault("Timeout", &d.Timeout, 30*time.Minute),
		orDefault("Backoff", &d.Backoff, time.Second), orDefault("TTL", &d.TTL, 0),
		orDefault("Budget.Calls", &d.Budget.Calls, 0), orDefault("Budget.Tokens", &d.Budget.Tokens, 0),
	)
}

func orDefault[N int | time.Duration](name string, value *N, def N) error {
	if *value < 0 {
		return fmt.Errorf("working memory: Config.%s is %v: %w: leave it zero for the default", name, *value, backends.ErrInvalid)
	}
	work.Default(value, def)
	return nil
}
