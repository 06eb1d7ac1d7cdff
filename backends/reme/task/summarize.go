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

	Trajectories []Trajectory // Attempts, with their scores.
	// Candidates are ready experiences of a person or an agent, which skip extraction and judge.
	// WhenToUse and Text count, which are required, and Quality, Metadata, Observed, and session
	// and turn of its Origin. Optional.
	Candidates []backends.Memory

	// Simple asks the model one question a trajectory, and skips the judge. Optional.
	Simple bool
	// IdempotencyKey makes a repeated call harmless and free: it reports the results of the first
	// call as unchanged. A failed call leaves the key unused. At most 480 bytes. Optional. Defaults
	// to a key that follows from the request, the prompts and the thresholds; it counts as long as
	// all its results are current. It ignores a change of the model: give a key then.
	IdempotencyKey string

	Metadata map[string]any // Kept with each memory, except for the keys of the package comment. JSON values. Optional.
	Expires  time.Time      // When the memories end. Optional. By default they stay.
	Author   string         // The writer. Optional. Defaults to Config.Author.
}

// SummaryResponse is the answer to a [SummaryRequest].
type SummaryResponse struct {
	// Items has one entry for each experience that came through the judge. Added: stored.
	// Superseded: merged with Previous, which the merged one replaces. Updated: it agrees with
	// Memory in other words, which is counted there, or it holds longer than Memory did, which
	// holds as long now. Unchanged: known word for word, or a duplicate of another of the request.
	// A repeated request has the memories of the first one, as they are now.
	Items []backends.Item
	// Memories are the newly stored ones alone.
	Memories []backends.Memory
	Report   backends.Report
	Replayed bool // the request was known, and the call did nothing
}

// maxKey is the longest idempotency key of a request, in bytes: stores take 512.
const maxKey = 480

// summary is a request to learn under way.
type summary struct {
	m         *Memory
	run       *ask.Run
	scope     backends.Scope
	workspace backends.Partition
	key       string // of the batch; empty for a batch without a key
	own       bool   // the key is the caller's
	learns    bool   // from trajectories
	metadata  map[string]any
	expires   time.Time
	author    string
	answers   map[string]question    // the answered questions, by their keys
	decisions map[[2]string]decision // by the words of the new and of the known experience
}

// Summarize learns from trajectories: it extracts, lets a judge look, and stores all but
// duplicates.
//
// All or nothing: after a failed step nothing is stored, and no further question is asked. It
// returns both the response, whose report names the failure, and the error; a repeat in this
// process asks only the open questions. Errors: ErrNoScope without a workspace, ErrInvalid for an
// unusable request, ErrUnavailable, ErrModel, ErrConflict if the workspace kept changing.
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
	if err == nil && resp == nil && s.learns { // a model call is wasted while the embedder fails
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

// shown returns the part of a response that the caller may see.
func (s *summary) shown(resp *SummaryResponse) *SummaryResponse {
	s.m.keeper.ShowItems(s.scope, s.workspace, resp.Items)
	for i := range resp.Memories {
		resp.Memories[i] = s.m.keeper.Shown(s.scope, s.workspace, resp.Memories[i])
	}
	return resp
}

// maxAnswers is how many answers the process keeps for a workspace whose requests fail.
const maxAnswers = 256

// learn carries a request out. After a failure it keeps the model's answers for the next request of
// the workspace; a success drops them.
func (s *summary) learn(ctx context.Context, r *SummaryRequest) (resp *SummaryResponse, err error) {
	if kept, ok := s.m.answers.LoadAndDelete(s.workspace); ok {
		s.answers = kept.(map[string]question)
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
		metadata: r.Metadata, expires: r.Expires, author: cmp.Or(r.Author, author), answers: map[string]question{}, decisions: map[[2]string]decision{},
	}, nil
}

// requestKey returns the caller's key, else one that follows from the redacted material and the
// settings; it is empty for a request outside of JSON.
func (m *Memory) requestKey(r *SummaryRequest) string {
	if r.IdempotencyKey != "" {
		return "task/summary/" + r.IdempotencyKey
	}
	c := &m.config
	raw, err := json.Marshal(m.keeper.RedactJSON([]any{
		r.Trajectories, r.Candidates, r.Simple, r.Metadata, r.Expires,
		m.language, c.Threshold, c.SimpleThreshold, c.MinQuality, c.KeepQuery,
	}))
	if err != nil {
		return ""
	}
	return "task/request/" + text.HashID(string(raw))
}

// candidates returns the experiences of a request, after the judge.
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

// store stores the new experiences, in one atomic batch. It looks at the workspace as it is now,
// and again if that changes meanwhile.
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
		err = fmt.Errorf("task: the memories of the same request are not current any more: %w", backends.ErrConflict)
	}
	return resp, err
}

// replayed reports the writes of an earlier call with the key of the request. The response is nil
// if there was no such call, or if its results are not current.
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

// replay reports the writes of the first call with a key, as they are now. If the key is derived
// and some result is not current, the response is nil. The request then takes another key, which
// follows from the old one.
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
