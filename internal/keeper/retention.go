// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	eraseBatch   = 1000 // memories that one write of a retention erases
	mostFailures = 10   // partitions that may fail before a retention gives up
)

// Retain implements [backends.Retainer].
func (m *Manager) Retain(ctx context.Context, q *backends.RetainRequest) (*backends.RetainReport, error) {
	k := m.keep
	if q == nil || k.config.Retention == nil {
		return nil, k.errorf("%w: a retention needs a request, and Config.Retention to say what to erase", backends.ErrInvalid)
	}
	r := k.newRetention(cmp.Or(q.Namespace, backends.DefaultNamespace))
	r.report.DryRun, r.progress = q.DryRun, q.Progress
	return r.report, r.run(ctx)
}

// retention is one run of a [backends.Retention] through a namespace.
type retention struct {
	*Keeper
	*backends.Retention
	report   *backends.RetainReport
	progress func(backends.Partition, *backends.RetainReport)
	sweeps   bool // in the background, and shares the work with other processes
}

func (k *Keeper) newRetention(namespace string) *retention {
	return &retention{Keeper: k, Retention: k.config.Retention, report: &backends.RetainReport{Namespace: namespace}}
}

func (r *retention) run(ctx context.Context) error {
	var failed []error
	for page := (store.Page{Limit: 1000}); ; {
		found, err := r.Store().Partitions(ctx, r.report.Namespace, page)
		if err != nil {
			return errors.Join(append(failed, r.errorf("retention: listing partitions: %w", err))...)
		}
		for _, p := range found.Partitions {
			if r.sweeps { // a sweep must not take all of a store, nor go in step with others
				time.Sleep(rand.N(2 * sweepPause))
			}
			if err := r.partition(ctx, p); err != nil && !errors.Is(err, backends.ErrForgotten) { // else nothing is left of it
				failed = append(failed, r.errorf("retention in %s: %w", p, err))
			}
			if ctx.Err() != nil || len(failed) == mostFailures {
				return errors.Join(failed...)
			}
		}
		if page.Cursor = found.Next; page.Cursor == "" {
			return errors.Join(append(failed, r.reclaim(ctx))...)
		}
	}
}

// reclaim gives back the room of what was erased.
func (r *retention) reclaim(ctx context.Context) error {
	files, ok := r.Store().(store.Reclaimer)
	if !ok || len(r.report.Erased) == 0 || r.report.DryRun {
		return nil
	}
	return files.Reclaim(ctx)
}

// partition goes through one partition, unless another process did, or does.
func (r *retention) partition(ctx context.Context, p backends.Partition) error {
	ctx, err := store.Begin(ctx, r.Store(), p)
	if err != nil {
		return err
	}
	since, due, err := r.enter(ctx, p)
	if err != nil || !due {
		return err
	}
	left, err := r.sessions(ctx, p)
	if err == nil && (left == 0 || len(r.Rules) > 0) {
		err = Retry(ctx, func() error {
			memories, err := r.memories(ctx, p, since)
			left += memories
			return err
		})
	}
	if err != nil {
		return err
	}
	if left == 0 && !r.report.DryRun { // the mark must not be what is left
		err = r.Store().PutBlob(ctx, p, hidden, r.config.Name, nil)
	}
	r.report.Partitions++
	if r.progress != nil {
		r.progress(p, r.report)
	}
	return err
}

// memories erases those of a partition that a rule names, and returns how many stay. One that
// changed since it was read is ErrConflict: it is to be looked at again.
func (r *retention) memories(ctx context.Context, p backends.Partition, since time.Time) (int, error) {
	all, core, err := r.read(ctx, p)
	if err != nil {
		return 0, err
	}
	why := judge(r.Rules, all, r.Now(), since)
	going := slices.DeleteFunc(slices.Clone(all), func(m *backends.Memory) bool { return why[m.ID] == "" })
	for part := range slices.Chunk(going, eraseBatch) {
		b := &store.Batch{}
		for _, m := range part {
			erase := store.Erase(m.ID)
			erase.Expect = m.Version
			b.Mutations = append(b.Mutations, erase)
		}
		if !r.report.DryRun {
			if _, err := r.Store().Apply(ctx, p, b); err != nil {
				return 0, err
			}
		}
		for _, m := range part {
			r.add(backends.RetainItem{Partition: p, ID: m.ID, Kind: m.Kind, Reason: why[m.ID]})
		}
	}
	r.report.Memories += len(all)
	return len(all) - len(going) + core, nil
}

// add reports one thing that goes.
func (r *retention) add(item backends.RetainItem) {
	out := r.report
	if out.Erased == nil {
		out.Erased = map[backends.RetainReason]map[backends.Kind]int{}
	}
	if out.Erased[item.Reason] == nil {
		out.Erased[item.Reason] = map[backends.Kind]int{}
	}
	out.Erased[item.Reason][item.Kind]++
	if out.DryRun && len(out.Items) < backends.MaxRetainItems {
		out.Items = append(out.Items, item)
	}
}

// read returns the memories of a partition without their texts, in the order stored, and how
// many core blocks there are beside. It reads the store: the ranker's room is for those who
// are being talked to.
func (r *retention) read(ctx context.Context, p backends.Partition) (all []*backends.Memory, core int, err error) {
	byID := map[string]*backends.Memory{}
	for page := (&store.ChangeSet{More: true}); page.More; {
		if page, err = r.Store().Changes(ctx, p, page.Cursor); err != nil {
			return nil, 0, err
		}
		if page.Reset {
			clear(byID)
		}
		for i := range page.Records {
			m := page.Records[i].Memory
			m.Text, m.WhenToUse = "", ""
			byID[m.ID] = &m
		}
		for _, id := range page.Removed {
			delete(byID, id)
		}
	}
	all = slices.SortedFunc(maps.Values(byID), inOrder)
	all = slices.DeleteFunc(all, func(m *backends.Memory) bool { return m.Kind.Traits().InPrompt })
	return all, len(byID) - len(all), nil
}

// judge says which memories go, and why. since is when uses began to be counted.
func judge(rules []backends.RetentionRule, all []*backends.Memory, now, since time.Time) map[string]backends.RetainReason {
	why := map[string]backends.RetainReason{}
	for _, rule := range rules {
		holding := map[backends.Kind][]*backends.Memory{}
		for _, m := range all {
			switch {
			case why[m.ID] != "" || len(rule.Kinds) > 0 && !slices.Contains(rule.Kinds, m.Kind):
			case reason(rule, m, now, since) != "":
				why[m.ID] = reason(rule, m, now, since)
			case rule.AtMost > 0 && ended(m, now).IsZero():
				holding[m.Kind] = append(holding[m.Kind], m)
			}
		}
		for _, of := range holding {
			slices.SortStableFunc(of, func(a, b *backends.Memory) int {
				first, _ := a.Uses()
				second, _ := b.Uses()
				return cmp.Compare(first, second)
			})
			for _, m := range of[:max(0, len(of)-rule.AtMost)] {
				why[m.ID] = backends.RetainSurplus
			}
		}
	}
	takeSources(all, why, now)
	return why
}

// reason says by which time of a rule a memory goes; empty: by none.
func reason(rule backends.RetentionRule, m *backends.Memory, now, since time.Time) backends.RetainReason {
	over := func(d time.Duration, from time.Time) bool { return d > 0 && now.Sub(from) >= d }
	end := ended(m, now)
	_, used := m.Uses()
	switch {
	case over(rule.OlderThan, m.Created):
		return backends.RetainOlder
	case !end.IsZero() && over(rule.EndedFor, end):
		return backends.RetainEnded
	case end.IsZero() && over(rule.UnusedFor, slices.MaxFunc([]time.Time{m.Created, m.Updated, used, since}, time.Time.Compare)):
		return backends.RetainUnused
	}
	return ""
}

// ended returns since when a memory is known not to hold; zero: it holds. The day that it was
// said to end on may be long ago.
func ended(m *backends.Memory, now time.Time) time.Time {
	switch {
	case !m.Active():
		return m.Updated
	case m.Expired(now):
		return m.Expires
	}
	return time.Time{}
}

// takeSources has the episodes go that taught a memory which ended and goes, and nothing that
// stays: that memory kept them out of answers.
func takeSources(all []*backends.Memory, why map[string]backends.RetainReason, now time.Time) {
	type message struct{ session, id string }
	end, stays := map[message]bool{}, map[message]bool{}
	for _, m := range all {
		for _, id := range m.Origin.MessageIDs {
			at := message{m.Origin.Session, id}
			switch {
			case m.Kind == backends.KindEpisode:
			case why[m.ID] == "":
				stays[at] = true
			case !ended(m, now).IsZero():
				end[at] = true
			}
		}
	}
	for _, m := range all {
		for _, id := range m.Origin.MessageIDs {
			at := message{m.Origin.Session, id}
			if m.Kind == backends.KindEpisode && why[m.ID] == "" && end[at] && !stays[at] {
				why[m.ID] = backends.RetainSource
			}
		}
	}
}

// sessions ends those of a partition whose time is over, and returns how many stay.
func (r *retention) sessions(ctx context.Context, p backends.Partition) (stay int, err error) {
	for q := (store.SessionQuery{Partition: &p, Page: store.Page{Limit: 1000}}); ; {
		page, err := r.Store().List(ctx, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Sessions {
			over, err := r.end(ctx, &page.Sessions[i])
			if err != nil {
				return 0, err
			}
			if over {
				r.add(backends.RetainItem{Partition: p, ID: page.Sessions[i].ID, Reason: backends.RetainSession})
			} else {
				stay++
			}
		}
		if q.Page.Cursor = page.Next; page.Next == "" {
			return stay, nil
		}
	}
}

// over reports whether a session outlived its last message for too long.
func (r *retention) over(ctx context.Context, s *store.Session) (bool, error) {
	life := r.Sessions
	if s.Pending() {
		life *= 2
	}
	if life == 0 || r.Now().Sub(s.Created) < life { // the log need not be read
		return false, nil
	}
	last, err := r.Store().Read(ctx, s.Partition, s.ID, store.Range{Limit: 1, Last: true})
	return err == nil && (len(last) == 0 || r.Now().Sub(last[0].Time) >= life), err
}

// end ends a session whose time is over, and reports whether it is: one that goes on meanwhile
// stays. It expires, since a message that comes now must not be deleted with it; a blob for
// the next session of that id erases what the store still has of the one that expired.
func (r *retention) end(ctx context.Context, s *store.Session) (bool, error) {
	over, err := r.over(ctx, s)
	if err != nil || !over || r.report.DryRun {
		return over, err
	}
	now := r.Now()
	_, err = r.Store().Update(ctx, s.Partition, &store.SessionUpdate{Session: s.ID, Version: s.Version, Expires: &now})
	if errors.Is(err, backends.ErrConflict) || errors.Is(err, backends.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = r.Store().PutBlob(ctx, s.Partition, s.ID, hidden, []byte{})
	}
	if err == nil {
		err = r.Store().PutBlob(ctx, s.Partition, s.ID, hidden, nil)
	}
	return err == nil, err
}
