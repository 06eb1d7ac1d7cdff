// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"
)

// newCoreTool makes a tool that names the blocks it can edit.
func newCoreTool[T any](ctx context.Context, k *coreKit, name, stage string, d toolText, run func(context.Context, *coreArguments) (string, error)) (tool.BaseTool, error) {
	d.Desc += "\n" + k.listing()
	t, err := newTool[T](&k.set, name, stage, d, func(ctx context.Context, arguments string) (string, error) {
		var args coreArguments
		if err := decode(arguments, &args); err != nil {
			return "", k.refuse(k.text.Unreadable, name, clip(err.Error(), maxErrorRunes))
		}
		return run(ctx, &args)
	})
	if err != nil {
		return nil, err
	}
	info, err := t.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", name, err)
	}
	params, err := info.ToJSONSchema()
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", name, err)
	}
	if block, ok := params.Properties.Get("block"); ok {
		for i := range k.editable {
			block.Enum = append(block.Enum, k.editable[i].Name)
		}
	}
	return t, nil
}

// listing describes the blocks that can be edited, a line each.
func (k *coreKit) listing() string {
	lines := []string{k.text.Blocks}
	for i := range k.editable {
		b := &k.editable[i]
		l := fmt.Sprintf(k.text.Block, b.Name, b.Limit)
		if d := strings.Join(strings.Fields(b.Description), " "); d != "" {
			l += k.text.Colon + d
		}
		lines = append(lines, l)
	}
	return strings.Join(lines, "\n")
}
