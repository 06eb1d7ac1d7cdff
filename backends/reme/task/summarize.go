// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// SummaryRequest asks task memory to learn.
type SummaryRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	Trajectories []Trajectory // What was done, and how well it went.
	// Candidates are experiences that are written down already, by a person or an
	// agent: they are neither extracted nor judged. Of each count WhenToUse and Text, which
	// are required, and Quality, Metadata, Observed, and session and turn of its Origin.
	// Optional.
	Candidates []backends.Memory

	// Simple asks the model one question a trajectory, and no judge. Optional.
	Simple bool
	// IdempotencyKey makes a repeated call harmless and free: it reports what the first one
	// came to as unchanged. A call that returns an error does not use it up. At most 480
	// bytes. Optional. Defaults to a key that follows from what the request holds and from
	// the prompts and thresholds, and counts as long as all holds that the request came to.
	// Another model is no change of a request: give a key then.
	IdempotencyKey string

	Metadata map[string]any // Kept with each memory; the keys of the package comment are not the caller's. JSON values. Optional.
	Expires  time.Time      // When the memories end. Optional. Defaults to never.
	Author   string         // Who wrote it down. Optional. Defaults to Config.Author.
}

// SummaryResponse is the answer to a [SummaryRequest].
type SummaryResponse struct {
	// Items has one entry for each experience that came through the judge. Added: stored.
	// Superseded: merged with Previous, whose place the merged one took. Updated: it says
	// what Memory says in other words, which is counted there, or it holds longer than
	// Memory did, which holds as long now. Unchanged: known word for word, or a duplicate
	// of another of the request. Of a repeated request they are the memories that the first
	// one came to, as they are now.
	Items []backends.Item
	// Memories are those that were stored, and nothing else.
	Memories []backends.Memory
	Report   backends.Report
	Replayed bool // the request was known, and nothing was done
}

// maxKey is the longest idempotency key of a request, in bytes: stores take 512.
const maxKey = 480

// summary is a request to learn under way.
type summary struct {
	m         *Memory
	run       *ask.Run
	scope     backends.Scope
	workspace backends.Partition
	key       string // of the batch; empty for none
	own       bool   // the key is the caller's
	learns    bool   // from trajectories
	metadata  map[string]any
	expires   time.Time
	author    string
	answers   map[string][]backends.Memory // what is worth keeping, by the questions that were answered
	decisions map[[2]string]decision       // by the words of what is new and of what is known
}

// Summarize learns from trajectories and stores what it learnt: it extracts, lets a judge
// look, and stores what is no duplicate.
//
// All or nothing: if a step failed, nothing is stored, no further question is asked, and
// both the response, whose report says what failed, and the error are returned; a repeat in
// this process asks only the questions that were not answered. Errors: ErrNoScope without a workspace, ErrInvalid for a request that
// cannot succeed, ErrUnavailable, ErrModel, ErrConflict if the workspace never stopped
// changing.
func (m *Memory) Summarize(ctx context.Context, r *SummaryRequest) (resp *SummaryResponse, err error) {
	defer work.Recover("task", &err)
	s, err := m.summary(ctx, r)
	if err != nil {
		return nil, err
	}
	if ctx, err = m.keeper.Begin(ctx, s.scope); err != nil {
		return nil, err
	}
	resp, err = s.replayed(ctx)
	if err == nil && resp == nil && s.learns { // without the embedder nothing is stored: the model would be paid for nothing
		_, err = s.m.similarity(ctx, s.run, []string{"trying", "the embedder"})
	}
	switch {
	case err != nil:
		s.run.Stage(stageStore).Fail(err)
	case resp == nil:
		resp, err = s.learn(ctx, r)
	}
	resp = s.shown(cmp.Or(resp, &SummaryResponse{}))
	resp.Report = s.run.Report()
	return resp, err
}

// shown returns a response as the caller may see it.
func (s *summary) shown(resp *SummaryResponse) *SummaryResponse {
	s.m.keeper.ShowItems(s.scope, s.workspace, resp.Items)
	for i := range resp.Memories {
		resp.Memories[i] = s.m.keeper.Shown(s.scope, s.workspace, resp.Memories[i])
	}
	return resp
}

// maxAnswers is how many answers are kept for a workspace whose requests fail.
const maxAnswers = 256

// learn does what a request asks for. If it fails, what the model answered is kept for the
// next request of the workspace; one that succeeds lets go of it.
func (s *summary) learn(ctx context.Context, r *SummaryRequest) (resp *SummaryResponse, err error) {
	if kept, ok := s.m.answers.LoadAndDelete(s.workspace); ok {
		s.answers = kept.(map[string][]backends.Memory)
	}
	candidates, err := s.candidates(ctx, r)
	if err == nil {
		resp, err = s.store(ctx, candidates)
	}
	if n := len(s.answers); err != nil && n > 0 && n <= maxAnswers {
		s.m.answers.Store(s.workspace, s.answers)
	}
	return resp, err
}

// summary checks a request.
func (m *Memory) summary(ctx context.Context, r *SummaryRequest) (*summary, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	scope, p, err := m.keeper.Resolve(ctx, r.Scope, keeper.Workspace)
	switch {
	case err != nil:
		return nil, err
	case len(r.IdempotencyKey) > maxKey:
		return nil, fmt.Errorf("task: idempotency key of %d bytes: %w: at most %d", len(r.IdempotencyKey), backends.ErrInvalid, maxKey)
	case !r.Expires.IsZero() && !r.Expires.After(m.keeper.Now()):
		return nil, fmt.Errorf("task: %w: Expires %s is over already", backends.ErrInvalid, r.Expires.Format(time.RFC3339))
	case len(r.Trajectories) > 0 && m.model == nil:
		return nil, fmt.Errorf("task: learning from trajectories: %w: it needs Config.Model", backends.ErrInvalid)
	}
	for i := range r.Trajectories {
		if err := r.Trajectories[i].validate(); err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if strings.TrimSpace(c.WhenToUse) == "" || strings.TrimSpace(c.Text) == "" || !utf8.ValidString(c.WhenToUse+c.Text) {
			return nil, fmt.Errorf("task: candidate %d: %w: it needs WhenToUse and Text, in UTF-8", i, backends.ErrInvalid)
		}
	}
	if err := m.keeper.Allow(ctx, backends.OpAdd, scope, p, nil); err != nil {
		return nil, err
	}
	return &summary{
		m: m, run: m.begin(), scope: scope, workspace: p, key: m.requestKey(r), own: r.IdempotencyKey != "", learns: len(r.Trajectories) > 0,
		metadata: r.Metadata, expires: r.Expires, author: cmp.Or(r.Author, m.config.Author), answers: map[string][]backends.Memory{}, decisions: map[[2]string]decision{},
	}, nil
}

// requestKey returns the caller's key, else one that follows from what is learnt from,
// redacted, and from how; none for a request that JSON cannot hold.
func (m *Memory) requestKey(r *SummaryRequest) string {
	if r.IdempotencyKey != "" {
		return "task/summary/" + r.IdempotencyKey
	}
	c := &m.config
	raw, err := json.Marshal(m.keeper.RedactJSON([]any{
		r.Trajectories, r.Candidates, r.Simple, r.Metadata, r.Expires,
		c.Prompts, c.Language, c.Threshold, c.SimpleThreshold, c.MinQuality, c.KeepQuery,
	}))
	if err != nil {
		return ""
	}
	return "task/request/" + text.HashID(string(raw))
}

// candidates returns the experiences of a request that the judge found worth keeping.
func (s *summary) candidates(ctx context.Context, r *SummaryRequest) ([]backends.Memory, error) {
	if len(r.Trajectories) == 0 {
		return r.Candidates, nil
	}
	found, err := s.extract(ctx, r.Trajectories, r.Simple)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return slices.Concat(found, r.Candidates), nil
}

// store stores what is no duplicate, in one atomic batch. It looks at the workspace as it
// is now, and again if that changes meanwhile.
func (s *summary) store(ctx context.Context, candidates []backends.Memory) (resp *SummaryResponse, err error) {
	unlock, err := s.m.storing.Lock(ctx, s.workspace)
	if err != nil {
		return nil, fmt.Errorf("task: waiting to store: %w", err)
	}
	defer unlock()
	err = store.OnConflict(ctx, func() error {
		entries := s.entries(candidates)
		p, err := s.plan(ctx, entries)
		if err == nil {
			resp, err = s.commit(ctx, p)
		}
		return err
	})
	if err != nil {
		s.run.Stage(stageStore).Fail(err)
	}
	return resp, err
}

// commit carries a plan out.
func (s *summary) commit(ctx context.Context, p *plan) (*SummaryResponse, error) {
	b := &store.Batch{Mutations: p.mutations(), Key: s.key}
	if len(b.Mutations) == 0 && b.Key == "" {
		return p.response(0), nil
	}
	usage := &backends.Usage{}
	applied, err := s.m.keeper.Commit(ctx, s.workspace, b, usage)
	s.run.Embedded(usage.EmbeddedTexts)
	switch {
	case err != nil:
		return nil, fmt.Errorf("task: %w", err)
	case !applied.Replayed:
		return p.response(applied.Version), nil
	}
	resp, err := s.replay(ctx, applied) // of another process, which stored the same meanwhile
	if err == nil && resp == nil {
		err = fmt.Errorf("task: what the same request stored holds no more: %w", backends.ErrConflict)
	}
	return resp, err
}

// replayed reports what an earlier call with the key of the request wrote. There is no
// response if there was none, or what it wrote holds no more.
func (s *summary) replayed(ctx context.Context) (*SummaryResponse, error) {
	for {
		applied, err := s.m.keeper.Replayed(ctx, s.workspace, s.key, nil)
		if err != nil || applied == nil {
			return nil, err
		}
		if resp, err := s.replay(ctx, applied); err != nil || resp != nil {
			return resp, err
		}
	}
}

// replay reports what the first call with a key wrote, as it is now. If the key is not the
// caller's, and some of that holds no more, there is no response: another key, which
// follows from it, is that of the request from then on.
func (s *summary) replay(ctx context.Context, applied *store.Applied) (*SummaryResponse, error) {
	resp := &SummaryResponse{Replayed: true}
	for _, r := range applied.Results {
		held, err := s.m.keeper.Held(ctx, s.workspace, r.ID)
		if err != nil {
			return nil, err
		}
		now, err := s.m.head(ctx, s.workspace, held[r.ID])
		switch {
		case err != nil:
			return nil, err
		case now == nil && !s.own:
			s.key = "task/request/" + text.HashID(s.key)
			return nil, nil
		case now == nil:
			now = &backends.Memory{ID: r.ID}
		}
		resp.Items = append(resp.Items, backends.Item{Outcome: backends.OutcomeUnchanged, Memory: now.Clone()})
	}
	return resp, nil
}
