// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// object is a JSON object with its values as they are written.
type object map[string]json.RawMessage

// MarshalJSON writes the trajectory as ReMe 0.2 knows it: task_id, messages, score
// and metadata, in which the query stands. Messages are those of OpenAI's protocol.
// Session, turn and time have keys of their own.
func (t Trajectory) MarshalJSON() ([]byte, error) {
	out := maps.Clone(t.Extra)
	if out == nil {
		out = map[string]any{}
	}
	messages := make([]map[string]any, len(t.Messages))
	for i, m := range t.Messages {
		if m == nil {
			return nil, fmt.Errorf("trajectory %q: message %d: %w: it is nil", t.TaskID, i, backends.ErrInvalid)
		}
		messages[i] = wireOf(m)
	}
	metadata := maps.Clone(t.Metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	if t.Query != "" {
		metadata["query"] = t.Query
	}
	out["task_id"], out["messages"], out["score"], out["metadata"] = t.TaskID, messages, t.Score, metadata
	setText(out, "session", t.Session)
	setText(out, "turn", t.Turn)
	if !t.Observed.IsZero() {
		out["observed"] = t.Observed
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and what clients of ReMe send: a content
// that is a text or parts, tool calls whose arguments are a text or an object, results
// that do not say which call they answer, a score that is a text or a truth. The query
// is that of the metadata, else one beside them. Keys that are not known are kept.
// What is no trajectory is ErrInvalid.
func (t *Trajectory) UnmarshalJSON(data []byte) error {
	var in object
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("trajectory: %w: %w", backends.ErrInvalid, err)
	}
	if in == nil {
		return fmt.Errorf("trajectory: %w: it is null", backends.ErrInvalid)
	}
	var out Trajectory
	if err := out.read(in); err != nil {
		return fmt.Errorf("trajectory: %w: %w", backends.ErrInvalid, err)
	}
	*t = out
	return nil
}

func (t *Trajectory) read(in object) error {
	var raw []json.RawMessage
	var score any
	for key, into := range map[string]any{
		"task_id": (*looseText)(&t.TaskID), "messages": &raw, "score": &score, "metadata": &t.Metadata,
		"session": &t.Session, "turn": &t.Turn, "observed": &t.Observed,
	} {
		if err := in.take(key, into); err != nil {
			return err
		}
	}
	if query, ok := t.Metadata["query"].(string); ok {
		t.Query = query
	} else if json.Unmarshal(in["query"], &t.Query) == nil {
		delete(in, "query")
	}
	var err error
	if t.Score, err = scoreIn(score); err != nil {
		return err
	}
	for i := range raw {
		m, err := messageIn(raw[i])
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		t.Messages = append(t.Messages, m)
	}
	t.Extra = in.rest()
	if t.Observed.IsZero() {
		t.Observed = lastTime(t.Messages)
	}
	return nil
}

// take reads the value of a key, if there is one that is not null, and takes it out.
func (o object) take(key string, into any) error {
	raw, ok := o[key]
	delete(o, key)
	if !ok || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// rest returns what was not taken.
func (o object) rest() map[string]any {
	if len(o) == 0 {
		return nil
	}
	out := make(map[string]any, len(o))
	for _, key := range slices.Collect(maps.Keys(o)) {
		var v any
		_ = json.Unmarshal(o[key], &v) // it was read as a value once
		out[key] = v
	}
	return out
}

// looseText is a text that may be written as a number.
type looseText string

func (t *looseText) UnmarshalJSON(data []byte) error {
	var n json.Number
	if json.Unmarshal(data, &n) == nil {
		*t = looseText(n)
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

func scoreIn(v any) (float64, error) {
	switch x := v.(type) {
	case nil:
		return 0, nil
	case float64:
		return x, nil
	case bool:
		if x {
			return 1, nil
		}
		return 0, nil
	case string:
		return strconv.ParseFloat(strings.TrimSpace(x), 64)
	}
	return 0, fmt.Errorf("score: %v is no number", v)
}

// timeLayouts are those in which clients write the time of a message; without a zone
// it is UTC.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05"}

// lastTime returns when the last message that says it was made.
func lastTime(messages []*schema.Message) time.Time {
	for _, m := range slices.Backward(messages) {
		text, _ := m.Extra["time_created"].(string)
		for _, layout := range timeLayouts {
			if at, err := time.Parse(layout, text); err == nil {
				return at.UTC()
			}
		}
	}
	return time.Time{}
}

func setText(to map[string]any, key, text string) {
	if text != "" {
		to[key] = text
	}
}
