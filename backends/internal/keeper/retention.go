// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

const (
	maxItems     = 1000                // finds that the report of a dry run lists
	eraseBatch   = 1000                // memories that one write of a retention erases
	mostFailures = 10                  // partitions that may fail before a retention gives up
	usesEvery    = time.Minute         // how often uses are stored
	hidden       = "einomem/retention" // the session of marks: conversations have other ids
)

// checkRetention returns a copy with the defaults filled in.
func checkRetention(r backends.Retention) (*backends.Retention, error) {
	for i, rule := range r.Rules {
		all := []time.Duration{rule.OlderThan, rule.EndedFor, rule.UnusedFor, time.Duration(rule.AtMost)}
		if slices.Min(all) < 0 || slices.Max(all) == 0 || slices.Contains(rule.Kinds, backends.KindCore) {
			return nil, fmt.Errorf("Config.Retention.Rules[%d]: %w: set one of the times or AtMost, and none below 0; core blocks always stay", i, backends.ErrInvalid)
		}
	}
	work.Default(&r.Every, 24*time.Hour)
	work.Default(&r.Namespaces, []string{backends.DefaultNamespace})
	if len(r.Rules) == 0 || r.Every > 0 && r.Every < time.Minute {
		return nil, fmt.Errorf("Config.Retention: %w: it needs Rules, and an Every (%s) of at least a minute", backends.ErrInvalid, r.Every)
	}
	r.Rules, r.Namespaces = slices.Clone(r.Rules), slices.Clone(r.Namespaces)
	return &r, nil
}

// Start begins the background work of Config.Retention: it sweeps at once and then in
// intervals, and stores uses. Close ends it.
func (k *Keeper) Start() {
	ctx := k.life.Running()
	if k.counts() { // Close must keep the uses that are being stored
		_ = k.life.Every(ctx, "uses", usesEvery, func(ctx context.Context) error { return k.storeUses(context.WithoutCancel(ctx)) })
	}
	if r := k.config.Retention; r != nil && r.Every > 0 {
		_ = k.life.Every(ctx, "retention", r.Every, k.sweep)
	}
}

// tell passes an error that has no caller to Config.OnError.
func (k *Keeper) tell(ctx context.Context, _ string, err error) { k.config.OnError(ctx, err) }

// Stop refuses further calls, ends the sweep under way and waits for the calls, at most until ctx
// ends. It may be called again.
func (k *Keeper) Stop(ctx context.Context) error {
	k.life.Cancel()
	if err := k.life.Drain(ctx); err != nil {
		return k.errorf("closing: %w", err)
	}
	return nil
}

// Close is Stop, and then stores the counted uses and closes the ranker. The store stays open.
func (k *Keeper) Close(ctx context.Context) error {
	if err := k.Stop(ctx); err != nil { // calls need the ranker
		return err
	}
	return errors.Join(k.storeUses(ctx), k.config.Ranker.Close())
}

// Retain applies Config.Retention now, and reports what it erased, or in a dry run would
// erase. A report beside an error covers the work before it; repeat the call to go on. The
// others go on after a partition fails, until ten failed. ErrInvalid without a Retention.
func (m *Manager) Retain(ctx context.Context, q *backends.RetainRequest) (*backends.RetainReport, error) {
	k := m.keep
	if q == nil || k.config.Retention == nil {
		return nil, k.errorf("%w: a retention needs a request, and Config.Retention to say what to erase", backends.ErrInvalid)
	}
	r := k.newRetention(q.Namespace)
	r.report.DryRun, r.progress = q.DryRun, q.Progress
	return r.report, r.run(ctx)
}

// sweep applies the retention to the due partitions of each namespace.
func (k *Keeper) sweep(ctx context.Context) error {
	var errs []error
	for _, namespace := range k.config.Retention.Namespaces {
		r := k.newRetention(namespace)
		r.sweeps = true
		errs = append(errs, r.run(ctx))
		if r.OnSweep != nil {
			r.OnSweep(ctx, r.report)
		}
	}
	return errors.Join(errs...)
}

// retention is one run of a [backends.Retention] through a namespace.
type retention struct {
	*Keeper
	*backends.Retention
	report   *backends.RetainReport
	progress func(backends.Partition, *backends.RetainReport)
	sweeps   bool // it runs in the background, and shares the work with other processes
}

func (k *Keeper) newRetention(namespace string) *retention {
	return &retention{Keeper: k, Retention: k.config.Retention, report: &backends.RetainReport{
		Namespace: cmp.Or(namespace, backends.DefaultNamespace), Erased: map[backends.RetainReason]int{},
	}}
}

func (r *retention) run(ctx context.Context) error {
	var failed []error
	for page := (store.Page{Limit: 1000}); ; {
		found, err := r.Store().Partitions(ctx, r.report.Namespace, page)
		if err != nil {
			return errors.Join(append(failed, r.errorf("retention: listing partitions: %w", err))...)
		}
		all := found.Partitions
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) // out of step with other processes
		for _, p := range all {
			if err := r.partition(ctx, p); err != nil && !errors.Is(err, backends.ErrForgotten) { // a forgotten partition is empty
				failed = append(failed, r.errorf("retention in %s: %w", p, err))
			}
			if ctx.Err() != nil || len(failed) == mostFailures {
				return errors.Join(failed...)
			}
		}
		if page.Cursor = found.Next; page.Cursor == "" {
			break
		}
	}
	if files, ok := r.Store().(store.Reclaimer); ok && len(r.report.Erased) > 0 && !r.report.DryRun {
		failed = append(failed, files.Reclaim(ctx))
	}
	return errors.Join(failed...)
}

// mark is a partition's record of the sweeps of a backend. It is a blob: searches and
// listings pass it by, and a Drop erases it.
type mark struct {
	Since time.Time `json:"since"`          // when uses began to be counted
	Swept time.Time `json:"swept,omitzero"` // when the last sweep began
}

// partition goes through one partition. In the background it skips a partition that any
// process began with of late. A process that dies in one leaves the rest to the next
// sweep.
func (r *retention) partition(ctx context.Context, p backends.Partition) error {
	ctx, err := store.Begin(ctx, r.Store(), p)
	if err != nil {
		return err
	}
	now := r.Now()
	m, err := r.mark(ctx, p)
	if errors.Is(err, backends.ErrNotFound) {
		m, err = &mark{Since: now}, nil
	}
	if err != nil {
		return err
	}
	if ago := now.Sub(m.Swept); r.sweeps && ago >= 0 && ago < r.Every*9/10 { // timers are inexact, and clocks may have been wrong
		return nil
	}
	if r.sweeps {
		m.Swept = now
	}
	if !r.report.DryRun {
		err = r.putMark(ctx, p, m)
	}
	if err != nil {
		return err
	}
	err = store.OnConflict(ctx, func() error {
		left, err := r.memories(ctx, p, m.Since)
		if err == nil && left == 0 && !r.report.DryRun { // the mark must not keep an empty partition
			err = r.putMark(ctx, p, nil)
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.report.Partitions++; r.progress != nil {
		r.progress(p, r.report)
	}
	return nil
}

// mark returns a partition's record of sweeps and uses, or ErrNotFound.
func (k *Keeper) mark(ctx context.Context, p backends.Partition) (*mark, error) {
	m := &mark{}
	data, err := k.Store().GetBlob(ctx, p, hidden, k.config.Name)
	if err == nil {
		err = json.Unmarshal(data, m)
	}
	return m, err
}

// putMark writes the mark of a partition, or removes it.
func (k *Keeper) putMark(ctx context.Context, p backends.Partition, m *mark) (err error) {
	var data []byte
	if m != nil {
		data, err = json.Marshal(m)
	}
	if err == nil {
		err = k.Store().PutBlob(ctx, p, hidden, k.config.Name, data)
	}
	return err
}

// memories erases the memories of a partition that a rule names, and returns how many stay. A
// memory that changed since it was read is ErrConflict: it must be looked at again. The
// method reads the store: the ranker's room is for people in a conversation.
func (r *retention) memories(ctx context.Context, p backends.Partition, since time.Time) (int, error) {
	held, _, err := store.All(ctx, r.Store(), p, func(m *store.Record) { m.Text, m.WhenToUse, m.Vector = "", "", nil })
	if err != nil {
		return 0, err
	}
	var all []*backends.Memory // in the order stored
	for _, m := range held {
		if !m.Kind.Traits().InPrompt {
			all = append(all, &m.Memory)
		}
	}
	slices.SortFunc(all, inOrder)
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
			r.report.Erased[why[m.ID]]++
			if r.report.DryRun && len(r.report.Items) < maxItems {
				r.report.Items = append(r.report.Items, backends.RetainItem{Partition: p, ID: m.ID, Kind: m.Kind, Reason: why[m.ID]})
			}
		}
	}
	r.report.Memories += len(all)
	return len(held) - len(going), nil
}

// judge returns the memories that go, with the reason. since is when uses began to be
// counted.
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

// reason returns the time limit of a rule by which a memory goes; empty: it stays.
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

// ended returns when a memory was found to have ended; zero: it holds. The day of its end in
// the world may be long before.
func ended(m *backends.Memory, now time.Time) time.Time {
	switch {
	case !m.Active():
		return m.Updated
	case m.Expired(now):
		return m.Expires
	}
	return time.Time{}
}

// takeSources adds the episodes that taught only memories which ended and go: those memories
// kept them out of answers.
func takeSources(all []*backends.Memory, why map[string]backends.RetainReason, now time.Time) {
	type message struct{ session, id string }
	stays := map[message]bool{} // whether a memory that a message taught stays
	for _, m := range all {
		if m.Kind == backends.KindEpisode || why[m.ID] != "" && ended(m, now).IsZero() {
			continue
		}
		for _, id := range m.Origin.MessageIDs {
			at := message{m.Origin.Session, id}
			stays[at] = stays[at] || why[m.ID] == ""
		}
	}
	for _, m := range all {
		for _, id := range m.Origin.MessageIDs {
			stay, known := stays[message{m.Origin.Session, id}]
			if m.Kind == backends.KindEpisode && why[m.ID] == "" && known && !stay {
				why[m.ID] = backends.RetainEnded
			}
		}
	}
}
