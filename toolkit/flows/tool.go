// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/text"
)

type addToolRequest struct {
	WorkspaceID     string           `json:"workspace_id,omitempty"`
	ToolCallResults []map[string]any `json:"tool_call_results"`
}

type toolNamesRequest struct {
	WorkspaceID string `json:"workspace_id,omitempty"`
	ToolNames   string `json:"tool_names"` // separated by commas
}

func (f *Flows) toolFlows() {
	define(f, Flow{Name: "retrieve_tool_memory", Description: "Returns what is known about tools: guidelines, statistics and calls."}, (*call).retrieveTool)
	define(f, Flow{Name: "add_tool_call_result", Write: true, Description: "Records calls of tools and how they went."}, (*call).addTool)
	define(f, Flow{Name: "summary_tool_memory", Write: true, Long: true, Description: "Writes the guidelines of tools from their recent calls."}, (*call).summaryTool)
}

// history is how many calls of a tool are shown, as ReMe keeps.
const history = 100

func (r *toolNamesRequest) names() ([]string, error) {
	var out []string
	for name := range strings.SplitSeq(r.ToolNames, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: tool_names is empty", backends.ErrInvalid)
	}
	return out, bounded("tools", len(out), most)
}

// known returns what is known about tools, statistics of the usual number of calls, and the
// newest calls of each; nothing for nothing.
func (c *call) known(scope backends.Scope, names []string) ([]tool.Tool, error) {
	resp, err := c.memory.Tools().Retrieve(c, &tool.RetrieveRequest{Scope: scope, Tools: names})
	if err == nil {
		var all *tool.RetrieveResponse
		if all, err = c.memory.Tools().Retrieve(c, &tool.RetrieveRequest{Scope: scope, Tools: names, Last: history, WithCalls: true}); err == nil {
			for i := range resp.Tools {
				for _, t := range all.Tools {
					if t.Name == resp.Tools[i].Name {
						resp.Tools[i].Calls = t.Calls
					}
				}
			}
			return resp.Tools, nil
		}
	}
	if errors.Is(err, backends.ErrNotFound) {
		err = nil
	}
	return nil, err
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

// toolList returns tools as ReMe's tool memories.
func (c *call) toolList(scope backends.Scope, tools []tool.Tool) ([]json.RawMessage, error) {
	p, err := keeper.Workspace(scope)
	if err != nil {
		return nil, err
	}
	memories := make([]backends.Memory, len(tools))
	for i := range tools {
		t := &tools[i]
		m := backends.Memory{ID: keeper.ContentID(p, backends.KindTool, t.Name), Kind: backends.KindTool, Created: t.Statistics.From, Updated: t.Statistics.To}
		if t.Memory != nil {
			m = backends.Memory{ID: t.Memory.ID, Kind: backends.KindTool, Created: t.Memory.Created, Updated: t.Memory.Updated}
		}
		m.WhenToUse, m.Text = t.Name, content(t)
		calls := make([]any, len(t.Calls))
		for j := range t.Calls {
			calls[j] = callResult(&t.Calls[j], int64(len(t.Calls)-j) > t.New)
		}
		m.Metadata = map[string]any{"tool_call_results": calls}
		memories[i] = m
	}
	return c.memoryList(scope.Workspace, memories)
}

// result is a call as ReMe writes it.
type result struct {
	CreateTime   string         `json:"create_time"`
	ToolName     string         `json:"tool_name"`
	Input        any            `json:"input"`
	Output       string         `json:"output"`
	TokenCost    int            `json:"token_cost"`
	Success      bool           `json:"success"`
	TimeCost     float64        `json:"time_cost"`
	Summary      string         `json:"summary"`
	Evaluation   string         `json:"evaluation"`
	Score        float64        `json:"score"`
	IsSummarized bool           `json:"is_summarized"`
	CallHash     string         `json:"call_hash"`
	Metadata     map[string]any `json:"metadata"`
}

// givenTime has, in the metadata of a call, the create_time that is no time at which a call
// can be stored.
const givenTime = "create_time"

func callResult(c *tool.Call, summarized bool) *result {
	given, _ := c.Metadata[givenTime].(string)
	out := &result{
		CreateTime: cmp.Or(given, c.Time.Format(time.DateTime)), ToolName: c.Tool, Input: c.Input, Output: c.Output, TokenCost: c.Tokens,
		Success: !c.Failed && c.Error == "", TimeCost: c.Took.Seconds(), Summary: c.Summary, Evaluation: c.Evaluation,
		IsSummarized: summarized, CallHash: c.Hash, Metadata: map[string]any{},
	}
	if c.Score != nil {
		out.Score = *c.Score
	}
	for k, v := range c.Metadata {
		if k != givenTime {
			out.Metadata[k] = v
		}
	}
	return out
}

// callOf reads a call. Its create_time may be a text of any form or a Unix time; one that is
// no time is kept as it is, and the call is of now. Calls of one create_time with the same
// input and output are one call, so that a request may be repeated.
func callOf(o map[string]any) (*tool.Call, string, error) {
	given := ""
	if v := o[givenTime]; v != nil {
		given = strings.TrimSpace(fmt.Sprint(v))
	}
	at := text.Time(given, time.UTC)
	if n, ok := o[givenTime].(json.Number); ok {
		if seconds, err := n.Float64(); err == nil {
			if seconds > 1e11 { // milliseconds
				seconds /= 1000
			}
			at = time.UnixMicro(int64(seconds * 1e6)).UTC()
		}
	}
	delete(o, givenTime)
	raw, err := json.Marshal(o)
	c := &tool.Call{}
	if err == nil {
		err = json.Unmarshal(raw, c)
	}
	c.Time, c.ID = at, ""
	if given != "" {
		c.ID = keeper.HashID(c.Tool, given, string(raw))
	}
	if at.IsZero() {
		keepTime(c, given)
	}
	return c, given, err
}

// keepTime makes a call one of now, and keeps what the caller said of its time.
func keepTime(c *tool.Call, given string) {
	if c.Time = (time.Time{}); given == "" {
		return
	}
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	c.Metadata[givenTime] = given
}

func (c *call) addTool(in *addToolRequest) (*Response, error) {
	scope, err := c.workspace(in.WorkspaceID, true)
	if err != nil {
		return nil, err
	}
	if err := bounded("tool call results", len(in.ToolCallResults), most); err != nil {
		return nil, err
	}
	var calls []tool.Call
	var names, given []string
	for _, o := range in.ToolCallResults {
		one, at, err := callOf(o)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", backends.ErrInvalid, err)
		}
		calls, given = append(calls, *one), append(given, at)
		if name := strings.TrimSpace(one.Tool); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var before []tool.Tool
	if len(names) > 0 {
		if before, err = c.known(scope, names); err != nil {
			return nil, err
		}
	}
	recorded, err := c.record(scope, calls, given)
	if err != nil {
		return nil, err
	}
	valid, repeated := 0, 0
	for _, r := range recorded {
		if r.Outcome == backends.OutcomeAdded {
			valid++
			if slices.ContainsFunc(before, func(t tool.Tool) bool {
				return slices.ContainsFunc(t.Calls, func(c tool.Call) bool { return c.ID == r.ID })
			}) {
				repeated++
			}
		}
	}
	stats := map[string]any{"total_input": len(calls), "valid": valid, "filtered": len(calls) - valid}
	if valid == 0 {
		return &Response{
			Answer:   "No valid tool call results: each needs a tool_name, and an input or an output",
			Metadata: map[string]any{"validation_stats": stats},
		}, nil
	}
	after, err := c.known(scope, names)
	if err != nil {
		return nil, err
	}
	list, err := c.toolList(scope, after)
	return &Response{Answer: added(before, after, valid, repeated), Success: true, Metadata: map[string]any{
		"deleted_memory_ids": []string{}, "memory_list": list, "validation_stats": stats,
		"deduplication_stats": map[string]any{"total_new": valid, "deduplicated": repeated, "added": valid - repeated},
		"update_result":       updated(0, len(after)),
	}}, err
}

// record stores calls. One whose time is none at which a call can be stored, as those of
// ReMe's examples, is stored as one of now.
func (c *call) record(scope backends.Scope, calls []tool.Call, given []string) ([]tool.RecordedCall, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	store := func(calls []tool.Call) ([]tool.RecordedCall, error) {
		resp, err := c.memory.Tools().Record(c, &tool.RecordRequest{Scope: scope, Calls: calls})
		if resp == nil || err != nil && !errors.Is(err, backends.ErrInvalid) {
			return nil, err
		}
		return resp.Calls, nil
	}
	recorded, err := store(calls)
	if err != nil {
		return nil, err
	}
	var again []tool.Call
	var places []int
	for i, r := range recorded {
		if r.Outcome == backends.OutcomeFailed && given[i] != "" && !calls[i].Time.IsZero() {
			keepTime(&calls[i], given[i])
			again, places = append(again, calls[i]), append(places, i)
		}
	}
	if len(again) == 0 {
		return recorded, nil
	}
	second, err := store(again)
	for i, r := range second {
		recorded[places[i]] = r
	}
	return recorded, err
}

// added is the answer of add_tool_call_result.
func added(before, after []tool.Tool, valid, repeated int) string {
	known := func(t *tool.Tool) bool {
		return slices.ContainsFunc(before, func(b tool.Tool) bool { return b.Name == t.Name })
	}
	fresh, lines := 0, ""
	for i := range after {
		t := &after[i]
		label := "Updated"
		if !known(t) {
			label = "New"
			fresh++
		}
		recent := t.Calls[max(0, len(t.Calls)-3):]
		succeeded, score := 0, 0.0
		for j := range recent {
			r := callResult(&recent[j], false)
			score += r.Score
			if r.Success {
				succeeded++
			}
		}
		lines += fmt.Sprintf("\n[%s] %s\n  Total calls: %d\n  Recent calls: %d/%d successful, avg score: %.2f\n",
			label, t.Name, t.Statistics.Total, succeeded, len(recent), score/float64(max(len(recent), 1)))
	}
	return fmt.Sprintf("Processed %d tool(s): %d updated, %d newly created\n%s\nDeduplication Summary:\n  Total new calls: %d\n  Added: %d\n  Deduplicated: %d",
		len(after), len(after)-fresh, fresh, lines, valid, valid-repeated, repeated)
}

// unknownTools is what ReMe answers for tools of which nothing is known.
func unknownTools() *Response { return &Response{Answer: "No matching tool memories found"} }

// describe returns what tools say, one after the other.
func describe(head string, tools []tool.Tool) string {
	out := make([]string, len(tools))
	for i := range tools {
		out[i] = "Tool: " + tools[i].Name + "\n" + content(&tools[i])
	}
	return head + "\n\n" + strings.Join(out, "\n\n---\n\n")
}

func (c *call) retrieveTool(in *toolNamesRequest) (*Response, error) {
	scope, err := c.workspace(in.WorkspaceID, false)
	if err != nil {
		return nil, err
	}
	names, err := in.names()
	if err != nil {
		return nil, err
	}
	tools, err := c.known(scope, names)
	if err != nil {
		return nil, err
	}
	if len(tools) == 0 {
		return unknownTools(), nil
	}
	list, err := c.toolList(scope, tools)
	return &Response{
		Answer: describe(fmt.Sprintf("Retrieved %d tool memory(ies):", len(tools)), tools), Success: true, Metadata: map[string]any{"memory_list": list},
	}, err
}

// summaryTool writes the guidelines of all tools with a new call, as ReMe does, however few
// these are.
func (c *call) summaryTool(in *toolNamesRequest) (*Response, error) {
	scope, err := c.workspace(in.WorkspaceID, true)
	if err != nil {
		return nil, err
	}
	names, err := in.names()
	if err != nil {
		return nil, err
	}
	tools, err := c.known(scope, names)
	if err != nil {
		return nil, err
	}
	var due []string
	for _, t := range tools {
		if t.New > 0 || t.Guideline == "" {
			due = append(due, t.Name)
		}
	}
	if len(tools) == 0 {
		return unknownTools(), nil
	}
	if len(due) > 0 {
		if _, err := c.memory.Tools().Summarize(c, &tool.SummaryRequest{Scope: scope, Tools: due, Force: true}); err != nil {
			return nil, err
		}
		if tools, err = c.known(scope, names); err != nil {
			return nil, err
		}
	}
	list, err := c.toolList(scope, tools)
	return &Response{
		Answer:  describe(fmt.Sprintf("Processed %d tool(s): %d summarized, %d skipped", len(tools), len(due), len(tools)-len(due)), tools),
		Success: true, Metadata: map[string]any{"memory_list": list, "deleted_memory_ids": []string{}, "update_result": updated(0, len(due))},
	}, err
}
