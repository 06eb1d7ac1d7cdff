// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/text"
)

// The names of the tools that [Blocks.Tools] makes.
const (
	appendTool  = "core_memory_append"
	replaceTool = "core_memory_replace"
)

// Tools returns the tools by which an agent edits the writable blocks within their limits:
// core_memory_append(block, text) and core_memory_replace(block, old_text, new_text). It returns
// none where all blocks are read-only. Set Config.Tools for the blocks, so that the prompt names
// the tools. A call that a resumed run repeats is carried out once. Errors become text for the
// model. A setup that lacks a Scope is ErrInvalid.
func (b *Blocks) Tools(_ context.Context, setup *backends.ToolSetup) ([]tool.BaseTool, error) {
	k := &editTools{Kit: agenttool.Kit{ToolSetup: *setup}, blocks: b, text: phrasesIn[setup.Language.For()]}
	k.Texts, k.Advice = k.text.tools, k.text.advice
	if err := k.Init(); err != nil {
		return nil, fmt.Errorf("core: tools: %w", err)
	}
	listing := "\n" + k.text.blocks
	for _, b := range k.blocks.Blocks() {
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
		return nil, nil
	}
	for _, info := range []*schema.ToolInfo{
		agenttool.Define(&k.Kit, agenttool.Spec{Name: appendTool, Writes: true, Asks: true}, k.appendToBlock),
		agenttool.Define(&k.Kit, agenttool.Spec{Name: replaceTool, Writes: true, Asks: true}, k.replaceInBlock),
	} {
		info.Desc += listing
		if params, err := info.ToJSONSchema(); err == nil { // Define reports its errors
			for _, name := range k.editable {
				block := params.Properties.Value("block")
				block.Enum = append(block.Enum, name)
			}
		}
	}
	return k.Tools()
}

// editTools are the tools of one call of Tools.
type editTools struct {
	agenttool.Kit
	blocks   *Blocks
	text     *phrases
	editable []string // the names of the blocks that the agent edits
}

type appendArguments struct {
	Block string `json:"block" alias:"label,name" jsonschema:"required"`
	Text  string `json:"text" alias:"content" jsonschema:"required"`
}

type replaceArguments struct {
	Block   string  `json:"block" alias:"label,name" jsonschema:"required"`
	OldText string  `json:"old_text" alias:"old_content" jsonschema:"required"`
	NewText *string `json:"new_text" alias:"new_content" jsonschema:"required"` // a pointer, to tell an empty text from a missing one
}

// block returns the name of the block that p means. It refuses unknown and read-only blocks.
func (k *editTools) block(p string) (string, error) {
	name := strings.ToLower(strings.Trim(p, " \t\r\n\"'`<>[]"))
	if !slices.Contains(k.editable, name) {
		return "", agenttool.Refusef(k.text.noBlock, text.Line(name, 80), strings.Join(k.editable, ", "))
	}
	return name, nil
}

func (k *editTools) appendToBlock(ctx context.Context, scope backends.Scope, a *appendArguments) (string, error) {
	return k.edit(ctx, appendTool, k.blocks.Append, &Edit{Scope: scope, Block: a.Block, Text: a.Text}, k.text.appended)
}

func (k *editTools) replaceInBlock(ctx context.Context, scope backends.Scope, a *replaceArguments) (string, error) {
	return k.edit(ctx, replaceTool, k.blocks.Replace, &Edit{Scope: scope, Block: a.Block, Old: a.OldText, Text: *a.NewText}, k.text.replaced)
}

// edit makes one edit and returns the answer for the model, which begins with done.
func (k *editTools) edit(ctx context.Context, tool string, do func(context.Context, *Edit) (*Value, error), r *Edit, done string) (string, error) {
	var err error
	if r.Block, err = k.block(r.Block); err != nil {
		return "", err
	}
	r.Confirm = k.ConfirmAs(tool)
	r.IdempotencyKey = agenttool.CallKey(ctx, r.Scope, tool, r.Block, r.Old, r.Text)
	v, err := do(ctx, r)
	var match *MatchError
	switch {
	case errors.As(err, &match):
		return "", agenttool.Refusal(k.Failure(tool, err) + k.heldText(match.Shown))
	case err != nil:
		return "", err
	case v.Replayed:
		done = k.text.replayed
	}
	return fmt.Sprintf(done, v.Block.Name) + fmt.Sprintf(k.text.holds, v.Size, v.Block.Limit, max(0, v.Block.Limit-v.Size)) + k.heldText(v.Shown), nil
}

// heldText shows the text of a block, on lines of its own.
func (k *editTools) heldText(shown string) string {
	if shown == "" {
		return "\n" + k.text.empty
	}
	return "\n<text>\n" + text.Truncate(shown, agenttool.MaxResultRunes) + "\n</text>"
}
