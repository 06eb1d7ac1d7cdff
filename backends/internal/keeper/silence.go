// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// A turn is silent once a person deleted or changed a memory that it taught: notes and learning
// skip it from then on. Its episodes are retracted, at the time at which they were said, so plain
// searches skip them. A turn may lack an episode, because it waits for learning; it gets an empty
// one. Both are written with the deletion, and move and go with the partition.

// silent reports whether a memory marks its origin as silent.
func silent(m *backends.Memory) bool {
	return m.Kind == backends.KindEpisode && m.SupersededBy == "" && !m.Invalidated.IsZero()
}

// place is a message or a turn of a session.
type place struct{ session, message, turn string }

// placesOf returns the places that a memory comes from.
func placesOf(o *backends.Origin) []place {
	var out []place
	for _, id := range o.MessageIDs {
		out = append(out, place{o.Session, id, ""})
	}
	if o.Turn != "" {
		out = append(out, place{o.Session, "", o.Turn})
	}
	return out
}

func (at place) key() string { return text.HashKey("silent", at.session, at.message, at.turn) }

// places are a set of places.
type places map[place]bool

func (s places) add(o *backends.Origin) {
	for _, at := range placesOf(o) {
		s[at] = true
	}
}

func (s places) has(o *backends.Origin) bool {
	return slices.ContainsFunc(placesOf(o), func(at place) bool { return s[at] })
}

// Silent returns a function that reports whether a memory, from one of the origins, comes from a
// silent turn.
func (k *Keeper) Silent(ctx context.Context, p backends.Partition, origins ...backends.Origin) (func(backends.Origin) bool, error) {
	var keys []string
	for i := range origins {
		for _, at := range placesOf(&origins[i]) {
			keys = append(keys, at.key())
		}
	}
	marked := places{}
	if len(keys) == 0 {
		return func(backends.Origin) bool { return false }, nil
	}
	found, err := k.Lookup(ctx, p, keys...)
	for _, m := range found {
		marked.add(&m.Origin)
	}
	return func(o backends.Origin) bool { return marked.has(&o) }, err
}

// taught returns the turns that taught memories, as far as a person said them in the partition. It
// adds the turns of answers that quote them, and returns the episodes of both.
func (k *Keeper) taught(ctx context.Context, p backends.Partition, memories ...*backends.Memory) (turns places, episodes []*backends.Memory, err error) {
	turns = places{}
	for _, m := range memories {
		if p.Kind != backends.PartitionWorkspace && !m.Kind.Traits().Timeless {
			turns.add(&m.Origin)
		}
	}
	if len(turns) == 0 {
		return turns, nil, nil
	}
	all, err := k.every(ctx, p, false)
	for range 2 { // the messages, and then the rest of their turns
		episodes = episodes[:0]
		for _, m := range all {
			if m.Kind == backends.KindEpisode && turns.has(&m.Origin) {
				episodes = append(episodes, m)
			}
		}
		for _, m := range episodes {
			turns.add(&m.Origin)
		}
	}
	quotes := slices.DeleteFunc(quoting(all, slices.Concat(memories, episodes)), func(m *backends.Memory) bool { return turns.has(&m.Origin) })
	for _, m := range quotes {
		turns.add(&m.Origin)
	}
	episodes = append(episodes, quotes...)
	return turns, episodes, err
}

// mostQuoted is the most texts whose quotations are searched for.
const mostQuoted = 100

// quoting returns the answers that hold the whole text of a memory, or of a user's message.
func quoting(all, said []*backends.Memory) (answers []*backends.Memory) {
	var texts []string
	for _, m := range said {
		if s := text.Fold(m.Text); len(s) >= text.QuoteFrom && m.Origin.Role != string(schema.Assistant) {
			texts = append(texts, s)
		}
	}
	if len(texts) == 0 || len(texts) > mostQuoted {
		return nil
	}
	for _, m := range all {
		if m.Kind == backends.KindEpisode && m.Origin.Role == string(schema.Assistant) {
			if text.Quotes(text.Fold(m.Text), texts) {
				answers = append(answers, m)
			}
		}
	}
	return answers
}

// silence returns the mutations that silence the turns which taught memories. gone are the ids
// that the same write deletes.
func (k *Keeper) silence(ctx context.Context, p backends.Partition, gone map[string]bool, memories ...*backends.Memory) ([]store.Mutation, error) {
	memories = slices.DeleteFunc(slices.Clone(memories), func(m *backends.Memory) bool { // an answer teaches nothing about earlier words
		return m.Kind == backends.KindEpisode && m.Origin.Role != string(schema.User)
	})
	_, episodes, err := k.taught(ctx, p, memories...)
	var out []store.Mutation
	held := places{}
	for _, m := range episodes {
		if !gone[m.ID] {
			held.add(&m.Origin)
		}
		if !gone[m.ID] && m.Active() {
			retract := store.Retract(m.ID, m.Since())
			retract.Actor = actorCaller
			out = append(out, retract)
		}
	}
	for _, m := range memories {
		if at := (place{m.Origin.Session, "", m.Origin.Turn}); m.Kind != backends.KindEpisode && at.turn != "" && !held[at] {
			held[at] = true
			out = append(out, store.Put(silentTurn(p, m, at)))
		}
	}
	return out, err
}

// silentTurn returns the empty episode that stands for a turn which taught a memory.
func silentTurn(p backends.Partition, m *backends.Memory, at place) *store.Record {
	return &store.Record{Memory: backends.Memory{
		ID: ContentID(p, backends.KindEpisode, "silent", at.session, at.turn), Kind: backends.KindEpisode, Scope: m.Scope,
		Observed: m.Since(), Invalidated: m.Since(), Origin: backends.Origin{Session: at.session, Turn: at.turn},
	}}
}

// eraseUpto is the most messages of a memory that can be erased with it. A memory of more
// messages sums them up, or its learner did not name them.
const eraseUpto = 8

// erase erases a memory with its history, and the words of the turns that taught it. The log
// comes first, so a repeat finds what a crash left.
func (k *Keeper) erase(ctx context.Context, p backends.Partition, m *backends.Memory) error {
	if n := len(m.Origin.MessageIDs); n > eraseUpto {
		return k.errorf("memory %s: %w: it comes from %d messages, which say more: delete it without Erase, and forget the messages as a part", m.ID, backends.ErrInvalid, n)
	}
	turns, episodes, err := k.taught(ctx, p, m)
	ids := map[string][]string{} // of messages and turns, by session
	for at := range turns {
		ids[at.session] = append(ids[at.session], at.message+at.turn)
	}
	for session, of := range ids {
		if err == nil {
			err = store.EraseTurns(ctx, k.config.Store, p, session, of...)
		}
	}
	gone := []string{m.ID}
	for _, e := range episodes {
		gone = append(gone, e.ID)
	}
	slices.Sort(gone)
	var b *store.Batch
	if err == nil {
		b, err = store.Erasure(ctx, k.config.Store, p, slices.Compact(gone)...)
	}
	for at := range turns {
		if err == nil && at.turn != "" {
			b.Mutations = append(b.Mutations, store.Put(silentTurn(p, m, at)))
		}
	}
	if err == nil {
		_, err = k.config.Store.Apply(ctx, p, b)
	}
	if err != nil {
		return k.errorf("erasing memory %s: %w", m.ID, err)
	}
	if files, ok := k.config.Store.(store.Reclaimer); ok {
		if err := files.Reclaim(ctx); err != nil { // the next Reclaim does its work
			work.Report(ctx, k.tell, "erasing", k.errorf("overwriting erased data: %w", err))
		}
	}
	return nil
}
