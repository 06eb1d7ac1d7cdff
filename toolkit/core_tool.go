// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// newCoreTool makes a tool whose parameters are those of struct T, and none of whose
// errors ends a run.
func newCoreTool[T any](k *coreKit, name, stage string, d toolText, run func(context.Context, *coreArguments) (string, error)) (tool.BaseTool, error) {
	info, err := utils.GoStruct2ToolInfo[T](name, d.Desc+"\n"+k.listing())
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", name, err)
	}
	params, err := info.ToJSONSchema()
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", name, err)
	}
	for p := params.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = d.Params[p.Key]
		if p.Key == "block" {
			for i := range k.editable {
				p.Value.Enum = append(p.Value.Enum, k.editable[i].Name)
			}
		}
	}
	call := &call{info: info, run: func(ctx context.Context, arguments string) (string, error) {
		var args coreArguments
		if err := decode(arguments, &args); err != nil {
			return "", k.refuse(k.text.Unreadable, name, clip(err.Error(), maxErrorRunes))
		}
		return run(ctx, &args)
	}}
	onErr := func(ctx context.Context, err error) string {
		var r refusal
		if errors.As(err, &r) {
			return string(r)
		}
		if ctx.Err() == nil { // else the run ends, and nobody reads this
			k.report(ctx, stage, err)
		}
		return d.Failed + ": " + clip(err.Error(), maxErrorRunes) + "\n" + k.advice(err)
	}
	return einox.SafeTool(call, onErr), nil
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

func (k *coreKit) advice(err error) string {
	a := &k.text.Advice
	switch {
	case errors.Is(err, backends.ErrNoScope):
		return a.NoScope
	case errors.Is(err, backends.ErrConflict):
		return a.Conflict
	case errors.Is(err, backends.ErrInvalid):
		return a.Invalid
	}
	return a.Unavailable
}
