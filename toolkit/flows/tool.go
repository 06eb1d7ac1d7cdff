// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/redact"
)

type addTool struct {
	workspace
	ToolCallResults []map[string]any `json:"tool_call_results"`
}

type toolNames struct {
	workspace
	ToolNames string `json:"tool_names" jsonschema:"separated by commas"`
}

func (t toolNames) names() []string {
	return strings.FieldsFunc(t.ToolNames, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

func (f *Flows) toolFlows() {
	define(f, Flow{Name: "add_tool_call_result", Write: true, Description: "Records calls of tools and how they went."}, (*call).addTool)
	define(f, Flow{Name: "summary_tool_memory", Write: true, Long: true, Description: "Writes the guidelines of tools from their recent calls."}, (*call).summaryTool)
	define(f, Flow{Name: "retrieve_tool_memory", Description: "Returns what is known about tools: guidelines, statistics and recent calls."}, (*call).retrieveTool)
}

// tools returns what is known about tools; nothing for nothing.
func (c *call) tools(names []string) ([]tool.Tool, error) {
	if len(names) == 0 { // would be all
		return nil, nil
	}
	resp, err := c.memory.Tools().Retrieve(c, &tool.RetrieveRequest{Scope: c.scope, Tools: names, WithCalls: true})
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return resp.Tools, nil
}

// content is what ReMe's tool memory says: the guideline, with statistics as of now.
func content(t *tool.Tool) string {
	if t.Guideline == "" {
		return ""
	}
	s := &t.Statistics
	return fmt.Sprintf("%s\n\n## Statistics\n- **Success Rate**: %.2f%%\n- **Average Score**: %.3f\n- **Average Time Cost**: %.3fs\n- **Average Token Cost**: %.1f",
		t.Guideline, 100*s.SuccessRate, s.AvgScore, s.AvgTime, s.AvgTokens)
}

// toolMemories returns tools as ReMe's tool memories.
func (c *call) toolMemories(tools []tool.Tool) []memory {
	out := make([]backends.Memory, len(tools))
	p, _ := keeper.Workspace(c.scope) // tool memory has found it
	for i := range tools {
		t := &tools[i]
		m := backends.Memory{ID: keeper.ContentID(p, backends.KindTool, t.Name), Created: t.Statistics.From, Updated: t.Statistics.To}
		if t.Memory != nil {
			m = backends.Memory{ID: t.Memory.ID, Created: t.Memory.Created, Updated: t.Memory.Updated}
		}
		calls := make([]any, len(t.Calls))
		for j := range t.Calls {
			calls[j] = callResult(&t.Calls[j], int64(len(t.Calls)-j) > t.New)
		}
		m.Kind, m.WhenToUse, m.Text, m.Metadata = backends.KindTool, t.Name, content(t), map[string]any{"tool_call_results": calls}
		out[i] = m
	}
	return c.memories(out)
}

// givenTime has, in the metadata of a call, what its caller gave as its time.
const givenTime = "create_time"

// callResult is a call as ReMe writes it.
func callResult(c *tool.Call, summarized bool) map[string]any {
	metadata, score := map[string]any{}, 0.0
	maps.Copy(metadata, c.Metadata)
	given, _ := metadata[givenTime].(string)
	delete(metadata, givenTime)
	if c.Score != nil {
		score = *c.Score
	}
	return map[string]any{
		"create_time": cmp.Or(given, c.Time.Format(time.DateTime)), "tool_name": c.Tool, "input": c.Input, "output": c.Output, "token_cost": c.Tokens,
		"success": !c.Failed && c.Error == "", "time_cost": c.Took.Seconds(), "summary": c.Summary, "evaluation": c.Evaluation, "score": score,
		"is_summarized": summarized, "call_hash": c.Hash, "metadata": metadata,
	}
}

// callOf reads a call. It counts as one of now, as in ReMe, whatever its create_time is, which
// is kept as it was given. Calls of one create_time with the same input and output are one
// call, so that a request may be repeated.
func callOf(o map[string]any) (c tool.Call, err error) {
	given := ""
	if v := o[givenTime]; v != nil {
		given = fmt.Sprint(v)
	}
	delete(o, givenTime)
	raw, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if c.ID = ""; given != "" && err == nil {
		raw, err = json.Marshal(redact.Value(o, redact.Shared)) // no id follows from a secret
		c.ID = keeper.HashID(given, string(raw))
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
		c.Metadata[givenTime] = given
	}
	return c, err
}

func (c *call) addTool(in addTool) (*Response, error) {
	var calls []tool.Call
	var names []string
	for i, o := range in.ToolCallResults {
		one, err := callOf(o)
		if err != nil {
			return nil, fmt.Errorf("%w: tool call %d: %w", backends.ErrInvalid, i, err)
		}
		calls = append(calls, one)
		if name := strings.TrimSpace(one.Tool); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
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
	valid, total := 0, int64(0)
	for _, r := range resp.Calls {
		if r.Outcome == backends.OutcomeAdded {
			valid++
		}
	}
	known := map[string]bool{}
	for _, t := range before {
		known[t.Name] = true
		total -= t.Statistics.Total
	}
	lines, fresh := "", 0
	for i := range after {
		t := &after[i]
		total += t.Statistics.Total
		label := "Updated"
		if !known[t.Name] {
			label = "New"
			fresh++
		}
		recent := t.Calls[max(0, len(t.Calls)-3):]
		succeeded, score := 0, 0.0
		for j := range recent {
			r := callResult(&recent[j], false)
			score += r["score"].(float64) / float64(len(recent))
			if r["success"] == true {
				succeeded++
			}
		}
		lines += fmt.Sprintf("\n[%s] %s\n  Total calls: %d\n  Recent calls: %d/%d successful, avg score: %.2f\n", label, t.Name, t.Statistics.Total, succeeded, len(recent), score)
	}
	added := min(max(int(total), 0), valid)
	answer := fmt.Sprintf("Processed %d tool(s): %d updated, %d newly created\n%s\nDeduplication Summary:\n  Total new calls: %d\n  Added: %d\n  Deduplicated: %d",
		len(after), len(after)-fresh, fresh, lines, valid, added, valid-added)
	return reply(answer, map[string]any{
		"deleted_memory_ids": []string{}, "memory_list": c.toolMemories(after), "update_result": updated(0, len(after)),
		"validation_stats":    map[string]int{"total_input": len(calls), "valid": valid, "filtered": len(calls) - valid},
		"deduplication_stats": map[string]int{"total_new": valid, "deduplicated": valid - added, "added": added},
	})
}

// noTools is what ReMe answers for tools of which nothing is known.
const noTools = "No matching tool memories found"

// describe returns what tools say, one after the other.
func describe(head string, tools []tool.Tool) string {
	var out []string
	for i := range tools {
		out = append(out, "Tool: "+tools[i].Name+"\n"+content(&tools[i]))
	}
	return head + "\n\n" + strings.Join(out, "\n\n---\n\n")
}

func (c *call) retrieveTool(in toolNames) (*Response, error) {
	tools, err := c.tools(in.names())
	if err != nil {
		return nil, err
	}
	if len(tools) == 0 {
		return refuse(noTools, map[string]any{})
	}
	return reply(describe(fmt.Sprintf("Retrieved %d tool memory(ies):", len(tools)), tools), map[string]any{"memory_list": c.toolMemories(tools)})
}

// summaryTool writes the guidelines of all tools with a new call, as ReMe does, however few
// these are.
func (c *call) summaryTool(in toolNames) (*Response, error) {
	tools, err := c.tools(in.names())
	if err != nil {
		return nil, err
	}
	if len(tools) == 0 {
		return refuse(noTools, map[string]any{})
	}
	var due []string
	for _, t := range tools {
		if t.New > 0 || t.Guideline == "" {
			due = append(due, t.Name)
		}
	}
	if len(due) > 0 {
		if _, err = c.memory.Tools().Summarize(c, &tool.SummaryRequest{Scope: c.scope, Tools: due, Force: true}); err == nil {
			tools, err = c.tools(in.names())
		}
	}
	if err != nil {
		return nil, err
	}
	return reply(describe(fmt.Sprintf("Processed %d tool(s): %d summarized, %d skipped", len(tools), len(due), len(tools)-len(due)), tools), map[string]any{
		"memory_list": c.toolMemories(tools), "deleted_memory_ids": []string{}, "update_result": updated(0, len(due)),
	})
}
