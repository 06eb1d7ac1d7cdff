// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"maps"

	"github.com/einomem/einomem/backends/reme/trajectory"
)

// redacted returns a trajectory as it may be shown and kept.
func (e *Extractor) redacted(t *trajectory.Trajectory) trajectory.Trajectory {
	if e.config.Redact == nil {
		return *t
	}
	out := t.Redacted(e.config.Redact)
	if note, ok := t.Metadata[NoteKey].(string); ok {
		out.Metadata = maps.Clone(t.Metadata)
		out.Metadata[NoteKey] = e.config.Redact(note)
	}
	return out
}
