// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/text"
)

type addTool struct {
	owner
	ToolCallResults []map[string]any `json:"tool_call_results"`
}

type toolNames struct {
	owner
	ToolNames string `json:"tool_names" jsonschema:"separated by commas"`
}

func (t toolNames) names() []string { return strings.Split(t.ToolNames, ",") }

// tools returns the knowledge about tools; nil for an empty list.
func (c *call) tools(names []string) ([]tool.Tool, error) {
	if strings.TrimSpace(strings.Join(names, "")) == "" { // an empty request would mean all tools
		return nil, nil
	}
	resp, err := c.memory.Tools().Retrieve(c, &tool.RetrieveRequest{Scope: c.scope, Tools: names, WithCalls: true})
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return nil, err
	}
	return resp.Tools, nil
}

// content is the text of ReMe's tool memory: the guideline, with present statistics.
func content(t *tool.Tool) string {
	if t.Guideline == "" {
		return ""
	}
	const statistics = "## Statistics\n- **Success Rate**: %.2f%%\n- **Average Score**: %.3f\n" +
		"- **Average Time Cost**: %.3fs\n- **Average Token Cost**: %.1f"
	s := &t.Statistics
	return t.Guideline + "\n\n" + fmt.Sprintf(statistics, 100*s.SuccessRate, s.AvgScore, s.AvgTime, s.AvgTokens)
}

// toolMemories returns tools as ReMe's tool memories.
func (c *call) toolMemories(tools []tool.Tool) []json.RawMessage {
	out := make([]backends.Memory, len(tools))
	p, _ := c.scope.Partition(backends.PartitionWorkspace) // tool memory has found it
	for i := range tools {
		t := &tools[i]
		m := backends.Memory{ID: text.HashID(p.String(), string(backends.KindTool), t.Name), Created: t.Statistics.From, Updated: t.Statistics.To}
		if t.Memory != nil {
			m = *t.Memory
		}
		calls := make([]any, len(t.Calls))
		for j := range t.Calls {
			calls[j] = callResult(t.Calls[j], int64(len(t.Calls)-j) > t.New)
		}
		m.Kind, m.WhenToUse, m.Text, m.Metadata = backends.KindTool, t.Name, content(t), map[string]any{"tool_call_results": calls}
		out[i] = m
	}
	return c.memories(out)
}

// givenTime is the key, in the metadata of a call, of the time that its caller gave.
const givenTime = "create_time"

// callResult returns a call in ReMe's form.
func callResult(c tool.Call, summarized bool) (out map[string]json.RawMessage) {
	c.Summarized = summarized
	raw, _ := json.Marshal(c) // it came from JSON
	_ = json.Unmarshal(raw, &out)
	if given := c.Metadata[givenTime]; given != nil {
		out[givenTime], _ = json.Marshal(given)
	}
	return out
}

// callOf reads a call. As in ReMe its time is now; the metadata keeps its create_time. Calls of one
// create_time with the same input and output are one call, so that a request may be repeated.
func callOf(o map[string]any) (c tool.Call, err error) {
	given := o[givenTime]
	delete(o, givenTime)
	raw, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if c.ID = ""; given == nil || err != nil {
		return c, err
	}
	raw, err = json.Marshal(redact.Value(o, redact.Shared)) // ids follow from redacted values
	c.ID = text.HashID(fmt.Sprint(given), string(raw))
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	c.Metadata[givenTime] = fmt.Sprint(given)
	return c, err
}

func (c *call) addTool(in addTool) (*Response, error) {
	calls, names := make([]tool.Call, len(in.ToolCallResults)), make([]string, len(in.ToolCallResults))
	for i, o := range in.ToolCallResults {
		var err error
		if calls[i], err = callOf(o); err != nil {
			return nil, fmt.Errorf("%w: tool call %d: %w", backends.ErrInvalid, i, err)
		}
		names[i] = calls[i].Tool
	}
	before, err := c.tools(names)
	if err != nil {
		return nil, err
	}
	resp, err := c.memory.Tools().Record(c, &tool.RecordRequest{Scope: c.scope, Calls: calls})
	if errors.Is(err, backends.ErrInvalid) {
		return refuse("No valid tool call results: each needs a tool_name, and an input or an output", map[string]any{})
	}
	if err != nil {
		return nil, err
	}
	after, err := c.tools(names)
	if err != nil {
		return nil, err
	}
	known := map[string]int64{}
	for _, t := range before {
		known[t.Name] = t.Statistics.Total
	}
	lines, fresh, added, valid := "", 0, 0, 0
	for _, t := range after {
		label, s := "Updated", &t.Statistics
		if known[t.Name] == 0 {
			label = "New"
			fresh++
		}
		added += int(s.Total - known[t.Name])
		lines += fmt.Sprintf("\n[%s] %s\n  Total calls: %d\n  Recent calls: %d/%d successful, avg score: %.2f\n",
			label, t.Name, s.Total, s.Calls-s.Failed, s.Calls, s.AvgScore)
	}
	for _, r := range resp.Calls {
		if r.Outcome == backends.OutcomeAdded {
			valid++
		}
	}
	added = min(max(added, 0), valid)
	answer := fmt.Sprintf("Processed %d tool(s): %d updated, %d newly created\n", len(after), len(after)-fresh, fresh) + lines +
		fmt.Sprintf("\nDeduplication Summary:\n  Total new calls: %d\n  Added: %d\n  Deduplicated: %d", valid, added, valid-added)
	metadata := written(len(after))
	metadata["memory_list"] = c.toolMemories(after)
	metadata["validation_stats"] = map[string]int{"total_input": len(calls), "valid": valid, "filtered": len(calls) - valid}
	metadata["deduplication_stats"] = map[string]int{"total_new": valid, "deduplicated": valid - added, "added": added}
	return reply(answer, metadata)
}

// described returns the texts of tools, one after the other.
func (c *call) described(tools []tool.Tool, head string, metadata map[string]any) (*Response, error) {
	if len(tools) == 0 {
		return refuse("No matching tool memories found", map[string]any{})
	}
	var out []string
	for i := range tools {
		out = append(out, "Tool: "+tools[i].Name+"\n"+content(&tools[i]))
	}
	metadata["memory_list"] = c.toolMemories(tools)
	return reply(head+"\n\n"+strings.Join(out, "\n\n---\n\n"), metadata)
}

func (c *call) retrieveTool(in toolNames) (*Response, error) {
	tools, err := c.tools(in.names())
	if err != nil {
		return nil, err
	}
	return c.described(tools, fmt.Sprintf("Retrieved %d tool memory(ies):", len(tools)), map[string]any{})
}

// summaryTool writes the guidelines of all tools with a new call, as ReMe does, even for a single
// one.
func (c *call) summaryTool(in toolNames) (*Response, error) {
	tools, err := c.tools(in.names())
	var due []string
	for _, t := range tools {
		if t.New > 0 || t.Guideline == "" {
			due = append(due, t.Name)
		}
	}
	if err == nil && len(due) > 0 {
		if _, err = c.memory.Tools().Summarize(c, &tool.SummaryRequest{Scope: c.scope, Tools: due, Force: true}); err == nil {
			tools, err = c.tools(in.names())
		}
	}
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("Processed %d tool(s): %d summarized, %d skipped", len(tools), len(due), len(tools)-len(due))
	return c.described(tools, head, written(len(due)))
}
