// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/einox"
)

// NoteKey is the key of a trajectory's metadata for a remark on the outcome, in words. The model
// that learns sees it.
const NoteKey = "note"

// Trajectory is an agent's attempt at a task, with its score. Its JSON is ReMe 0.2's, with messages
// in OpenAI's protocol.
type Trajectory struct {
	TaskID string `json:"task_id,omitempty"` // The id of the task; attempts at one task are compared. Optional.
	// Query is the request of the user. Optional. Defaults to "query" of the metadata, else to the
	// first words of the user.
	Query    string            `json:"query,omitempty"`
	Messages []*schema.Message `json:"messages"`           // Words and actions, in order. Required.
	Score    float64           `json:"score"`              // 1 is full success, 0 failure.
	Metadata map[string]any    `json:"metadata,omitempty"` // May hold [NoteKey]. Optional.

	Session  string    `json:"session,omitempty"` // Its session. Optional.
	Turn     string    `json:"turn,omitempty"`    // Its turn. Optional.
	Observed time.Time `json:"observed,omitzero"` // When it ended. Optional.
}

// validate returns ErrInvalid for a useless trajectory: without a message of the conversation, or
// with a score of NaN or infinity.
func (t *Trajectory) validate() error {
	if math.IsNaN(t.Score) || math.IsInf(t.Score, 0) {
		return fmt.Errorf("trajectory %q: %w: the score is %v; use 1 for full success and 0 for failure", t.TaskID, backends.ErrInvalid, t.Score)
	}
	for i, m := range t.Messages {
		if m == nil {
			return fmt.Errorf("trajectory %q: message %d: %w: it is nil", t.TaskID, i, backends.ErrInvalid)
		}
	}
	if !slices.ContainsFunc(t.Messages, isStep) {
		return fmt.Errorf("trajectory %q: %w: it has no messages to learn from", t.TaskID, backends.ErrInvalid)
	}
	return nil
}

// isStep reports whether a message is a step of the work. The system prompt, notes of memory and
// digests are not.
func isStep(m *schema.Message) bool {
	return m.Role != schema.System && !einox.IsNote(m) && !einox.IsDigest(m)
}

// task returns what the task was, in words.
func (t *Trajectory) task() string {
	query, _ := t.Metadata["query"].(string)
	if q := cmp.Or(strings.TrimSpace(t.Query), strings.TrimSpace(query)); q != "" {
		return q
	}
	for _, m := range t.Messages {
		if m.Role == schema.User && isStep(m) && !einox.IsRetold(m) && einox.Text(m) != "" {
			return einox.Text(m)
		}
	}
	return ""
}

// key names the task among the trajectories of a request; it is empty for a nameless one.
func (t *Trajectory) key() string {
	if id := strings.TrimSpace(t.TaskID); id != "" {
		return "id " + id
	}
	return strings.Join(strings.Fields(t.task()), " ")
}

// redacted returns a copy to show and keep.
func (t *Trajectory) redacted(k *keeper.Keeper) *Trajectory {
	out := *t
	out.TaskID, out.Query = k.Redact(t.TaskID), k.Redact(t.Query)
	out.Metadata, _ = k.RedactJSON(t.Metadata).(map[string]any)
	out.Messages = make([]*schema.Message, len(t.Messages))
	for i, m := range t.Messages {
		c := einox.Stored(m, k.Redact)
		c.Name, c.Extra = k.Redact(m.Name), m.Extra // Extra marks notes of memory
		out.Messages[i] = c
	}
	return &out
}

// attempt is a trajectory prepared for learning.
type attempt struct {
	*Trajectory        // redacted
	key         string // names the task, by the words before redaction
	success     bool
	language    backends.Language
	steps       []step
}

// step is a message of an attempt, with its number, from 1.
type step struct {
	number  int
	message *schema.Message
	tool    string // of a tool's result: the name of the tool, if known
}

// attempts prepares trajectories for learning.
func (m *Memory) attempts(ts []Trajectory, threshold float64) []*attempt {
	out := make([]*attempt, len(ts))
	for i := range ts {
		a := &attempt{Trajectory: ts[i].redacted(m.keeper), key: ts[i].key(), success: ts[i].Score >= threshold}
		a.steps = stepsOf(a.Messages)
		texts := []string{a.task()}
		for _, s := range a.steps {
			if s.message.Role != schema.Tool { // words of people and models, in whatever language tools answer
				texts = append(texts, einox.Text(s.message))
			}
		}
		a.language = m.language.For(texts...)
		out[i] = a
	}
	return out
}

func stepsOf(messages []*schema.Message) []step {
	var out []step
	var open []schema.ToolCall // still without a result
	for _, m := range messages {
		if !isStep(m) {
			continue
		}
		s := step{number: len(out) + 1, message: m}
		if m.Role == schema.Tool {
			answers := func(c schema.ToolCall) bool { return m.ToolCallID == "" || c.ID == m.ToolCallID }
			if i := slices.IndexFunc(open, answers); i >= 0 {
				s.tool = open[i].Function.Name
				open = slices.Delete(open, i, i+1)
			}
			s.tool = cmp.Or(m.ToolName, s.tool, m.Name)
		}
		open = append(open, callsOf(m)...)
		out = append(out, s)
	}
	return out
}

func callsOf(m *schema.Message) []schema.ToolCall {
	if m.Role != schema.Assistant {
		return nil
	}
	return m.ToolCalls
}

// pairsOf returns for each task the best and the worst of its attempts, if their scores differ. Of
// equal scores the first counts.
func pairsOf(attempts []*attempt) [][2]*attempt {
	var order []string
	groups := map[string]*[2]*attempt{}
	for _, a := range attempts {
		g := groups[a.key]
		switch {
		case a.key == "":
			continue
		case g == nil:
			groups[a.key] = &[2]*attempt{a, a}
			order = append(order, a.key)
		case a.Score > g[0].Score:
			g[0] = a
		case a.Score < g[1].Score:
			g[1] = a
		}
	}
	var out [][2]*attempt
	for _, key := range order {
		if g := groups[key]; g[0].Score > g[1].Score {
			out = append(out, *g)
		}
	}
	return out
}
