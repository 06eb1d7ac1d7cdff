// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/work"
)

const (
	taskSweep, taskUses = "retention", "uses" // what is done in the background

	hidden     = "einomem/retention"   // the session of marks: no conversation has that id
	sweepPause = 20 * time.Millisecond // between two partitions of a sweep, on average
)

// checkRetention returns a copy with the defaults filled in.
func checkRetention(r backends.Retention) (*backends.Retention, error) {
	for i, rule := range r.Rules {
		all := []time.Duration{rule.OlderThan, rule.EndedFor, rule.UnusedFor, time.Duration(rule.AtMost)}
		if slices.Min(all) < 0 || slices.Max(all) == 0 || slices.Contains(rule.Kinds, backends.KindCore) {
			return nil, fmt.Errorf("Config.Retention.Rules[%d]: %w: one of the times and AtMost is above 0, none below, and core blocks always stay", i, backends.ErrInvalid)
		}
		r.CountUses = r.CountUses || rule.UnusedFor > 0 || rule.AtMost > 0
	}
	config.Default(&r.Every, 24*time.Hour)
	config.Default(&r.Namespaces, []string{backends.DefaultNamespace})
	if r.Sessions < 0 || r.Every > 0 && r.Every < time.Minute {
		return nil, fmt.Errorf("Config.Retention: %w: Sessions %s is at least 0, and Every %s a minute", backends.ErrInvalid, r.Sessions, r.Every)
	}
	r.Rules, r.Namespaces = slices.Clone(r.Rules), slices.Clone(r.Namespaces)
	return &r, nil
}

// background is what a keeper does by itself: it sweeps, and it stores uses.
type background struct {
	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	due    *work.List[string]
	uses   uses
}

func (k *Keeper) prepare() {
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.due = work.NewList(2, func(what string) {
		do, every, ctx := k.sweep, k.config.Retention.Every, k.ctx
		if what == taskUses { // Stop must not lose what is being stored
			do, every, ctx = k.storeUses, usesEvery, context.WithoutCancel(k.ctx)
		}
		if err := work.Catch(what, func() error { return do(ctx) }); err != nil && k.ctx.Err() == nil {
			work.Report(k.ctx, func(ctx context.Context, _ string, err error) { k.config.OnError(ctx, err) }, what, err)
		}
		k.due.AddAfter(what, every)
	})
	k.uses.counts = map[backends.Partition]map[string]int{}
}

// Start begins what Config.Retention asks for in the background: it sweeps at once and then
// in intervals, and stores uses. Stop ends it.
func (k *Keeper) Start() {
	if r := k.config.Retention; r != nil && r.CountUses {
		k.due.Add(taskUses)
	}
	if r := k.config.Retention; r != nil && r.Every > 0 && (len(r.Rules) > 0 || r.Sessions > 0) {
		k.due.Add(taskSweep)
	}
}

// Stop ends the sweep under way and stores the uses that were counted. It waits no longer
// than ctx, and may be called again. The ranker and the store stay open.
func (k *Keeper) Stop(ctx context.Context) error {
	k.cancel()
	k.due.Close()
	_, err := work.Await(ctx, "retention", func() (any, error) { k.due.Wait(); return nil, nil })
	if err != nil {
		return k.errorf("stopping what runs in the background: %w", err)
	}
	return k.storeUses(ctx)
}

// sweep applies the retention to what is due of each namespace.
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

// mark is what a partition knows of the sweeps of a backend. It is a blob, which searches
// and listings do not meet, and which a Drop erases.
type mark struct {
	Since time.Time `json:"since"`          // when uses began to be counted
	Swept time.Time `json:"swept,omitzero"` // when the last sweep began
}

// enter begins with a partition, and returns since when uses are counted. In the background
// a partition is not due that any process began with of late. One that dies in it leaves what
// it did not erase to the next sweep.
func (r *retention) enter(ctx context.Context, p backends.Partition) (since time.Time, due bool, err error) {
	m, now := &mark{Since: r.Now()}, r.Now()
	data, err := r.Store().GetBlob(ctx, p, hidden, r.config.Name)
	if err == nil {
		err = json.Unmarshal(data, m)
	}
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return since, false, err
	}
	ago := now.Sub(m.Swept) // below 0 after a clock that was wrong
	if r.sweeps {
		if ago >= 0 && ago < r.Every*9/10 { // timers are not exact
			return since, false, nil
		}
		m.Swept = now
	}
	if r.report.DryRun {
		return m.Since, true, nil
	}
	if data, err = json.Marshal(m); err != nil {
		return since, false, err
	}
	return m.Since, true, r.Store().PutBlob(ctx, p, hidden, r.config.Name, data)
}
