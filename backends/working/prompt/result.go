// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"errors"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
)

// Prompt is what a model is asked with.
type Prompt struct {
	// Messages go to the model. The slice is the caller's own.
	Messages []*schema.Message
	// Hits are what the search found, best first, whether shown or not.
	Hits []backends.Hit
	// Shown are the ids of the hits that the prompt has a line for. The others did
	// not fit, or the prompt shows their text already.
	Shown []string
	// LeftOut is how many messages of the history, after it was compacted, did not
	// fit and are not in the prompt. The log has them.
	LeftOut int
	// Usage says how full the prompt is.
	Usage compaction.Usage
	// Compacted tells what the compactor did: its steps, and what models were asked
	// for. Nil when it was not asked.
	Compacted *compaction.Result
	// Degraded is why the search answered less well than it could have, see
	// [backends.SearchResponse]. Nil when it did not.
	Degraded error
	// Failed tells which parts are missing, and why.
	Failed Failures
}

// Failures are the errors of the parts of a prompt; nil is a part that is there,
// or was not asked for.
type Failures struct {
	Core       error // the core blocks
	History    error
	Compaction error // a step of the compaction; the others did its work
	Summary    error // a summary is in the prompt, but could not be kept with the session
	Memories   error // the search
}

// Err returns all of them as one error, or nil.
func (f Failures) Err() error {
	return errors.Join(f.Core, f.History, f.Compaction, f.Summary, f.Memories)
}
