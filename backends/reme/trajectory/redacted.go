// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Redacted returns a copy with redact applied to the words for the task and to all that
// was said, called and returned; metadata stay. The messages of t stay as they are.
// Attempts at different tasks are never taken for attempts at one, whatever is left of
// the words for them.
func (t *Trajectory) Redacted(redact func(string) string) Trajectory {
	out := *t
	out.key, _ = t.taskKey()
	out.TaskID, out.Query = redact(t.TaskID), redact(t.Query)
	out.Messages = make([]*schema.Message, len(t.Messages))
	for i, m := range t.Messages {
		if m == nil {
			continue
		}
		c := einox.Stored(m, redact)
		c.Name, c.Extra = redact(m.Name), m.Extra // by which memory's own notes are known
		out.Messages[i] = c
	}
	return out
}
