// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Join returns two backends as one, so that an agent has one note and one set of tools.
// The backend facts, such as mem0's, learns what people say. The backend experience, such
// as reme's, learns from what agents do. The kind of a memory says whose it is: those
// with [KindTraits].Experience are experience's, all others are facts'. If one of the two
// is nil, Join returns the other.
//
//	Search   asks both at the same time, each for its kinds, and merges the answers. Each
//	         half keeps a fifth of the places, if it has hits. If one half fails, Search
//	         returns the other's hits, and Degraded has the error. Standing comes from
//	         both halves, Whole from facts.
//	Add      gives a conversation first to facts and then, with [KindTask], to experience,
//	         which learns from tasks alone: the words of a user are extracted once. A
//	         request with another Kind, or with Verbatim, goes to the half of that kind.
//	Manager  is implemented if both halves are one. It looks for an id in facts, then in
//	         experience. List lists facts first. DeleteAll reaches both halves.
//	Close    closes both halves.
//
// [As] finds the other abilities of a half: ToolRecorder, ToolGuide and Judge of
// experience, and where sessions are kept.
//
// A half takes part only if the scope names its partition; ErrNoScope means that neither
// did. Each half gets an idempotency key of its own, so a repeat after the failure of one
// half is harmless for the other. An error of experience comes with the response of facts,
// which are stored. The Checkpoint goes to the half that learns last, so it is written
// after both have learnt.
func Join(facts, experience Backend) Backend {
	switch {
	case facts == nil:
		return experience
	case experience == nil:
		return facts
	}
	j := &joined{facts: facts, experience: experience}
	first, manages := facts.(Manager)
	second, too := experience.(Manager)
	if manages && too {
		return &managed{joined: j, facts: first, experience: second}
	}
	return j
}

// joint is a backend with two halves.
type joint interface {
	halves() (facts, experience Backend)
}

// Parts returns the backends that b was joined from, experience before facts; b itself where
// it is a single backend.
func Parts(b Backend) []Backend {
	j, ok := b.(joint)
	if !ok {
		return []Backend{b}
	}
	facts, experience := j.halves()
	return append(Parts(experience), Parts(facts)...)
}

// As returns b as a T, such as a [Judge]: b itself, or the first of its [Parts] that is one.
func As[T any](b Backend) (T, bool) {
	for _, part := range append([]Backend{b}, Parts(b)...) {
		if t, ok := part.(T); ok {
			return t, true
		}
	}
	var none T
	return none, false
}

// AlwaysLearning returns the part of b that learns from every reply, and whether there is
// one: see [AlwaysLearner]. The returned backend searches as b does. It learns only where
// b always learns.
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

// Search implements [Backend]. Eino's callbacks get it as one search, with those of the halves inside.
func (j *joined) Search(ctx context.Context, r *SearchRequest) (*SearchResponse, error) {
	return Traced("Join", untraced{j}).Search(ctx, r)
}

// untraced is a joined backend as its callbacks see it.
type untraced struct{ *joined }

func (u untraced) Search(ctx context.Context, r *SearchRequest) (*SearchResponse, error) {
	return u.search(ctx, r)
}

func (j *joined) search(ctx context.Context, r *SearchRequest) (*SearchResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	var facts, experience SearchResponse
	var failed, failedToo error
	var both sync.WaitGroup
	both.Go(func() { facts, failed = ask(ctx, j.facts, r, kindsOf(r.Kinds, false)) })
	both.Go(func() { experience, failedToo = ask(ctx, j.experience, r, kindsOf(r.Kinds, true)) })
	both.Wait()
	err := named(failed, failedToo)
	if failed != nil && failedToo != nil {
		return nil, err
	}
	out := &SearchResponse{
		Hits: share(cmp.Or(r.TopK, 5), facts.Hits, experience.Hits), Standing: append(facts.Standing, experience.Standing...), Whole: facts.Whole,
		Degraded: errors.Join(err, facts.Degraded, experience.Degraded),
	}
	for _, h := range facts.Hits { // facts alone may be whole: its hits stay beside those of experience
		if facts.Whole && !slices.ContainsFunc(out.Hits, func(o Hit) bool { return o.ID == h.ID && o.Text == h.Text }) {
			out.Hits = append(out.Hits, h)
		}
	}
	return out, nil
}

// ask asks a half for its kinds. A half that lacks all of them takes no part. A panic of
// the half becomes an error, since it would end the process.
func ask(ctx context.Context, half Backend, r *SearchRequest, kinds []Kind) (out SearchResponse, err error) {
	if len(kinds) == 0 && len(r.Kinds) > 0 {
		return out, ErrNoScope
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("joined backend: %T: panic: %v", half, p)
		}
	}()
	q := *r
	q.Kinds = kinds
	resp, err := half.Search(ctx, &q)
	return *cmp.Or(resp, &SearchResponse{}), err
}

// kindsOf returns the kinds of asked that belong to a half. Without asked kinds, facts
// searches all that it has.
func kindsOf(asked []Kind, experience bool) []Kind {
	if len(asked) == 0 && experience {
		asked = slices.Sorted(maps.Keys(kinds))
	}
	return slices.DeleteFunc(slices.Clone(asked), func(k Kind) bool { return k.Traits().Experience != experience })
}

// share merges two answers into k hits. Each answer keeps a fifth, or one of two.
func share(k int, a, b []Hit) []Hit {
	least := min(k/2, max(1, k/5))
	mostA := k - min(least, len(b))
	mostB := k - min(least, len(a))
	hits := MergeHits(a[:min(len(a), mostA)], b[:min(len(b), mostB)])
	return hits[:min(len(hits), k)]
}

// named returns the errors of both halves. It drops ErrNoScope of one half: the other
// half answered for the scope.
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
		return nil, err
	}
	if facts != nil && facts.Queued { // the caller asks again
		done.Checkpoint = nil
	}
	experience, other := j.experience.Add(ctx, &done)
	switch {
	case errors.Is(other, ErrNoScope):
		return facts, err
	case other != nil:
		return facts, fmt.Errorf("joined backend, experience, which gets conversations with kind %s: %w", KindTask, other)
	}
	return together(facts, experience), nil
}

// together returns the responses of both halves as one. Either may be nil. The checkpoint
// comes from the half that learnt last.
func together(facts, experience *AddResponse) *AddResponse {
	out := &AddResponse{Replayed: true}
	for _, part := range []*AddResponse{facts, experience} {
		if part != nil {
			out.Items = append(out.Items, part.Items...)
			out.Usage.Add(part.Usage)
			out.Queued = out.Queued || part.Queued
			out.Replayed, out.Checkpointed = out.Replayed && part.Replayed, part.Checkpointed
		}
	}
	return out
}

// Forget implements [Forgetter], in both halves.
func (j *joined) Forget(ctx context.Context, r *ForgetRequest) (*Receipt, error) {
	out := &Receipt{}
	var errs [2]error
	for i, half := range []Backend{j.facts, j.experience} {
		f, ok := As[Forgetter](half)
		if !ok {
			return out, fmt.Errorf("joined backend: %w: %T cannot forget", ErrInvalid, half)
		}
		receipt, err := f.Forget(ctx, r)
		if receipt != nil {
			out.Join(receipt)
		}
		errs[i] = err
	}
	return out, named(errs[0], errs[1])
}

// Rollback implements [Rollbacker], in both halves.
func (j *joined) Rollback(ctx context.Context, r *RollbackRequest) (*RollbackReport, error) {
	out := &RollbackReport{Items: []Item{}}
	var errs [2]error
	for i, half := range []Backend{j.facts, j.experience} {
		b, ok := As[Rollbacker](half)
		if !ok {
			return out, fmt.Errorf("joined backend: %w: %T cannot roll back", ErrInvalid, half)
		}
		report, err := b.Rollback(ctx, r)
		if errs[i] = err; report != nil {
			listed := len(out.Items) // of facts: both halves may reach one store
			for _, item := range report.Items {
				if !slices.ContainsFunc(out.Items[:listed], func(o Item) bool { return o.Memory.ID == item.Memory.ID }) {
					out.Items = append(out.Items, item)
				}
			}
			out.Conflicts = union(out.Conflicts, report.Conflicts)
		}
	}
	return out, named(errs[0], errs[1])
}

// Used implements [UseCounter]: each half counts its own kinds.
func (j *joined) Used(ctx context.Context, s Scope, hits []Hit) {
	for i, half := range []Backend{j.facts, j.experience} {
		if counter, ok := half.(UseCounter); ok {
			counter.Used(ctx, s, slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return h.Kind.Traits().Experience != (i == 1) }))
		}
	}
}

// Close implements [Backend].
func (j *joined) Close(ctx context.Context) error {
	return errors.Join(j.facts.Close(ctx), j.experience.Close(ctx))
}

// managed is two backends as one with a [Manager].
type managed struct {
	*joined
	facts, experience Manager
}

// inTurn asks facts and then experience. Experience answers where facts lack the id, or
// where the scope leaves out their partition.
func inTurn[T any](m *managed, do func(Manager) (T, error)) (T, error) {
	got, err := do(m.facts)
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNoScope) {
		return got, err
	}
	other, failed := do(m.experience)
	if errors.Is(failed, ErrNoScope) {
		return got, err
	}
	return other, failed
}

// Get implements [Manager].
func (m *managed) Get(ctx context.Context, r *GetRequest) (*Memory, error) {
	return inTurn(m, func(half Manager) (*Memory, error) { return half.Get(ctx, r) })
}

// Update implements [Manager].
func (m *managed) Update(ctx context.Context, r *UpdateRequest) (*Memory, error) {
	return inTurn(m, func(half Manager) (*Memory, error) { return half.Update(ctx, r) })
}

// Delete implements [Manager].
func (m *managed) Delete(ctx context.Context, r *DeleteRequest) error {
	_, err := inTurn(m, func(half Manager) (none struct{}, err error) { return none, half.Delete(ctx, r) })
	return err
}

// History implements [Manager].
func (m *managed) History(ctx context.Context, r *HistoryRequest) ([]Event, error) {
	return inTurn(m, func(half Manager) ([]Event, error) { return half.History(ctx, r) })
}

// DeleteAll implements [Manager].
func (m *managed) DeleteAll(ctx context.Context, r *DeleteAllRequest) (int, error) {
	facts, err := m.facts.DeleteAll(ctx, r)
	experience, other := m.experience.DeleteAll(ctx, r)
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
	if !second {
		out, err := page(ctx, m.facts, r, kindsOf(r.Kinds, false), cursor)
		if err == nil && out.Next == "" {
			out.Next = ofExperience
		}
		if !errors.Is(err, ErrNoScope) {
			return out, err
		}
		cursor = ""
	}
	out, err := page(ctx, m.experience, r, kindsOf(r.Kinds, true), cursor)
	switch {
	case errors.Is(err, ErrNoScope) && second:
		return &ListResponse{}, nil
	case err == nil && out.Next != "":
		out.Next = ofExperience + out.Next
	}
	return out, err
}

// page lists a page of a half. A half that lacks all of the kinds takes no part.
func page(ctx context.Context, half Manager, r *ListRequest, kinds []Kind, cursor string) (*ListResponse, error) {
	if len(kinds) == 0 && len(r.Kinds) > 0 {
		return nil, ErrNoScope
	}
	q := *r
	q.Kinds, q.Cursor = kinds, cursor
	return half.List(ctx, &q)
}
