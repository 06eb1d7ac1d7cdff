// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import "context"

type DropDerived struct{}

func (DropDerived) Name() string                              { return "drop_derived" }
func (DropDerived) Apply(_ context.Context, _ *Context) error { return nil }

type OffloadTools struct {
	Over       int
	KeepRecent int
	Preview    int
}

func (OffloadTools) Name() string                              { return "offload_tools" }
func (OffloadTools) Apply(_ context.Context, _ *Context) error { return nil }

type OffloadMessages struct {
	Over       int
	KeepRecent int
	Preview    int
}

func (OffloadMessages) Name() string                              { return "offload_messages" }
func (OffloadMessages) Apply(_ context.Context, _ *Context) error { return nil }

type ArchiveRounds struct{}

func (ArchiveRounds) Name() string                              { return "archive_rounds" }
func (ArchiveRounds) Apply(_ context.Context, _ *Context) error { return nil }

type ArchiveCurrent struct{}

func (ArchiveCurrent) Name() string                              { return "archive_current" }
func (ArchiveCurrent) Apply(_ context.Context, _ *Context) error { return nil }
