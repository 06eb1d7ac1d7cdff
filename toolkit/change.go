// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/note"
	"github.com/einomem/einomem/internal/text"
)

// maxAdded is the most bytes that one add_memory may note down.
const maxAdded = 64 << 10

type addArguments struct {
	Thinking string         `json:"thinking" jsonschema:"required" blank:"ok"`
	Content  agenttool.List `json:"content" alias:"text" jsonschema:"required"`
}

// add has the backend learn from the agent's notes: each entry is a message of its own, said by the
// agent.
func (k *kit) add(ctx context.Context, scope backends.Scope, a *addArguments) (string, error) {
	if size := len(strings.Join(a.Content, "")); size > maxAdded {
		return "", agenttool.Refusef(k.text.tooLong, size, maxAdded)
	}
	r := &backends.AddRequest{
		Scope: scope, Author: backends.AuthorAgent, Confirm: k.kit.ConfirmAs(AddMemory), IdempotencyKey: agenttool.CallKey(ctx, scope, AddMemory, strings.Join(a.Content, "\n")),
	}
	call, turn := k.IDs(), k.Turn(ctx)
	for i, s := range a.Content {
		id := fmt.Sprint(call, "-", i)
		r.Messages = append(r.Messages, backends.Message{ID: id, Turn: turn, Time: k.Clock(), Message: schema.AssistantMessage(s, nil)})
	}
	resp, err := k.Backend.Add(ctx, r)
	switch {
	case err != nil:
		return "", err
	case resp == nil:
		return "", agenttool.Refusal(k.text.nothingRecorded)
	case resp.Queued && len(resp.Items) == 0:
		return k.text.queued, nil
	}
	out, err := k.showItems(ctx, resp.Items)
	if err == nil && resp.Queued {
		out += "\n" + k.text.queued
	}
	return out, err
}

// showItems returns a line for the outcome of each item. It drops episodes beside other items: they
// are the content itself, which the model knows. It returns an error if all items failed, or if
// there is none.
func (k *kit) showItems(ctx context.Context, items []backends.Item) (string, error) {
	echo := func(it backends.Item) bool {
		return it.Memory.Kind == backends.KindEpisode && it.Outcome != backends.OutcomeFailed
	}
	if rest := slices.DeleteFunc(slices.Clone(items), echo); len(rest) > 0 {
		items = rest
	}
	if len(items) == 0 {
		return "", agenttool.Refusal(k.text.nothingRecorded)
	}
	out := k.text.recorded
	var failed []error
	for i := range items {
		if it := &items[i]; it.Outcome == backends.OutcomeFailed || it.Outcome == backends.OutcomeSkipped {
			failed = append(failed, cmp.Or(it.Err, fmt.Errorf("not stored: %q", text.Truncate(it.Memory.Text, 60))))
		}
		out += "\n" + k.showItem(&items[i])
	}
	err := errors.Join(failed...)
	if len(failed) == len(items) {
		return "", err
	}
	if err != nil {
		k.kit.Report(ctx, AddMemory, err)
	}
	return out, nil
}

func (k *kit) showItem(it *backends.Item) string {
	line := "- " + cmp.Or(k.text.outcomes[it.Outcome], string(it.Outcome)) + ": "
	if it.Memory.ID != "" && it.Outcome != backends.OutcomeFailed {
		line += "[" + note.IDs([]backends.Hit{{Memory: it.Memory}})[0] + "] "
	}
	line += text.Truncate(it.Memory.Text, maxMemoryRunes)
	if it.Previous != nil && it.Previous.Text != it.Memory.Text {
		line += fmt.Sprintf(k.text.before, text.Truncate(it.Previous.Text, maxMemoryRunes))
	}
	if it.Err != nil {
		line += " (" + text.Truncate(it.Err.Error(), agenttool.MaxErrorRunes) + ")"
	}
	return strings.ToValidUTF8(text.Indent(line, "  "), "\uFFFD")
}

type updateArguments struct {
	ID      string `json:"id" jsonschema:"required"`
	Content string `json:"content,omitempty"`

	Standing *agenttool.Flag `json:"standing,omitempty"`
	Delicate *agenttool.Flag `json:"delicate,omitempty"`
}

func (k *kit) update(ctx context.Context, scope backends.Scope, a *updateArguments) (string, error) {
	r := &backends.UpdateRequest{Scope: scope, Standing: (*bool)(a.Standing), Delicate: (*bool)(a.Delicate)}
	if content := strings.TrimSpace(a.Content); content != "" {
		r.Text = &content
	} else if a.Standing == nil && a.Delicate == nil {
		return "", k.kit.Missing(UpdateMemory, "content")
	}
	var err error
	if r.ID, r.Version, err = k.allowed(ctx, UpdateMemory, scope, a.ID, r); err != nil {
		return "", err
	}
	m, err := k.manager.Update(ctx, r)
	if err != nil {
		return "", fmt.Errorf("memory %q: %w", text.Truncate(note.Bare(a.ID), 60), err)
	}
	return fmt.Sprintf(k.text.updated, note.Bare(a.ID), text.Indent(text.Truncate(m.Text, maxMemoryRunes), "  ")), nil
}

type deleteArguments struct {
	ID string `json:"id" jsonschema:"required"`
}

func (k *kit) delete(ctx context.Context, scope backends.Scope, a *deleteArguments) (string, error) {
	id, version, err := k.allowed(ctx, DeleteMemory, scope, a.ID, nil)
	if err != nil {
		return "", err
	}
	shown := text.Truncate(note.Bare(a.ID), 60)
	if err := k.manager.Delete(ctx, &backends.DeleteRequest{Scope: scope, ID: id, Version: version}); err != nil {
		return "", fmt.Errorf("memory %q: %w", shown, err)
	}
	return fmt.Sprintf(k.text.deleted, shown), nil
}

// maxForgotten is the most memories that one call may erase.
const maxForgotten = 20

type forgetArguments struct {
	IDs agenttool.List `json:"ids" jsonschema:"required"`
}

// forget erases memories and the words behind them. It skips one that went with another.
func (k *kit) forget(ctx context.Context, scope backends.Scope, a *forgetArguments) (string, error) {
	if len(a.IDs) > maxForgotten {
		return "", agenttool.Refusef(k.text.tooMany, len(a.IDs), maxForgotten)
	}
	c := backends.Change{Scope: scope}
	for _, shown := range a.IDs {
		id, err := note.Find(ctx, k.manager, scope, shown)
		var m *backends.Memory
		if err == nil {
			m, err = k.manager.Get(ctx, &backends.GetRequest{Scope: scope, ID: id})
		}
		if err != nil {
			return "", fmt.Errorf("memory %q: %w", text.Truncate(note.Bare(shown), 60), err)
		}
		c.Delete = append(c.Delete, *m)
	}
	if err := k.kit.ConfirmAs(ForgetMemory).Ask(ctx, c); err != nil {
		return "", fmt.Errorf("confirming %s: %w", k.kit.Name(ForgetMemory), err)
	}
	for _, m := range c.Delete {
		r := &backends.DeleteRequest{Scope: scope, ID: m.ID, Erase: true}
		err := k.manager.Delete(ctx, r)
		if errors.Is(err, backends.ErrInvalid) { // it is of too many messages
			r.Erase = false
			err = k.manager.Delete(ctx, r)
		}
		if err != nil && !errors.Is(err, backends.ErrNotFound) {
			return "", fmt.Errorf("memory %q: %w", m.ID, err)
		}
	}
	return fmt.Sprintf(k.text.forgotten, len(c.Delete)), nil
}

// allowed returns the id of the memory that bullets show under another. It asks Config.Confirm, if
// set, whether the tool may change the memory so, or delete it if change is nil. It returns the
// version that it asked about, else 0.
func (k *kit) allowed(ctx context.Context, tool string, scope backends.Scope, shown string, change *backends.UpdateRequest) (id string, version int64, err error) {
	if id, err = note.Find(ctx, k.manager, scope, shown); err != nil || k.Confirm == nil {
		return id, 0, err
	}
	m, err := k.manager.Get(ctx, &backends.GetRequest{Scope: scope, ID: id})
	if err != nil {
		return "", 0, fmt.Errorf("memory %q: %w", text.Truncate(id, 60), err)
	}
	c := backends.Change{Scope: scope, Delete: []backends.Memory{*m}}
	if change != nil {
		after := m.Clone()
		for _, set := range []struct{ to, from *bool }{{&after.Standing, change.Standing}, {&after.Delicate, change.Delicate}} {
			if set.from != nil {
				*set.to = *set.from
			}
		}
		if change.Text != nil {
			after.Text = *change.Text
		}
		c.Update, c.Delete = []backends.Edit{{Old: *m, New: after}}, nil
	}
	if err := k.kit.ConfirmAs(tool).Ask(ctx, c); err != nil {
		return "", 0, fmt.Errorf("confirming %s: %w", k.kit.Name(tool), err)
	}
	return id, m.Version, nil
}
