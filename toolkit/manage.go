// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
)

func (k *kit) updateTool() (tool.BaseTool, error) {
	return newTool[updateParams](&k.set, UpdateMemory, StageUpdateTool, k.text.Update, k.update)
}

func (k *kit) deleteTool() (tool.BaseTool, error) {
	return newTool[deleteParams](&k.set, DeleteMemory, StageDeleteTool, k.text.Delete, k.delete)
}

func (k *kit) update(ctx context.Context, arguments string) (string, error) {
	var args updateArguments
	if err := decode(arguments, &args); err != nil {
		return "", k.unreadable(UpdateMemory, err)
	}
	id, content := bare(args.ID), strings.Join(args.Content, "\n")
	switch {
	case id == "":
		return "", refusal(k.text.NoID)
	case content == "":
		return "", refusal(k.text.NoContent)
	}
	scope, err := k.scope(ctx)
	if err != nil {
		return "", err
	}
	m, err := k.manager.Update(ctx, &backends.UpdateRequest{Scope: scope, ID: id, Text: &content})
	if err != nil {
		return "", fmt.Errorf("memory %q: %w", clip(id, 60), err)
	}
	return fmt.Sprintf(k.text.Updated, m.ID, indent(clip(m.Text, maxMemoryRunes))), nil
}

func (k *kit) delete(ctx context.Context, arguments string) (string, error) {
	var args deleteArguments
	if err := decode(arguments, &args); err != nil {
		return "", k.unreadable(DeleteMemory, err)
	}
	id := bare(args.ID)
	if id == "" {
		return "", refusal(k.text.NoID)
	}
	scope, err := k.scope(ctx)
	if err != nil {
		return "", err
	}
	if err := k.manager.Delete(ctx, &backends.DeleteRequest{Scope: scope, ID: id}); err != nil {
		return "", fmt.Errorf("memory %q: %w", clip(id, 60), err)
	}
	return fmt.Sprintf(k.text.Deleted, clip(id, 60)), nil
}

// bare takes the brackets off an id that was copied from a bullet with them.
func bare(id text) string {
	s := strings.TrimSpace(string(id))
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// unreadable refuses arguments that are not what the tool takes.
func (k *kit) unreadable(tool string, err error) error {
	return refusal(fmt.Sprintf(k.text.Unreadable, tool, clip(err.Error(), maxErrorRunes)))
}
