// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// A user may ask to forget something. The model is then shown earlier messages, too, and names by
// index what the user means. Those memories are erased: see [keeper.Keeper.Delete]. A model may
// also forget where the rules of package speech see no such wish. Then it only retracts, which can
// be taken back.

// The numbers of earlier messages for a model that decides what to forget.
const (
	saidShown = 8 // turns that answer the wish best
	lastShown = 4 // of the session
)

var errNotForgotten = errors.New("the user asks to forget something, and no model says what they mean: delete or erase it")

var howToForget = map[backends.Language]string{
	backends.English: `The user asks that something is forgotten. Answer with an operation "forget" for each existing memory and each line of <said_before> that they mean, by its index, and for no other. For new messages that they mean: "forget" without index, with their "messages". Never write down that they asked.` + "\n\n",
	backends.Chinese: `用户要求忘记某些内容。对他所指的每条已有记忆和 <said_before> 中的每一行，各用一个操作 "forget" 和它的 index 回答，不要涉及其他内容。若指的是新消息，则用不带 index 的 "forget"，在 "messages" 中写明编号。不要把"用户要求忘记"记下来。` + "\n\n",
}

// hush finds the wishes to forget among the messages. Episodes keep the words beside a wish. They
// drop the answers to it, which may repeat what it names.
func (c *Call) hush() {
	c.wishes, c.forgotten = nil, nil
	hidden := false
	for _, u := range c.said {
		switch u.words = u.Text; {
		case u.Role != string(schema.User):
			if hidden {
				u.words = ""
			}
			continue
		case u.learn && c.Author == "" && speech.AsksToForget(u.Text):
			hidden, u.words, c.wishes = true, speech.Beside(u.Text), append(c.wishes, u)
		default:
			hidden = false
		}
	}
}

// KeepSaid decides to keep the messages as they were said, each as an episode.
func (c *Call) KeepSaid(author string) {
	for _, u := range c.said {
		if u.words != "" {
			m := c.Verbatim(backends.KindEpisode, u, author)
			m.Text = u.words
			c.Add(m)
		}
	}
}

// SkipWishes reports that the wishes to forget were left undone.
func (c *Call) SkipWishes() {
	for _, u := range c.wishes {
		c.Skip(u, "", errNotForgotten)
	}
}

// saidBefore returns the earlier messages that the user may want forgotten, and the material
// that asks a model about them. Its indexes follow the targets'.
func (c *Call) saidBefore(ctx context.Context, targets int) (said []*node, material string, err error) {
	if len(c.wishes) == 0 {
		return nil, "", nil
	}
	var wish []string
	for _, u := range c.wishes {
		wish = append(wish, u.Text)
	}
	all, err := c.engine.Keeper.All(ctx, c.Partition)
	if err != nil {
		return nil, "", err
	}
	last := slices.DeleteFunc(all, func(m *backends.Memory) bool {
		return m.Kind != backends.KindEpisode || !m.Active() || m.Expired(c.Now) || m.Origin.Session != c.Scope.SessionID
	})
	found, err := c.engine.Keeper.Search(ctx, c.Partition, &backends.SearchRequest{
		Query: text.TruncateBytes(strings.Join(wish, "\n"), queryBytes), TopK: saidShown, Kinds: []backends.Kind{backends.KindEpisode}, NoModel: true,
	})
	if err != nil {
		return nil, "", err
	}
	var best []*backends.Memory
	for i := range found.Hits {
		best = append(best, &found.Hits[i].Memory)
	}
	var lines []memoryLine
	for i, m := range inTurn(func(*backends.Memory) bool { return true }, [][]*backends.Memory{best}, last[max(0, len(last)-lastShown):]) {
		said = append(said, &node{known: m})
		lines = append(lines, memoryLine{Index: targets + i, SaidBy: m.Origin.Role, Said: c.shownTime(m.Observed), Text: text.Middle(m.Text, min(memoryRunes, c.engine.Prompt/4))})
	}
	return said, ask.Section("said_before", lines) + howToForget[c.Language], nil
}

// forgets decides to forget the target of an operation: a memory, or messages of the call.
func (c *Call) forgets(op *Operation, t *node) *node {
	on := t.about()
	switch {
	case len(c.wishes) == 0 && on != nil && on.Kind == c.engine.Kind:
		op.Verb = Retract
		return c.carryOut(op, t)
	case len(c.wishes) == 0:
	case on != nil && t.known != nil:
		n := &node{wanted: backends.OutcomeDeleted, target: t, memory: on.Clone(), from: op.from}
		c.decisions = append(c.decisions, n)
		return n
	case on != nil: // learnt by this call
		c.forgotten = append(c.forgotten, t.from...)
	case len(op.Messages) > 0:
		c.forgotten = append(c.forgotten, op.from...)
	}
	for _, u := range c.forgotten {
		u.words = ""
	}
	return nil
}

// repeats reports whether a statement only says that a user wants something forgotten.
func (c *Call) repeats(op *Operation) bool {
	return speech.TellsToForget(op.Text) && slices.ContainsFunc(op.from, func(u *Utterance) bool { return slices.Contains(c.wishes, u) })
}

// forget erases the memories that a user wants forgotten, once Confirm allows it. It runs before
// the batch is stored, so a repeat after a crash does it again. Statements about them are dropped
// from the batch.
func (c *Call) forget(ctx context.Context) error {
	c.forgotten = slices.DeleteFunc(c.forgotten, func(u *Utterance) bool { return slices.Contains(c.wishes, u) })
	change := backends.Change{Scope: c.Scope}
	var going []*node
	for _, n := range c.decisions {
		if n.wanted == backends.OutcomeDeleted && !n.gone {
			going, change.Delete = append(going, n), append(change.Delete, n.memory.Clone())
		}
	}
	for _, u := range c.forgotten {
		change.Delete = append(change.Delete, c.Verbatim(backends.KindEpisode, u, c.engine.Author))
	}
	if len(change.Delete) == 0 {
		return nil
	}
	confirm := c.Confirm
	work.Default(&confirm, c.engine.Confirm)
	switch err := confirm.Ask(ctx, change); {
	case errors.Is(err, backends.ErrDeclined):
		for _, n := range going {
			n.wanted, n.err = backends.OutcomeSkipped, c.engine.errorf("forgetting memory %s: %w", n.memory.ID, err)
		}
		c.forgotten = nil
		return nil
	case err != nil:
		return c.engine.errorf("confirming that %d memories are erased: %w", len(change.Delete), err)
	}
	for _, n := range going {
		r := &backends.DeleteRequest{ID: n.memory.ID, Erase: true}
		err := c.engine.Keeper.Delete(ctx, c.Partition, r)
		if errors.Is(err, backends.ErrInvalid) { // it is of too many messages
			r.Erase = false
			err = c.engine.Keeper.Delete(ctx, c.Partition, r)
		}
		if err != nil && !errors.Is(err, backends.ErrNotFound) {
			return err
		}
		n.gone, n.memory = true, backends.Memory{ID: n.memory.ID, Kind: n.memory.Kind, Scope: n.memory.Scope}
	}
	c.decisions = slices.DeleteFunc(c.decisions, func(n *node) bool {
		return stores(n.wanted) && slices.ContainsFunc(c.forgotten, func(u *Utterance) bool { return slices.Contains(n.memory.Origin.MessageIDs, u.ID) })
	})
	return nil
}

// eraseWishes erases turns from the log: the ones with a fulfilled wish to forget, and the ones
// that were meant.
func (c *Call) eraseWishes(ctx context.Context) error {
	if len(c.forgotten) == 0 && !slices.ContainsFunc(c.decisions, func(n *node) bool { return n.gone }) {
		return nil
	}
	var ids []string
	for _, u := range slices.Concat(c.wishes, c.forgotten) {
		ids = append(ids, u.ID)
	}
	if err := store.EraseTurns(ctx, c.engine.Keeper.Store(), c.Partition, c.Scope.SessionID, ids...); err != nil {
		return c.engine.errorf("the memories are forgotten, but the words that asked for it stay in the log: %w", fmt.Errorf("%w; erase them as a part", err))
	}
	return nil
}
