// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// Rollback takes back what a session, its messages or a source taught in a partition: see
// [backends.Rollbacker]. The function allowed returns the reason why a memory must stay, which
// is a conflict; it is optional. Up to 1,000 memories are taken back in one atomic write.
func Rollback(ctx context.Context, s Store, p backends.Partition, r *backends.RollbackRequest, allowed func(*backends.Memory) error) (*backends.RollbackReport, error) {
	switch {
	case r.Session == nil && r.Source == "":
		return nil, fmt.Errorf("rollback in %s: %w: name a session or a source", p, backends.ErrInvalid)
	case r.Session == nil && len(r.Messages) > 0:
		return nil, fmt.Errorf("rollback in %s: %w: name the session of the messages", p, backends.ErrInvalid)
	}
	if allowed == nil {
		allowed = func(*backends.Memory) error { return nil }
	}
	ctx, err := Begin(ctx, s, p)
	for try := 0; err == nil; try++ {
		b := &rollback{RollbackRequest: r, allowed: allowed, report: backends.RollbackReport{Items: []backends.Item{}}}
		if b.mending, err = mend(ctx, s, p); err == nil {
			err = b.run()
		}
		if err == nil {
			return &b.report, nil
		}
		if errors.Is(err, backends.ErrConflict) && try < retries {
			err = nil // something changed meanwhile: read again
		}
	}
	return nil, fmt.Errorf("rollback in %s: %w", p, err)
}

// rollback is one attempt of a call of Rollback.
type rollback struct {
	*backends.RollbackRequest
	*mending
	allowed func(*backends.Memory) error
	report  backends.RollbackReport
}

// added reports whether a memory is among those to take back.
func (b *rollback) added(m *backends.Memory) bool {
	named := func(id string) bool { return id != "" && slices.Contains(b.Messages, id) }
	return (b.Session == nil || m.Origin.Session == *b.Session) && (b.Source == "" || isFrom(m, b.Source)) && !m.Created.Before(b.Since) &&
		(len(b.Messages) == 0 || named(m.Origin.Turn) || slices.ContainsFunc(m.Origin.MessageIDs, named))
}

// isFrom reports whether a memory comes from a source: a Trust constant, or one with a name, such
// as "tool search_web" or "document report.pdf".
func isFrom(m *backends.Memory, source string) bool {
	of, _ := m.Metadata[backends.MetaSource].(string)
	return source == m.Trust() || source == m.Origin.Source || m.Kind == backends.KindDocument && source == backends.TrustDocument+" "+of
}

// changed reports whether a change is among those to take back. Changes name the session
// that taught them, and no source.
func (b *rollback) changed(e *backends.Event) bool {
	return b.Session != nil && b.Source == "" && e.Session == *b.Session && !e.Time.Before(b.Since) &&
		(len(b.Messages) == 0 || slices.ContainsFunc(e.Messages, func(id string) bool { return slices.Contains(b.Messages, id) }))
}

func (b *rollback) run() error {
	b.taught, b.dry = b.changed, b.DryRun
	order, err := b.selected()
	if err != nil {
		return err
	}
	slices.SortFunc(order, func(x, y string) int {
		return cmp.Or(b.all[x].Created.Compare(b.all[y].Created), cmp.Compare(x, y))
	})
	groups, err := b.groups(order)
	if err == nil {
		groups, err = b.reworded(groups)
	}
	if err != nil {
		return err
	}
	return b.apply(groups, func(group []Mutation) { b.report.Items = append(b.report.Items, b.item(group)) })
}

// item describes the change of a group of mutations.
func (b *rollback) item(group []Mutation) backends.Item {
	before := b.all[group[0].ID].Memory
	last := group[len(group)-1]
	if last.Record == nil {
		return backends.Item{Outcome: backends.OutcomeDeleted, Memory: before}
	}
	return backends.Item{Outcome: backends.OutcomeUpdated, Memory: last.Record.Memory, Previous: &before}
}

// reworded adds the groups that give memories their former text back. ReembedAll makes
// their vectors later.
func (b *rollback) reworded(groups [][]Mutation) ([][]Mutation, error) {
	if b.Session == nil || b.Source != "" {
		return groups, nil
	}
	for id, r := range b.all {
		if b.gone[id] || !r.Updated.After(r.Created) || r.Kind.Traits().InPrompt {
			continue
		}
		events, err := b.s.History(b.ctx, b.p, id)
		if err != nil {
			return nil, err
		}
		former := r.Text
		for _, e := range slices.Backward(events) {
			if e.Type == backends.OutcomeUpdated && e.New == former && e.Old != e.New && b.changed(&e) {
				former = e.Old
			}
		}
		if former == r.Text || b.allowed(&r.Memory) != nil {
			continue
		}
		at := slices.IndexFunc(groups, func(g []Mutation) bool { return g[0].ID == id })
		if at < 0 {
			put := Put(&Record{Memory: r.Clone()})
			put.ID, put.Expect, put.Actor = id, r.Version, "rollback"
			at, groups = len(groups), append(groups, []Mutation{put})
		}
		to := groups[at][len(groups[at])-1].Record
		to.Text, to.Vector = former, nil
	}
	return groups, nil
}

// selected returns the ids of the memories to erase: the ones that the source taught, and
// the ones that were made from such. Memories that must stay become conflicts.
func (b *rollback) selected() (ids []string, failed error) {
	seen := map[string]bool{}
	ids = b.choose(func(r *Record, made bool) bool {
		if seen[r.ID] || !made && !b.added(&r.Memory) {
			return false
		}
		seen[r.ID] = true
		err := b.allowed(&r.Memory)
		if err == nil {
			err = b.conflict(r)
		}
		if errors.Is(err, backends.ErrUnavailable) {
			failed = err
		} else if err != nil {
			b.report.Conflicts = append(b.report.Conflicts, err.Error())
		}
		return err == nil
	})
	slices.Sort(b.report.Conflicts)
	return ids, failed
}

// conflict returns the reason why a taught memory stays, or nil.
func (b *rollback) conflict(r *Record) error {
	if r.Kind.Traits().InPrompt {
		return fmt.Errorf("%q is a core block: read it and edit it yourself", r.ID)
	}
	events, err := b.s.History(b.ctx, b.p, r.ID)
	if err != nil {
		return err
	}
	for i := range events {
		if e := &events[i]; e.Type == backends.OutcomeUpdated && e.Old != e.New && !b.changed(e) {
			return fmt.Errorf("memory %s was edited since, on %s by %s: it stays", r.ID, e.Time.UTC().Format("2006-01-02 15:04"), cmp.Or(e.Actor, "somebody"))
		}
	}
	return nil
}
