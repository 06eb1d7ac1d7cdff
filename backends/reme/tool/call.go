// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
	"github.com/einomem/einomem/internal/text"
)

// Call is one call of a tool. As JSON it is a tool_call_result of ReMe: see
// [Call.MarshalJSON].
type Call struct {
	ID   string    `json:"id,omitempty"` // A call with a known ID is stored once. Optional. Defaults to a new one.
	Time time.Time `json:"-"`            // When it began. Optional. Defaults to now.
	Tool string    `json:"tool_name"`    // Required.

	// UserID is the user in whose run the call was made. It is stored. Only that user and the
	// program (a scope that names the workspace alone) get it back. Optional. Defaults to the user
	// of the scope; if the scope names one, it is that one.
	UserID string `json:"user_id,omitempty"`

	// Input is the input of the tool: a text, or any value that JSON can hold. Numbers in it are
	// json.Number after the storing. A call needs an input or an output.
	Input  any    `json:"input"`
	Output string `json:"output"`

	Failed bool   `json:"-"`               // it ended with an error
	Error  string `json:"error,omitempty"` // the error; a call with one failed

	Took   time.Duration `json:"-"`
	Tokens int           `json:"-"` // Of input and output; -1 is unknown. Optional. Defaults to an estimate.

	// Score is 1 for a useful result, 0 for a useless one; with nil rules score it. Judge is the
	// author of the score: "rules", or a name of the caller's.
	Score      *float64 `json:"score,omitempty"`
	Judge      string   `json:"judged_by,omitempty"`
	Summary    string   `json:"summary"`    // the judge's account, in a sentence
	Evaluation string   `json:"evaluation"` // the judge's view of its use, with reasons

	Summarized bool           `json:"is_summarized"` // ReMe's mark of calls that a guideline covers. Stored, otherwise ignored.
	Hash       string         `json:"call_hash"`     // Equal for repeats. Optional. Defaults to a hash of input and output.
	Metadata   map[string]any `json:"metadata"`      // the caller's own
}

// callFields are the fields of a call whose JSON is the same as in Go.
type callFields Call

// callJSON is a call in ReMe's form.
type callJSON struct {
	*callFields
	CreateTime string  `json:"create_time"`
	TokenCost  *int    `json:"token_cost"`
	Success    *bool   `json:"success"`
	TimeCost   float64 `json:"time_cost"`
}

// MarshalJSON writes the fields of ReMe's tool_call_result: create_time (RFC 3339), tool_name,
// input, output, token_cost (-1: unknown), success, time_cost (seconds), summary, evaluation,
// score, is_summarized, call_hash, metadata. It adds id, error and judged_by, which are unknown to
// ReMe. An unjudged call has no score.
func (c Call) MarshalJSON() ([]byte, error) {
	success := !c.failed()
	out := callJSON{callFields: (*callFields)(&c), TokenCost: &c.Tokens, Success: &success, TimeCost: c.Took.Seconds()}
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	if !c.Time.IsZero() {
		out.CreateTime = c.Time.UTC().Format(time.RFC3339Nano)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the output of [Call.MarshalJSON] and of ReMe. Absent fields have ReMe's
// defaults: success is true, token_cost unknown. A time without a zone is UTC.
func (c *Call) UnmarshalJSON(data []byte) error {
	*c = Call{Tokens: -1}
	in := callJSON{callFields: (*callFields)(c), TokenCost: &c.Tokens}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&in); err != nil {
		return fmt.Errorf("tool call: %w: %w", backends.ErrInvalid, err)
	}
	const century = 100 * 365 * 24 * 3600 // seconds
	c.Failed, c.Took = in.Success != nil && !*in.Success, time.Duration(min(max(in.TimeCost, 0), century)*float64(time.Second))
	if len(c.Metadata) == 0 {
		c.Metadata = nil
	}
	if c.Time = text.Time(in.CreateTime, time.UTC); in.CreateTime == "" || !c.Time.IsZero() {
		return nil
	}
	return fmt.Errorf("create_time %q of a tool call: %w: use RFC 3339 or YYYY-MM-DD HH:MM:SS", in.CreateTime, backends.ErrInvalid)
}

// maxText bounds a text of a call for the recorder, in bytes: it may wait in a queue.
const maxText = 256 << 10

// callOf returns a call of the contract. Arguments that are a JSON object become one. A failed call
// with an empty result takes its error as its output.
func callOf(t *backends.ToolCall) Call {
	c := Call{
		ID: t.ID, Time: t.Time, Tool: t.Tool, Took: t.Took, Tokens: t.Tokens, Failed: t.Error != "",
		Input: text.TruncateBytes(t.Arguments, maxText), Output: text.TruncateBytes(t.Result, maxText), Error: text.TruncateBytes(t.Error, maxText),
	}
	if v, err := decode([]byte(t.Arguments)); err == nil && len(t.Arguments) <= maxText {
		if o, ok := v.(map[string]any); ok {
			c.Input = o
		}
	}
	if c.Output == "" {
		c.Output = c.Error
	}
	return c
}

// clockSkew is how far clocks of different machines may be apart.
const clockSkew = 24 * time.Hour

// prepare returns a call in the form for the store: complete, redacted and bounded. The error gives
// the reason why it cannot be stored.
func (m *Memory) prepare(c Call) (Call, error) {
	now := m.keeper.Now()
	if c.Time.IsZero() {
		c.Time = now
	}
	if c.ID == "" {
		c.ID = backends.NewID()
	}
	c.Tool, c.Time = strings.TrimSpace(strings.ToValidUTF8(c.Tool, "\uFFFD")), c.Time.UTC().Truncate(time.Microsecond)
	input, noInput := normalise(c.Input)
	meta, noMeta := normalise(c.Metadata)
	c.Input = input
	c.Metadata, _ = meta.(map[string]any)
	switch err := errors.Join(noInput, noMeta); {
	case c.Tool == "":
		return c, errors.New("the name of the tool is missing")
	case c.Time.After(now.Add(clockSkew)):
		return c, fmt.Errorf("the call began at %s, which is in the future", c.Time.Format(time.RFC3339))
	case c.Time.Before(now.Add(-m.cfg.Keep)):
		return c, fmt.Errorf("the call of %s is older than the %v for which calls are kept: raise Config.Keep", c.Time.Format(time.RFC3339), m.cfg.Keep)
	case err != nil:
		return c, fmt.Errorf("input and metadata must be JSON: %w", err)
	case c.isEmpty():
		return c, errors.New("the call has neither an input nor an output")
	}
	if c.Tokens == 0 {
		c.Tokens = text.Tokens(readable(c.Input)) + text.Tokens(c.Output)
	}
	c.Tokens, c.Took, c.Failed = max(c.Tokens, -1), max(c.Took, 0), c.failed()
	if err := store.ValidateSession(logName(c.Tool, monthOf(c.Time))); err != nil {
		return c, fmt.Errorf("the name of the tool is too long to be stored: %w", err)
	}
	return m.clean(c), store.ValidateID("call", c.ID)
}

// clean redacts a call, hashes the rest, and then shortens its texts. So repeats have equal hashes
// however texts are shortened, and hashes cover no secrets.
func (m *Memory) clean(c Call) Call {
	c = c.with(m.redact)
	if c.Hash == "" || store.ValidateID("hash", c.Hash) != nil {
		c.Hash = hashOf(c.Input, c.Output)
	}
	if c.Score != nil {
		score := binary(*c.Score)
		c.Score = &score
	}
	input := shortInput(c.Input, maxArguments)
	c = c.with(func(s string) string { return text.Middle(s, maxResult) })
	c.Input = input
	return c
}

// with returns a call with all its texts changed by f. It empties fields that are named like
// secrets.
func (c Call) with(f func(string) string) Call {
	c.Input = redact.Value(c.Input, f)
	if c.Metadata != nil {
		c.Metadata, _ = redact.Value(c.Metadata, f).(map[string]any)
	}
	for _, s := range []*string{&c.Output, &c.Error, &c.Summary, &c.Evaluation, &c.Judge} {
		*s = f(*s)
	}
	return c
}

// binary makes a score 0 or 1, as ReMe does; NaN is 0.
func binary(score float64) float64 {
	if score >= 0.5 {
		return 1
	}
	return 0
}

// normalise returns a value as encoding/json decodes it, with numbers as json.Number; a
// text stays one.
func normalise(v any) (any, error) {
	switch x := v.(type) {
	case nil:
		return "", nil
	case string:
		return strings.ToValidUTF8(x, "\uFFFD"), nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() || !utf8.Valid(raw) {
		return nil, errors.New("more than one value, or not UTF-8")
	}
	return v, nil
}

// readable returns a normalised input for a reader: a text as it is, anything else as JSON.
func readable(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return encoded(v)
}

// encoded returns a normalised value as JSON.
func encoded(v any) string {
	s, _ := plan.Encode("", v) // v comes from decode
	return s
}

// shortInput bounds an input to so many characters of JSON. It shortens long texts in it first; if
// that is not enough, the input becomes a shortened text as a whole.
func shortInput(v any, limit int) any {
	if utf8.RuneCountInString(readable(v)) <= limit {
		return v
	}
	_, isText := v.(string)
	short := redact.Value(v, func(s string) string { return text.Middle(s, max(limit/8, 16)) })
	if isText || utf8.RuneCountInString(encoded(short)) > limit {
		return text.Middle(readable(v), limit)
	}
	return short
}

// hashOf returns the fingerprint of a call, which is equal for repeats.
func hashOf(input any, output string) string { return text.HashID(readable(input), output) }

func (c *Call) failed() bool { return c.Failed || c.Error != "" }

// isEmpty reports whether a call with a normalised input is empty.
func (c *Call) isEmpty() bool { return c.Input == "" && c.Output == "" && c.Error == "" }

// problem returns the problem in the words of the call: its error, or a result that reports one and
// was not judged to be useful. It is empty for a good call.
func (c *Call) problem() string {
	if !c.failed() && (c.Score != nil && *c.Score >= 0.5 || !reportsError(c.Output)) {
		return ""
	}
	return cmp.Or(c.Error, c.Output, "?")
}

// bad reports whether the call had a problem or a judge found its result useless.
func (c *Call) bad() bool { return c.problem() != "" || c.Score != nil && *c.Score < 0.5 }
