// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// Trajectory is an agent's attempt at a task, and how well it went. Its methods only
// read it: it is safe for concurrent use as long as nobody changes it.
type Trajectory struct {
	TaskID   string            // which task; attempts of one task are compared. Optional.
	Query    string            // what was asked for; "query" of the metadata in JSON. Optional, see [Trajectory.Task].
	Messages []*schema.Message // what was said and done, in order. Required.
	Score    float64           // 1 is full success, 0 failure
	Metadata map[string]any    // JSON values. Optional.
	Extra    map[string]any    // what else the JSON object held; written again. Optional.

	Session  string    // the session that it is from. Optional.
	Turn     string    // the turn that it is from. Optional.
	Observed time.Time // when it ended. Optional.

	key string // which task, where the words for it were redacted; see Redacted
}

// Validate returns ErrInvalid for a trajectory that teaches nothing whatever is done
// with it: without a message of the conversation, with a role that there is not, or
// with a score that is no number.
func (t *Trajectory) Validate() error {
	if math.IsNaN(t.Score) || math.IsInf(t.Score, 0) {
		return fmt.Errorf("trajectory %q: %w: the score is %v; use 1 for full success and 0 for failure", t.TaskID, backends.ErrInvalid, t.Score)
	}
	said := 0
	for i, m := range t.Messages {
		switch {
		case m == nil:
			return fmt.Errorf("trajectory %q: message %d: %w: it is nil", t.TaskID, i, backends.ErrInvalid)
		case m.Role != schema.System && m.Role != schema.User && m.Role != schema.Assistant && m.Role != schema.Tool:
			return fmt.Errorf("trajectory %q: message %d: %w: role %q; use system, user, assistant or tool", t.TaskID, i, backends.ErrInvalid, m.Role)
		case shown(m):
			said++
		}
	}
	if said == 0 {
		return fmt.Errorf("trajectory %q: %w: it has no messages to learn from", t.TaskID, backends.ErrInvalid)
	}
	return nil
}

// Task returns what the task was: the query, else the first words of the user.
func (t *Trajectory) Task() string {
	if q := strings.TrimSpace(t.Query); q != "" {
		return q
	}
	for _, m := range t.Messages {
		if m != nil && m.Role == schema.User && shown(m) && !einox.IsRetold(m) {
			if text := einox.Text(m); text != "" {
				return text
			}
		}
	}
	return ""
}

// shown reports whether a message is part of what was done: neither the system
// prompt nor a note of memory's own.
func shown(m *schema.Message) bool {
	return m != nil && m.Role != schema.System && !einox.IsNote(m) && !einox.IsDigest(m)
}
