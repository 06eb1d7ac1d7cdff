// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
)

// Call is one call of a tool, as it is kept. As JSON it has the fields that ReMe
// gave a tool_call_result: see [Call.MarshalJSON].
type Call struct {
	ID   string    // unique in its tool and month: a known one is not recorded again. Optional. Defaults to a new one.
	Time time.Time // when it began. Optional. Defaults to now.
	Tool string    // Required. The tool's name.

	// Input is what the tool was called with: a string, or an object (any value that
	// JSON can say). A call needs an input or an output.
	Input  any
	Output string // what it returned

	Failed bool   // it ended with an error
	Error  string // which; a call with one failed

	Took   time.Duration
	Tokens int // of input and output; -1: not known. Optional. Defaults to an estimate.

	// Score is 1 for a result that serves, 0 for one that does not; nil: nobody
	// judged, and recording judges. Judge says who did: JudgeRules, JudgeModel, or
	// whoever gave it.
	Score      *float64
	Judge      string
	Summary    string // what happened, in a sentence; a judging model's
	Evaluation string // how good it was, and why; a judging model's

	Summarized bool           // ReMe's mark of calls that a guideline knows. Kept, not used: see Summarize.
	Hash       string         // see [Hash]. Optional. Defaults to that of Input and Output.
	Metadata   map[string]any // the caller's own
}

// callJSON is a call as ReMe writes it, and what ReMe has no field for.
type callJSON struct {
	ID         string         `json:"id,omitempty"`
	CreateTime string         `json:"create_time"`
	Tool       string         `json:"tool_name"`
	Input      any            `json:"input"`
	Output     string         `json:"output"`
	Error      string         `json:"error,omitempty"`
	TokenCost  *int           `json:"token_cost"`
	Success    *bool          `json:"success"`
	TimeCost   float64        `json:"time_cost"` // seconds
	Summary    string         `json:"summary"`
	Evaluation string         `json:"evaluation"`
	Score      *float64       `json:"score,omitempty"`
	Judge      string         `json:"judged_by,omitempty"`
	Summarized bool           `json:"is_summarized"`
	Hash       string         `json:"call_hash"`
	Metadata   map[string]any `json:"metadata"`
}

// MarshalJSON writes the fields of ReMe's tool_call_result: create_time (RFC 3339),
// tool_name, input, output, token_cost (-1: unknown), success, time_cost (seconds),
// summary, evaluation, score, is_summarized, call_hash, metadata; and id, error and
// judged_by, which ReMe does not know. A call that nobody judged has no score.
func (c Call) MarshalJSON() ([]byte, error) {
	input, err := plain(c.Input)
	if err != nil {
		return nil, fmt.Errorf("input of a call of tool %q: %w", c.Tool, err)
	}
	if input == nil {
		input = ""
	}
	success := !c.failed()
	out := callJSON{
		ID: c.ID, Tool: c.Tool, Input: input, Output: c.Output, Error: c.Error, TokenCost: &c.Tokens, Success: &success,
		TimeCost: c.Took.Seconds(), Summary: c.Summary, Evaluation: c.Evaluation, Score: c.Score, Judge: c.Judge,
		Summarized: c.Summarized, Hash: c.Hash, Metadata: c.Metadata,
	}
	if out.Metadata == nil {
		out.Metadata = map[string]any{}
	}
	if !c.Time.IsZero() {
		out.CreateTime = c.Time.UTC().Format(time.RFC3339Nano)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what [Call.MarshalJSON] and ReMe write. Absent fields have
// ReMe's defaults: success is true, token_cost unknown. Numbers of the input stay as
// they are written. A time without a zone is UTC.
func (c *Call) UnmarshalJSON(data []byte) error {
	var raw struct {
		callJSON
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("tool call: %w: %w", backends.ErrInvalid, err)
	}
	in := &raw.callJSON
	*c = Call{
		ID: in.ID, Tool: in.Tool, Output: in.Output, Error: in.Error, Failed: in.Success != nil && !*in.Success, Tokens: -1,
		Took: seconds(in.TimeCost), Summary: in.Summary, Evaluation: in.Evaluation,
		Score: in.Score, Judge: in.Judge, Summarized: in.Summarized, Hash: in.Hash, Metadata: in.Metadata,
	}
	if in.TokenCost != nil {
		c.Tokens = *in.TokenCost
	}
	if len(c.Metadata) == 0 {
		c.Metadata = nil
	}
	var err error
	if len(raw.Input) > 0 {
		if c.Input, err = decode(string(raw.Input)); err != nil {
			return fmt.Errorf("input of a call of tool %q: %w: %w", c.Tool, backends.ErrInvalid, err)
		}
	}
	c.Time, err = parseTime(in.CreateTime)
	return err
}

// seconds returns a duration of so many seconds, of at most a century.
func seconds(f float64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	return time.Duration(min(max(f, -century), century) * float64(time.Second))
}

// parseTime reads a time as we write it, or as ReMe does.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05.999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("create_time %q of a tool call: %w: use RFC 3339 or YYYY-MM-DD HH:MM:SS", s, backends.ErrInvalid)
}

// FromToolCall returns a call as this package keeps it. Arguments that are a JSON
// object become one; a failed call without a result has its error as its output.
func FromToolCall(t *backends.ToolCall) Call {
	c := Call{
		ID: t.ID, Time: t.Time, Tool: t.Tool, Input: t.Arguments, Output: t.Result, Failed: t.Error != "", Error: t.Error,
		Took: t.Took, Tokens: t.Tokens,
	}
	if v, err := decode(t.Arguments); err == nil {
		if o, ok := v.(map[string]any); ok {
			c.Input = o
		}
	}
	if c.Output == "" {
		c.Output = c.Error
	}
	return c
}

func (c *Call) failed() bool { return c.Failed || c.Error != "" }

// wrong reports whether the call failed, or returned an error in words that nobody
// judged to be what was asked for.
func (c *Call) wrong() bool {
	return c.failed() || (c.Score == nil || *c.Score < 0.5) && saysError(c.Output)
}

// problem returns what the error of a call says that went wrong.
func (c *Call) problem() string {
	switch {
	case !c.wrong():
		return ""
	case c.Error != "":
		return c.Error
	case c.Output != "":
		return c.Output
	}
	return "?"
}

// bad reports whether the call failed or its result was judged to be of no use.
func (c *Call) bad() bool { return c.wrong() || c.Score != nil && *c.Score < 0.5 }

// blank reports whether a call says nothing; its input is plain.
func (c *Call) blank() bool {
	return inputText(c.Input) == "" && c.Output == "" && c.Error == ""
}
