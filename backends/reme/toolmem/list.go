// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Names returns the names of the tools of a workspace of which calls are kept or a
// guideline stands, in order. It reads the list of the workspace's sessions and of its
// memories.
func (m *Memory) Names(ctx context.Context, s backends.Scope) ([]string, error) {
	_, p, err := m.partition(ctx, s)
	if err != nil {
		return nil, err
	}
	all, err := m.list(ctx, p)
	if err != nil {
		return nil, err
	}
	memories, err := m.keeper.All(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, memory := range memories {
		if name := cardName(p, memory); name != "" && memory.Active() && !memory.Expired(m.cfg.Clock()) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// cardName returns the tool that a memory is the card of; "" for any other, also of
// kind tool.
func cardName(p backends.Partition, memory *backends.Memory) string {
	name := strings.TrimSpace(memory.WhenToUse)
	if memory.Kind != backends.KindTool || memory.ID != cardID(p, name) {
		return ""
	}
	return name
}

// list returns the tools with kept calls, in order.
func (m *Memory) list(ctx context.Context, p backends.Partition) ([]string, error) {
	read := months(m.cfg.Clock(), m.cfg.Keep)
	var all []string
	for cursor := ""; ; {
		page, err := m.cfg.Sessions.List(ctx, store.SessionQuery{Partition: &p, Page: store.Page{Cursor: cursor, Limit: 1000}})
		if err != nil {
			return nil, fmt.Errorf("toolmem: listing the tools of %s: %w", p, err)
		}
		for i := range page.Sessions {
			id := page.Sessions[i].ID
			name, ok := logTool(id)
			if !slices.Contains(read, id[strings.LastIndex(id, "/")+1:]) {
				continue // too old to be looked at
			}
			if ok && name == "" {
				if name, err = m.nameInside(ctx, p, id); err != nil {
					return nil, err
				}
			}
			if name != "" {
				all = append(all, name)
			}
		}
		if cursor = page.Next; cursor == "" {
			slices.Sort(all)
			return slices.Compact(all), nil
		}
	}
}

// nameInside returns the tool's name of a log whose id does not hold it: that of its
// newest call.
func (m *Memory) nameInside(ctx context.Context, p backends.Partition, session string) (string, error) {
	entries, err := m.cfg.Sessions.Read(ctx, p, session, store.Range{Limit: 1, Last: true})
	if err != nil {
		return "", fmt.Errorf("toolmem: reading the name of a tool of %s: %w", p, err)
	}
	if len(entries) == 0 {
		return "", nil
	}
	return entries[0].ToolName, nil
}
