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

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/core"
)

func (k *coreKit) appendTool(ctx context.Context) (tool.BaseTool, error) {
	return newCoreTool[coreAppendParams](ctx, k, CoreMemoryAppend, StageCoreAppendTool, k.text.Append, k.append)
}

func (k *coreKit) replaceTool(ctx context.Context) (tool.BaseTool, error) {
	return newCoreTool[coreReplaceParams](ctx, k, CoreMemoryReplace, StageCoreReplaceTool, k.text.Replace, k.replace)
}

func (k *coreKit) append(ctx context.Context, a *coreArguments) (string, error) {
	r := &core.Edit{Block: a.block(), Text: a.Text.or(a.Content).text}
	switch {
	case r.Block == "":
		return "", k.refuse(k.text.NoBlock, k.names())
	case strings.TrimSpace(r.Text) == "":
		return "", refusal(k.text.NoText)
	}
	var err error
	if r.Scope, err = currentScope(ctx, k.Scope); err != nil {
		return "", err
	}
	r.IdempotencyKey = coreCallKey(ctx, r.Scope, CoreMemoryAppend, r.Block, r.Text)
	ctx, cancel := within(ctx, k.Timeout)
	defer cancel()
	v, err := k.Blocks.Append(ctx, r)
	return k.show(k.text.Appended, r.Block, v, err)
}

func (k *coreKit) replace(ctx context.Context, a *coreArguments) (string, error) {
	text := a.NewText.or(a.NewContent)
	r := &core.Edit{Block: a.block(), Old: a.OldText.or(a.OldContent).text, Text: text.text}
	switch {
	case r.Block == "":
		return "", k.refuse(k.text.NoBlock, k.names())
	case r.Old == "":
		return "", refusal(k.text.NoOldText)
	case !text.set: // a slip must not delete
		return "", refusal(k.text.NoNewText)
	}
	var err error
	if r.Scope, err = currentScope(ctx, k.Scope); err != nil {
		return "", err
	}
	r.IdempotencyKey = coreCallKey(ctx, r.Scope, CoreMemoryReplace, r.Block, r.Old, r.Text)
	ctx, cancel := within(ctx, k.Timeout)
	defer cancel()
	v, err := k.Blocks.Replace(ctx, r)
	return k.show(k.text.Replaced, r.Block, v, err)
}

// show words what an edit came to.
func (k *coreKit) show(done, block string, v *core.Value, err error) (string, error) {
	if err != nil {
		return "", k.refused(block, err)
	}
	if v.Replayed {
		done = k.text.Replayed
	}
	head := fmt.Sprintf(done, v.Block.Name) + fmt.Sprintf(k.text.Holds, v.Size, v.Block.Limit, max(0, v.Block.Limit-v.Size))
	return head + k.text.held(v.Shown), nil
}

// refused words an edit that cannot be for the model, and leaves other errors.
func (k *coreKit) refused(block string, err error) error {
	var limit *core.LimitError
	var match *core.MatchError
	switch {
	case errors.As(err, &limit):
		return k.refuse(k.text.TooLong, limit.Block, limit.Asked, limit.Limit, limit.Size, limit.Asked-limit.Limit)
	case errors.As(err, &match) && match.Count == 0:
		return refusal(fmt.Sprintf(k.text.NoMatch, match.Block) + k.text.held(match.Shown))
	case errors.As(err, &match):
		return k.refuse(k.text.ManyMatches, fmt.Sprint(match.Count), match.Block)
	case errors.Is(err, backends.ErrNotFound):
		return k.refuse(k.text.Unknown, clip(block, 60), k.names())
	case errors.Is(err, backends.ErrInvalid) && !slices.ContainsFunc(k.editable, func(b core.Block) bool { return b.Name == block }):
		return k.refuse(k.text.ReadOnly, block, k.names())
	}
	return err
}

func (k *coreKit) refuse(format string, args ...any) error {
	return refusal(fmt.Sprintf(format, args...))
}

// names lists the blocks that can be edited.
func (k *coreKit) names() string {
	names := make([]string, len(k.editable))
	for i := range k.editable {
		names[i] = k.editable[i].Name
	}
	return strings.Join(names, ", ")
}

// coreCallKey names a tool call, so that a run that is resumed may repeat it. See
// callKey. The user is part of it, because a block may be many users'.
func coreCallKey(ctx context.Context, s backends.Scope, name string, arguments ...string) string {
	call := compose.GetToolCallID(ctx)
	if call == "" {
		return ""
	}
	sum := sha256.New()
	for _, part := range append([]string{s.UserID, s.AgentID, s.SessionID, call}, arguments...) {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return name + "/" + hex.EncodeToString(sum.Sum(nil)[:16])
}
