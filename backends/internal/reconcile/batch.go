// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
)

// batch is one attempt to store the decisions of a call, on the partition as it is.
type batch struct {
	call  *Call
	nodes []*node // of the decisions, in their order; ByTime in the order in which they were said

	held    map[string]*node                // of known memories that are targets or duplicates, by id
	found   map[identity][]*backends.Memory // memories that say the same as a decision, active or ended
	written map[identity][]*node

	mutations []store.Mutation
}

// state is the outcome of a node in one batch.
type state struct {
	outcome backends.Outcome
	until   time.Time // for retracted: when it ended
	id      identity
	at      time.Time // when it was said; zero unless the engine goes ByTime

	placed     bool
	encoded    bool
	on         *node     // the node that it is to supersede or to retract
	same       *node     // a node that says it already
	prev, next *node     // its predecessor and its successor
	ended      time.Time // the end of a retracted node

	record *store.Record // the record to write
}

// identity is equal for duplicates in a partition. It is their text and, where words are
// kept as they were said, the role of their speaker.
type identity struct{ key, role string }

func identityOf(m *backends.Memory) identity {
	k := identity{key: keeper.TextKey(m.Kind, m.WhenToUse, m.Text)}
	if m.Kind == backends.KindEpisode {
		k.role = m.Origin.Role
	}
	return k
}

// build decides the outcome of each decision, and makes the mutations. With strict, a
// statement that the model was not shown is errStale.
func (b *batch) build(ctx context.Context, strict bool) error {
	c := b.call
	silent, err := c.engine.Keeper.Silent(ctx, c.Partition, c.origins...) // it may have changed meanwhile
	if err != nil {
		return err
	}
	b.held, b.written = map[string]*node{}, map[identity][]*node{}
	for _, n := range c.decisions {
		if stores(n.wanted) && silent(n.memory.Origin) {
			continue
		}
		n.state = state{outcome: n.wanted, until: n.since}
		if c.engine.ByTime {
			n.at = n.memory.Observed
		}
		b.nodes = append(b.nodes, n)
	}
	slices.SortStableFunc(b.nodes, func(a, b *node) int { return a.at.Compare(b.at) })
	for _, step := range []func(context.Context) error{b.resolve, b.lookup} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	b.keepStated()
	for _, n := range b.nodes {
		b.place(n)
	}
	for _, n := range b.nodes {
		if n.writes() && n.prev != nil {
			n.outcome = backends.OutcomeSuperseded
		}
	}
	for _, step := range []func(context.Context) error{b.confirm, b.identify} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, n := range b.nodes {
		b.encode(n)
	}
	if err := b.mark(ctx); err != nil {
		return err
	}
	if !strict || c.seen == nil || len(b.mutations) == 0 {
		return nil
	}
	known, err := c.statements(ctx)
	for _, m := range known {
		if !c.seen[m.ID] {
			return c.engine.errorf("memory %s: %w", m.ID, errStale)
		}
	}
	return err
}

// resolve looks the targets up as they are now. A target that changed since the decision
// is errStale.
func (b *batch) resolve(ctx context.Context) error {
	var ids []string
	for _, n := range b.nodes {
		if n.target != nil && n.target.known != nil {
			ids = append(ids, n.target.known.ID)
		}
	}
	now, err := b.call.engine.Keeper.Held(ctx, b.call.Partition, ids...)
	if err != nil {
		return err
	}
	for _, n := range b.nodes {
		switch t := n.target; {
		case t == nil:
		case t.known == nil:
			n.on = t
		case now[t.known.ID] != nil && now[t.known.ID].Active() && now[t.known.ID].Text == t.known.Text:
			n.on = b.holder(now[t.known.ID])
		case n.outcome != backends.OutcomeUnchanged && n.outcome != backends.OutcomeDeleted:
			return b.call.engine.errorf("memory %s: %w", t.known.ID, errStale)
		}
		if n.outcome == backends.OutcomeUnchanged {
			n.same = n.on
		}
	}
	return nil
}

// holder returns the node of a known memory.
func (b *batch) holder(m *backends.Memory) *node {
	n := b.held[m.ID]
	if n == nil {
		n = &node{known: m, state: state{id: identityOf(m)}}
		if b.call.engine.ByTime {
			n.at = m.Observed
		}
		b.held[m.ID] = n
	}
	return n
}

// lookup finds the memories that say the same as the new ones.
func (b *batch) lookup(ctx context.Context) error {
	var keys []string
	for _, n := range b.nodes {
		if n.writes() {
			n.id = identityOf(&n.memory)
			keys = append(keys, n.id.key)
		}
	}
	b.found = map[identity][]*backends.Memory{}
	if len(keys) == 0 {
		return nil
	}
	found, err := b.call.engine.Keeper.Lookup(ctx, b.call.Partition, keys...)
	for _, m := range found {
		k := identityOf(m)
		b.found[k] = append(b.found[k], m)
	}
	return err
}

// keepStated leaves memories alone that the same messages state again. An answer that both
// retracts a statement and states it means that it holds. So such an answer may be given
// again and again, and copies stay away.
func (b *batch) keepStated() {
	type claim struct {
		id identity
		at int64
	}
	stated := map[claim]bool{}
	for _, n := range b.nodes {
		if n.writes() {
			stated[claim{n.id, n.at.UnixNano()}] = true
		}
	}
	b.nodes = slices.DeleteFunc(b.nodes, func(n *node) bool {
		if n.on == nil || n.on.known == nil || !stated[claim{n.on.id, n.at.UnixNano()}] {
			return false
		}
		if n.outcome == backends.OutcomeSuperseded {
			n.outcome, n.on = backends.OutcomeAdded, nil
		}
		return n.outcome == backends.OutcomeRetracted
	})
}

// place decides the outcome of a statement. A known one is unchanged, or retracts the node
// that it was to supersede. Any other takes its place in that node's chain.
func (b *batch) place(n *node) {
	if n.placed || !n.writes() {
		return
	}
	n.placed = true
	superseding := n.outcome == backends.OutcomeSuperseded
	if superseding {
		b.place(n.on) // the node that it supersedes may be known as well
	}
	if n.same = b.duplicate(n); n.same != nil {
		n.outcome = backends.OutcomeUnchanged
		if superseding && n.on.said() != n.same.said() && n.on.holds(n.at) {
			n.outcome, n.until = backends.OutcomeRetracted, n.memory.Since()
		}
		return
	}
	b.written[n.id] = append(b.written[n.id], n)
	n.outcome = backends.OutcomeAdded
	if superseding && n.on.said().active() {
		n.join(n.on.said())
	}
}

// duplicate returns the node that says the same as n, for the same time: it holds now, or
// held when n was said. So a repeated import is harmless, and a person can move back to an
// earlier home.
func (b *batch) duplicate(n *node) *node {
	for _, o := range b.written[n.id] {
		if o.ended.IsZero() && (o.next == nil || n.at.Before(o.next.at)) {
			return o
		}
	}
	var past *node
	for _, m := range b.found[n.id] {
		o := b.holder(m)
		switch {
		case m.Expired(b.call.Now):
		case m.Active():
			if o.next == nil || n.at.Before(o.next.at) {
				return o
			}
		case b.call.engine.ByTime && (n.at.Equal(m.Observed) || !n.at.Before(m.Observed) && n.at.Before(m.Invalidated)):
			past = o
		}
	}
	return past
}

// identify gives the new memories their times, and ids that follow from their texts. Each
// takes the first free id, so two processes that learn it at the same time meet.
func (b *batch) identify(ctx context.Context) error {
	c := b.call
	stamp, taken := c.engine.Keeper.Stamps(len(b.nodes)), map[string]bool{}
	var open []*node
	for _, n := range b.nodes {
		if n.writes() {
			n.record = &store.Record{Memory: n.memory.Clone()}
			n.record.Created, n.record.Updated = stamp, stamp
			stamp = stamp.Add(time.Microsecond)
			open = append(open, n)
		}
	}
	for more := 0; len(open) > 0; more++ {
		ids := make([]string, len(open))
		for i, n := range open {
			ids[i] = keeper.ContentID(c.Partition, n.memory.Kind, "", n.id.role, n.id.key, strconv.Itoa(len(b.found[n.id])+more))
		}
		held, err := c.engine.Keeper.Held(ctx, c.Partition, ids...)
		if err != nil {
			return err
		}
		var next []*node
		for i, n := range open {
			m := held[ids[i]]
			if m == nil && !taken[ids[i]] {
				n.record.ID, taken[ids[i]] = ids[i], true
				continue
			}
			if m != nil && identityOf(m) == n.id && !slices.ContainsFunc(b.found[n.id], func(o *backends.Memory) bool { return o.ID == m.ID }) {
				return c.engine.errorf("memory %s was stored meanwhile: %w", m.ID, backends.ErrConflict)
			}
			next = append(next, n)
		}
		open = next
	}
	return nil
}

// encode adds the mutation of a node, behind the mutations of the nodes that it
// supersedes or retracts.
func (b *batch) encode(n *node) {
	if n == nil || n.known != nil || n.encoded {
		return
	}
	n.encoded = true
	b.encode(n.prev)
	var m store.Mutation
	switch {
	case n.record != nil && n.prev != nil:
		m = store.Supersede(n.prev.stored().ID, n.record)
		m.Expect = n.prev.stored().Version // 0, any, for one of the batch
	case n.record != nil:
		m = store.Put(n.record)
		m.Expect = store.MustNotExist
	case n.outcome == backends.OutcomeRetracted:
		b.encode(n.on)
		m = store.Retract(n.on.stored().ID, n.until)
		m.Expect = n.on.stored().Version
	default:
		return
	}
	m.Actor, m.Role = cmp.Or(b.call.Author, b.call.engine.Author), n.memory.Origin.Role
	m.Session, m.Messages = n.memory.Origin.Session, n.memory.Origin.MessageIDs
	if n.record != nil {
		m.Actor = n.memory.Origin.Author
		if n.next != nil && n.next.record == nil { // older than the known one
			n.record.SupersededBy, n.record.Invalidated = n.next.known.ID, n.next.known.Since()
		}
	}
	b.mutations = append(b.mutations, m)
}

// mark gives a known memory that is said again the marks of the new statement, if it has
// none.
func (b *batch) mark(ctx context.Context) error {
	for _, n := range b.nodes {
		o := n.said()
		if o.known == nil || !o.known.Active() || o.next != nil || !o.ended.IsZero() || marked(o.known) || n.known != nil || !marked(&n.memory) {
			continue
		}
		recs, err := b.call.engine.Keeper.Records(ctx, b.call.Partition, o.known.ID)
		if err != nil {
			return err
		}
		if len(recs) == 0 || recs[0].Version != o.known.Version {
			return b.call.engine.errorf("memory %s: %w", o.known.ID, backends.ErrConflict)
		}
		rec := recs[0]
		rec.Standing, rec.Delicate, rec.WhenToUse = n.memory.Standing, n.memory.Delicate, n.memory.WhenToUse
		m := store.Put(&rec)
		m.Expect, m.Actor, m.Role, m.Session = rec.Version, cmp.Or(b.call.Author, b.call.engine.Author), rec.Origin.Role, n.memory.Origin.Session
		b.mutations, o.known = append(b.mutations, m), &rec.Memory
	}
	return nil
}

// marked reports whether a memory has a mark that decides where it is shown.
func marked(m *backends.Memory) bool { return m.Standing || m.Delicate || m.WhenToUse != "" }

// items returns the outcome of each decision. version is the partition's after the batch.
func (b *batch) items(version int64) []backends.Item {
	items := make([]backends.Item, len(b.nodes))
	for i, n := range b.nodes {
		item := backends.Item{Outcome: n.outcome, Err: n.err}
		switch {
		case n.on != nil && (n.outcome == backends.OutcomeRetracted || n.outcome == backends.OutcomeSkipped):
			item.Memory = n.on.after(version)
		case n.same != nil:
			item.Memory = n.said().after(version)
		default:
			item.Memory = n.after(version)
		}
		if n.outcome == backends.OutcomeSuperseded {
			previous := n.prev.after(version)
			item.Previous = &previous
		}
		items[i] = item
	}
	return items
}
