// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"maps"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/einox"
)

// redacted returns a trajectory as it may be shown and kept. The messages of t stay as
// they are.
func (e *Extractor) redacted(t *trajectory.Trajectory) trajectory.Trajectory {
	out, redact := *t, e.config.Redact
	if redact == nil {
		return out
	}
	out.TaskID, out.Query = redact(t.TaskID), redact(t.Query)
	if note, ok := t.Metadata[NoteKey].(string); ok {
		out.Metadata = maps.Clone(t.Metadata)
		out.Metadata[NoteKey] = redact(note)
	}
	out.Messages = make([]*schema.Message, len(t.Messages))
	for i, m := range t.Messages {
		c := einox.Stored(m, redact)
		c.Name, c.Extra = redact(m.Name), m.Extra // by which memory's own notes are known
		out.Messages[i] = c
	}
	return out
}
