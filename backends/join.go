// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Join returns two backends as one, so that an agent has one note and one set of tools:
// facts, such as mem0's, learns what people say, and experience, such as reme's, learns
// from what agents do. The kind of a memory says whose it is: those with
// [KindTraits].Experience are experience's, all others are facts'. If one of the two is
// nil, Join returns the other.
//
//	Search   asks both at the same time, each for its kinds, and merges the answers. Of
//	         the places, each half keeps a fifth, if it has hits. If one half
//	         fails, the other's hits are returned, and Degraded says what failed.
//	Add      gives a conversation first to facts and then, with [KindTask], to experience,
//	         which learns from tasks alone: what a user said is extracted once. A
//	         request with another Kind, or with Verbatim, goes to the half of that kind.
//	Manager  and Exporter, if both halves are both. An id is looked for in facts, then in
//	         experience. List lists facts first. DeleteAll reaches both halves. Dump and
//	         Load reach one partition: that of facts, if the scope names it.
//	Close    closes both halves.
//
// What else a half can do is found by [As]: ToolRecorder, ToolGuide and Judge of
// experience, and where sessions are kept.
//
// A half whose partition the scope does not name takes no part; ErrNoScope means that
// neither did. Each half gets an idempotency key of its own, so that a repeat after the
// failure of one half does nothing in the other. The Checkpoint goes to the half that
// learns last, so that it is never written before both have learnt.
func Join(facts, experience Backend) Backend {
	switch {
	case facts == nil:
		return experience
	case experience == nil:
		return facts
	}
	j := &joined{facts: facts, experience: experience}
	m := &managed{joined: j}
	for i, half := range []Backend{facts, experience} {
		var isManager, isExporter bool
		m.managers[i], isManager = half.(Manager)
		m.exporters[i], isExporter = half.(Exporter)
		if !isManager || !isExporter {
			return j
		}
	}
	return m
}

// joint is a backend with two halves.
type joint interface {
	halves() (facts, experience Backend)
}

// As returns b as a T, such as a [Judge]: b itself, or the half of a joined backend that
// is one, experience before facts.
func As[T any](b Backend) (T, bool) {
	t, ok := b.(T)
	j, isJoined := b.(joint)
	if ok || !isJoined {
		return t, ok
	}
	facts, experience := j.halves()
	if t, ok = As[T](experience); ok {
		return t, true
	}
	return As[T](facts)
}

// AlwaysLearning returns the part of b that learns from every reply, and whether there is
// one: see [AlwaysLearner]. What it returns searches as b does, and learns nothing where b
// does not always learn.
func AlwaysLearning(b Backend) (Backend, bool) {
	if j, ok := b.(joint); ok {
		facts, experience := j.halves()
		f, first := AlwaysLearning(facts)
		e, second := AlwaysLearning(experience)
		return &joined{facts: f, experience: e}, first || second
	}
	if l, ok := b.(AlwaysLearner); ok && l.AlwaysLearns() {
		return b, true
	}
	return unlearning{b}, false
}

// unlearning is a backend that learns nothing.
type unlearning struct{ Backend }

func (unlearning) Add(context.Context, *AddRequest) (*AddResponse, error) {
	return &AddResponse{}, nil
}

var errNoRequest = fmt.Errorf("joined backend: %w: no request", ErrInvalid)

// joined is two backends as one.
type joined struct{ facts, experience Backend }

func (j *joined) halves() (facts, experience Backend) { return j.facts, j.experience }

// Search implements [Backend].
func (j *joined) Search(ctx context.Context, r *SearchRequest) (*SearchResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	facts, experience := &answer{half: "facts"}, &answer{half: "experience"}
	var both sync.WaitGroup
	both.Go(func() { facts.ask(ctx, j.facts, r, kindsOf(r.Kinds, false)) })
	both.Go(func() { experience.ask(ctx, j.experience, r, kindsOf(r.Kinds, true)) })
	both.Wait()
	if facts.err != nil && experience.err != nil {
		return nil, named(facts.err, experience.err)
	}
	return &SearchResponse{
		Hits:     share(cmp.Or(r.TopK, 5), facts.Hits, experience.Hits),
		Degraded: errors.Join(facts.degraded(), experience.degraded()),
	}, nil
}

// answer is what one half of a joined backend answers to a search.
type answer struct {
	SearchResponse
	half string
	err  error
}

// ask asks a half for its kinds. One that is asked for none of them takes no part. A panic
// of the half is an error, since it would end the process.
func (a *answer) ask(ctx context.Context, half Backend, r *SearchRequest, kinds []Kind) {
	a.err = ErrNoScope
	if len(kinds) == 0 && len(r.Kinds) > 0 {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("joined backend, %s: panic: %v", a.half, p)
		}
	}()
	q := *r
	q.Kinds = kinds
	resp, err := half.Search(ctx, &q)
	if a.err = err; resp != nil {
		a.SearchResponse = *resp
	}
}

// degraded returns what failed of the half while the other answered.
func (a *answer) degraded() error {
	if a.err == nil || errors.Is(a.err, ErrNoScope) {
		return a.Degraded
	}
	return fmt.Errorf("joined backend, %s: %w", a.half, a.err)
}

// kindsOf returns which of some kinds belong to a half; asked for none, facts searches all
// that it has.
func kindsOf(asked []Kind, experience bool) []Kind {
	if len(asked) == 0 && experience {
		asked = slices.Sorted(maps.Keys(kinds))
	}
	return slices.DeleteFunc(slices.Clone(asked), func(k Kind) bool { return k.Traits().Experience != experience })
}

// share merges two answers into k hits, of which each keeps a fifth, or one of two.
func share(k int, a, b []Hit) []Hit {
	least := min(k/2, max(1, k/5))
	mostA := k - min(least, len(b))
	mostB := k - min(least, len(a))
	hits := MergeHits(a[:min(len(a), mostA)], b[:min(len(b), mostB)])
	return hits[:min(len(hits), k)]
}

// named returns the errors of both halves, without that of one whose partition the scope
// does not name if the other has another.
func named(a, b error) error {
	switch {
	case errors.Is(a, ErrNoScope):
		return b
	case errors.Is(b, ErrNoScope):
		return a
	}
	return errors.Join(a, b)
}

// Add implements [Backend].
func (j *joined) Add(ctx context.Context, r *AddRequest) (*AddResponse, error) {
	switch {
	case r == nil:
		return nil, errNoRequest
	case r.Kind.Traits().Experience:
		return j.experience.Add(ctx, r)
	case r.Kind != "" || r.Verbatim:
		return j.facts.Add(ctx, r)
	}
	said, done := *r, *r
	said.Checkpoint = nil
	done.Kind = KindTask
	if r.IdempotencyKey != "" {
		said.IdempotencyKey, done.IdempotencyKey = r.IdempotencyKey+"/facts", r.IdempotencyKey+"/experience"
	}
	facts, err := j.facts.Add(ctx, &said)
	if err != nil && !errors.Is(err, ErrNoScope) {
		return nil, fmt.Errorf("joined backend, facts: %w", err)
	}
	experience, other := j.experience.Add(ctx, &done)
	switch {
	case errors.Is(other, ErrNoScope):
		return facts, err
	case other != nil:
		return nil, fmt.Errorf("joined backend, experience, which gets conversations with kind %s: %w", KindTask, other)
	}
	return together(facts, experience), nil
}

// together returns the responses of both halves as one. Either may be nil. The checkpoint
// is that of the half that learnt last.
func together(facts, experience *AddResponse) *AddResponse {
	switch {
	case facts == nil:
		return experience
	case experience == nil:
		return facts
	}
	out := *experience
	out.Items = slices.Concat(facts.Items, experience.Items)
	out.Usage.Add(facts.Usage)
	out.Replayed = facts.Replayed && experience.Replayed
	return &out
}

// Close implements [Backend].
func (j *joined) Close(ctx context.Context) error {
	return errors.Join(j.facts.Close(ctx), j.experience.Close(ctx))
}

// managed is two backends as one whose memories can be looked at and changed.
type managed struct {
	*joined
	managers  [2]Manager // of facts and of experience
	exporters [2]Exporter
}

// inTurn asks facts and then, where it does not have what is looked for, or the scope does
// not name its partition, experience.
func inTurn[Half, T any](halves [2]Half, do func(Half) (T, error)) (T, error) {
	got, err := do(halves[0])
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNoScope) {
		return got, err
	}
	other, failed := do(halves[1])
	if errors.Is(failed, ErrNoScope) {
		return got, err
	}
	return other, failed
}

// Get implements [Manager].
func (m *managed) Get(ctx context.Context, r *GetRequest) (*Memory, error) {
	return inTurn(m.managers, func(half Manager) (*Memory, error) { return half.Get(ctx, r) })
}

// Update implements [Manager].
func (m *managed) Update(ctx context.Context, r *UpdateRequest) (*Memory, error) {
	return inTurn(m.managers, func(half Manager) (*Memory, error) { return half.Update(ctx, r) })
}

// Delete implements [Manager].
func (m *managed) Delete(ctx context.Context, r *DeleteRequest) error {
	_, err := inTurn(m.managers, func(half Manager) (none struct{}, err error) { return none, half.Delete(ctx, r) })
	return err
}

// History implements [Manager].
func (m *managed) History(ctx context.Context, r *HistoryRequest) ([]Event, error) {
	return inTurn(m.managers, func(half Manager) ([]Event, error) { return half.History(ctx, r) })
}

// Dump implements [Exporter].
func (m *managed) Dump(ctx context.Context, s Scope, w io.Writer) (int, error) {
	return inTurn(m.exporters, func(half Exporter) (int, error) { return half.Dump(ctx, s, w) })
}

// Load implements [Exporter].
func (m *managed) Load(ctx context.Context, s Scope, r io.Reader) (int, error) {
	return inTurn(m.exporters, func(half Exporter) (int, error) { return half.Load(ctx, s, r) })
}

// DeleteAll implements [Manager].
func (m *managed) DeleteAll(ctx context.Context, r *DeleteAllRequest) (int, error) {
	facts, err := m.managers[0].DeleteAll(ctx, r)
	experience, other := m.managers[1].DeleteAll(ctx, r)
	return facts + experience, named(err, other)
}

// ofExperience begins the cursors of pages that experience lists.
const ofExperience = "experience:"

// List implements [Manager].
func (m *managed) List(ctx context.Context, r *ListRequest) (*ListResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	cursor, second := strings.CutPrefix(r.Cursor, ofExperience)
	if second {
		return m.page(ctx, r, 1, cursor)
	}
	first, err := m.page(ctx, r, 0, cursor)
	if err == nil && first.Next == "" && len(first.Memories) > 0 {
		first.Next = ofExperience
	}
	if err == nil && first.Next != "" || err != nil && !errors.Is(err, ErrNoScope) {
		return first, err
	}
	next, other := m.page(ctx, r, 1, "")
	if errors.Is(other, ErrNoScope) {
		return first, err
	}
	return next, other
}

// page lists a page of one half, which is empty if none of its kinds is asked for.
func (m *managed) page(ctx context.Context, r *ListRequest, half int, cursor string) (*ListResponse, error) {
	q := *r
	q.Cursor, q.Kinds = cursor, kindsOf(r.Kinds, half == 1)
	if len(q.Kinds) == 0 && len(r.Kinds) > 0 {
		return &ListResponse{}, nil
	}
	resp, err := m.managers[half].List(ctx, &q)
	if err != nil || half == 0 || resp.Next == "" {
		return resp, err
	}
	return &ListResponse{Memories: resp.Memories, Next: ofExperience + resp.Next}, nil
}
