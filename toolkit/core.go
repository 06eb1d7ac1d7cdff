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
	name, err := k.block(a.Block)
	if err != nil {
		return "", err
	}
	r := &core.Edit{Scope: scope, Block: name, Text: a.Text, Confirm: k.confirm(CoreMemoryAppend)}
	r.IdempotencyKey = callKey(ctx, scope, CoreMemoryAppend, r.Block, r.Text)
	v, err := k.Blocks.Append(ctx, r)
	if err != nil {
		return "", err
	}
	return k.showEdit(k.text.appended, v), nil
}

func (k *kit) replaceInBlock(ctx context.Context, scope backends.Scope, a *replaceArguments) (string, error) {
	name, err := k.block(a.Block)
	if err != nil {
		return "", err
	}
	r := &core.Edit{Scope: scope, Block: name, Old: a.OldText, Text: *a.NewText, Confirm: k.confirm(CoreMemoryReplace)}
	r.IdempotencyKey = callKey(ctx, scope, CoreMemoryReplace, r.Block, r.Old, r.Text)
	v, err := k.Blocks.Replace(ctx, r)
	var match *core.MatchError
	switch {
	case errors.As(err, &match):
		return "", refusal(k.failure(CoreMemoryReplace, err) + k.heldText(match.Shown))
	case err != nil:
		return "", err
	}
	return k.showEdit(k.text.replaced, v), nil
}

// showEdit returns what the model reads of an edit.
func (k *kit) showEdit(done string, v *core.Value) string {
	if v.Replayed {
		done = k.text.replayed
	}
	return fmt.Sprintf(done, v.Block.Name) + fmt.Sprintf(k.text.holds, v.Size, v.Block.Limit, max(0, v.Block.Limit-v.Size)) + k.heldText(v.Shown)
}

// heldText shows what a block holds, on lines of its own.
func (k *kit) heldText(shown string) string {
	if shown == "" {
		return "\n" + k.text.empty
	}
	return "\n<text>\n" + text.Truncate(shown, maxResultRunes) + "\n</text>"
}
