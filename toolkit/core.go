// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/text"
)

type appendArguments struct {
	Block string `json:"block" alias:"label,name" jsonschema:"required"`
	Text  string `json:"text" alias:"content" jsonschema:"required"`
}

type replaceArguments struct {
	Block   string  `json:"block" alias:"label,name" jsonschema:"required"`
	OldText string  `json:"old_text" alias:"old_content" jsonschema:"required"`
	NewText *string `json:"new_text" alias:"new_content" jsonschema:"required"` // a pointer, so that an empty text is none that is missing
}

func (k *kit) coreTools() {
	listing := "\n" + k.text.blocks
	for _, b := range k.Blocks.Blocks() {
		if b.ReadOnly {
			continue
		}
		k.editable = append(k.editable, b.Name)
		listing += "\n" + fmt.Sprintf(k.text.block, b.Name, b.Limit)
		if d := strings.Join(strings.Fields(b.Description), " "); d != "" {
			listing += k.text.colon + d
		}
	}
	if len(k.editable) == 0 {
		return
	}
	for _, info := range []*schema.ToolInfo{
		define(k, CoreMemoryAppend, nil, k.appendToBlock),
		define(k, CoreMemoryReplace, nil, k.replaceInBlock),
	} {
		info.Desc += listing
		if params, err := info.ToJSONSchema(); err == nil { // define reports its errors
			for _, name := range k.editable {
				block := params.Properties.Value("block")
				block.Enum = append(block.Enum, name)
			}
		}
	}
}

// block returns the name of the block that is meant, or refuses one that there is not, or
// that is read-only.
func (k *kit) block(p string) (string, error) {
	name := strings.ToLower(strings.Trim(p, " \t\r\n\"'`<>[]"))
	if !slices.Contains(k.editable, name) {
		return "", refusef(k.text.noBlock, text.Line(name, 80), strings.Join(k.editable, ", "))
	}
	return name, nil
}

func (k *kit) appendToBlock(ctx context.Context, scope backends.Scope, a *appendArguments) (string, error) {
	return k.edit(ctx, CoreMemoryAppend, k.Blocks.Append, &core.Edit{Scope: scope, Block: a.Block, Text: a.Text}, k.text.appended)
}

func (k *kit) replaceInBlock(ctx context.Context, scope backends.Scope, a *replaceArguments) (string, error) {
	return k.edit(ctx, CoreMemoryReplace, k.Blocks.Replace, &core.Edit{Scope: scope, Block: a.Block, Old: a.OldText, Text: *a.NewText}, k.text.replaced)
}

// edit makes one edit, and returns what the model reads of it, which begins with done.
func (k *kit) edit(ctx context.Context, tool string, do func(context.Context, *core.Edit) (*core.Value, error), r *core.Edit, done string) (string, error) {
	var err error
	if r.Block, err = k.block(r.Block); err != nil {
		return "", err
	}
	r.Confirm = k.confirm(tool)
	r.IdempotencyKey = callKey(ctx, r.Scope, tool, r.Block, r.Old, r.Text)
	v, err := do(ctx, r)
	var match *core.MatchError
	switch {
	case errors.As(err, &match):
		return "", refusal(k.failure(tool, err) + k.heldText(match.Shown))
	case err != nil:
		return "", err
	case v.Replayed:
		done = k.text.replayed
	}
	return fmt.Sprintf(done, v.Block.Name) + fmt.Sprintf(k.text.holds, v.Size, v.Block.Limit, max(0, v.Block.Limit-v.Size)) + k.heldText(v.Shown), nil
}

// heldText shows what a block holds, on lines of its own.
func (k *kit) heldText(shown string) string {
	if shown == "" {
		return "\n" + k.text.empty
	}
	return "\n<text>\n" + text.Truncate(shown, maxResultRunes) + "\n</text>"
}
