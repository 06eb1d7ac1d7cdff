// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import "github.com/cloudwego/eino/components/model"

// Default returns all steps in their order, from free to costly: those that call no
// model, then summaries by m, and last what brings the context into its budget
// when the model fails. Without a model it is [Free].
func Default(m model.BaseChatModel) []Step {
	if m == nil {
		return Free()
	}
	return []Step{
		DropDerived{}, OffloadTools{}, OffloadMessages{},
		SummarizeRounds{Model: m}, SummarizeCurrent{Model: m},
		ArchiveRounds{}, ArchiveCurrent{},
	}
}

// Free returns the steps that call no model, in their order: what is derived goes
// first, then what is large and old, then whole rounds, then the older part of the
// running round.
func Free() []Step {
	return []Step{DropDerived{}, OffloadTools{}, OffloadMessages{}, ArchiveRounds{}, ArchiveCurrent{}}
}
