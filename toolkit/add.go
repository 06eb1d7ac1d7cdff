// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Author is the Origin.Author of what an agent notes down with add_memory.
const Author = "agent"

func (k *kit) addTool() (tool.BaseTool, error) {
	return newTool[addParams](&k.set, AddMemory, StageAddTool, k.text.Add, k.add)
}

func (k *kit) add(ctx context.Context, arguments string) (string, error) {
	var args addArguments
	if err := decode(arguments, &args); err != nil {
		return "", k.unreadable(AddMemory, err)
	}
	if len(args.Content) == 0 {
		return "", refusal(k.text.NoContent)
	}
	scope, err := k.scope(ctx)
	if err != nil {
		return "", err
	}
	items, err := k.record(ctx, scope, strings.Join(args.Content, "\n"))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", err
	}
	return k.showItems(ctx, strings.TrimSpace(string(args.Thinking)), items)
}

// record has the backend learn from the content; if no item at all comes of it,
// the content is stored as it is. An item that says "unchanged" is an answer:
// what is known already is not stored a second time.
func (k *kit) record(ctx context.Context, scope backends.Scope, content string) ([]backends.Item, error) {
	r := &backends.AddRequest{
		Scope:          scope,
		Messages:       []backends.Message{k.message(content)},
		Author:         Author,
		IdempotencyKey: callKey(ctx, scope, content),
	}
	resp, err := k.Backend.Add(ctx, r)
	if err != nil {
		return nil, err
	}
	if resp != nil && len(resp.Items) > 0 {
		return resp.Items, nil
	}
	verbatim := *r
	verbatim.Verbatim = true
	if r.IdempotencyKey != "" {
		verbatim.IdempotencyKey += "/verbatim"
	}
	if resp, err = k.Backend.Add(ctx, &verbatim); err != nil {
		return nil, err
	}
	if resp == nil {
		return nil, nil
	}
	return resp.Items, nil
}

func (k *kit) message(content string) backends.Message {
	id := k.IDs()
	return backends.Message{ID: id, Turn: id, Time: k.Clock(), Message: schema.UserMessage(content)}
}

// callKey names a tool call, so that a run that is resumed may repeat it. Models
// that number their calls from the start in each run use an id again: the session
// and the content are part of the key.
func callKey(ctx context.Context, scope backends.Scope, content string) string {
	call := compose.GetToolCallID(ctx)
	if call == "" {
		return ""
	}
	sum := sha256.New()
	for _, part := range []string{scope.AgentID, scope.SessionID, call, content} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return AddMemory + "/" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// showItems tells what became of each item. Nothing stored and nothing known is
// an error.
func (k *kit) showItems(ctx context.Context, thinking string, items []backends.Item) (string, error) {
	var lines []string
	var failed []error
	items = withoutEchoes(items)
	for i := range items {
		if items[i].Outcome == backends.OutcomeFailed {
			failed = append(failed, itemError(&items[i]))
		}
		lines = append(lines, k.showItem(&items[i]))
	}
	if len(items) == 0 {
		return "", refusal(k.text.NothingRecorded)
	}
	err := errors.Join(failed...)
	if len(failed) == len(items) {
		return "", err
	}
	if err != nil {
		k.report(ctx, StageAddTool, err)
	}
	head := k.text.Recorded
	if thinking != "" {
		head += fmt.Sprintf(k.text.Rationale, indent(clip(thinking, maxMemoryRunes)))
	}
	return head + ":\n" + strings.Join(lines, "\n"), nil
}

// withoutEchoes leaves out the episodes beside other items: they are the content
// itself, which the model knows.
func withoutEchoes(items []backends.Item) []backends.Item {
	echo := func(it backends.Item) bool {
		return it.Memory.Kind == backends.KindEpisode && it.Outcome != backends.OutcomeFailed
	}
	if rest := slices.DeleteFunc(slices.Clone(items), echo); len(rest) > 0 {
		return rest
	}
	return items
}

func (k *kit) showItem(it *backends.Item) string {
	outcome := k.text.Outcomes[it.Outcome]
	if outcome == "" {
		outcome = string(it.Outcome)
	}
	line := "- " + outcome + ": "
	if it.Memory.ID != "" && it.Outcome != backends.OutcomeFailed {
		line += "[" + it.Memory.ID + "] "
	}
	line += clip(it.Memory.Text, maxMemoryRunes)
	if it.Previous != nil && it.Previous.Text != it.Memory.Text {
		line += fmt.Sprintf(k.text.Before, clip(it.Previous.Text, maxMemoryRunes))
	}
	if it.Err != nil {
		line += " (" + clip(it.Err.Error(), maxErrorRunes) + ")"
	}
	return indent(line)
}

func itemError(it *backends.Item) error {
	if it.Err != nil {
		return it.Err
	}
	return fmt.Errorf("not stored: %q", clip(it.Memory.Text, 60))
}
