// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// adopt makes the memory of an entry one of the workspace: its scope, its id, and
// its texts redacted.
func (l *Library) adopt(at *place, e *entry) error {
	m := &e.record.Memory
	m.Scope.Namespace, m.Scope.Workspace, m.Version = at.scope.Namespace, at.scope.Workspace, 0
	m.Text, m.WhenToUse, m.Origin.Author = l.keeper.Redact(m.Text), l.keeper.Redact(m.WhenToUse), l.keeper.Redact(m.Origin.Author)
	m.Metadata, _ = l.keeper.RedactJSON(m.Metadata).(map[string]any)
	if m.Created.IsZero() {
		m.Created = l.keeper.Stamps(1)
	}
	if m.Updated.IsZero() {
		m.Updated = m.Created
	}
	identify(at.partition, e)
	put := store.Batch{Mutations: []store.Mutation{store.Put(e.record)}}
	if err := put.Validate(); err != nil {
		return fmt.Errorf("line %d: %w", e.line, err)
	}
	if m.Kind == backends.KindCore {
		return fmt.Errorf("line %d: %w: core blocks are no part of a library: Set of package core writes them", e.line, backends.ErrInvalid)
	}
	return nil
}

// identify gives the memory an id where it has none, and the memory of a tool the
// one by which tool memory finds it: a workspace has one for each tool.
func identify(p backends.Partition, e *entry) {
	m := &e.record.Memory
	given := m.ID
	e.given = given
	switch tool := strings.TrimSpace(m.WhenToUse); {
	case m.Kind == backends.KindTool && tool != "":
		m.ID = keeper.ContentID(p, m.Kind, tool)
	case m.ID == "":
		m.ID = keeper.ContentID(p, m.Kind, m.WhenToUse, m.Text)
		e.nameless = true
	}
	if given == "" || given == m.ID || !e.foreign {
		return
	}
	extra, _ := m.Metadata[extraKey].(map[string]any)
	if extra == nil {
		extra = map[string]any{}
	}
	extra["memory_id"] = given
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	m.Metadata[extraKey] = extra
}
