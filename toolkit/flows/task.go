// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
)

type retrieveTaskRequest struct {
	WorkspaceID string    `json:"workspace_id,omitempty"`
	Query       string    `json:"query"`
	Messages    []message `json:"messages,omitempty"` // Where the query is empty, the last message of the user is it.
	TopK        int       `json:"top_k,omitempty"`    // 1 to 1,000. Defaults to 3.
}

type summaryTaskRequest struct {
	WorkspaceID  string       `json:"workspace_id,omitempty"`
	Trajectories []trajectory `json:"trajectories,omitempty"`
}

type recordTaskRequest struct {
	WorkspaceID   string           `json:"workspace_id"`
	MemoryDicts   []map[string]any `json:"memory_dicts"` // as a retrieval returned them; memory_id counts
	UpdateUtility bool             `json:"update_utility"`
}

type deleteTaskRequest struct {
	WorkspaceID      string  `json:"workspace_id"`
	FreqThreshold    int     `json:"freq_threshold"`
	UtilityThreshold float64 `json:"utility_threshold"`
}

func (f *Flows) taskFlows() {
	define(f, Flow{Name: "retrieve_task_memory", Description: "Finds what was learnt from earlier tasks that resemble the query."},
		func(c *call, in *retrieveTaskRequest) (*Response, error) { return c.retrieveTask(in, formatMemories) })
	define(f, Flow{Name: "summary_task_memory", Write: true, Long: true, Description: "Learns from attempts at tasks, each with its messages and a score from 0 to 1."},
		func(c *call, in *summaryTaskRequest) (*Response, error) { return c.summaryTask(in, false) })
	define(f, Flow{Name: "retrieve_task_memory_simple", Description: "Finds what was learnt from earlier tasks that resemble the query, as a list for a prompt."},
		func(c *call, in *retrieveTaskRequest) (*Response, error) { return c.retrieveTask(in, mergeMemories) })
	define(f, Flow{Name: "summary_task_memory_simple", Write: true, Long: true, Description: "Learns from attempts at tasks with one question to the model each, and no judge."},
		func(c *call, in *summaryTaskRequest) (*Response, error) { return c.summaryTask(in, true) })
	define(f, Flow{Name: "record_task_memory", Write: true, Description: "Counts that memories were used in a task, and with update_utility that they helped."}, (*call).recordTask)
	define(f, Flow{Name: "delete_task_memory", Write: true,
		Description: "Deletes memories that were used freq_threshold times or more and helped in at most the share utility_threshold of these."}, (*call).deleteTask)
}

// memoryList returns memories as ReMe writes them.
func (c *call) memoryList(workspace string, memories []backends.Memory) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(memories))
	for i := range memories {
		var err error
		if out[i], err = c.memory.Library().Encode(&memories[i], workspace); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// found returns the memories of hits. Their score is the similarity, as in ReMe.
func found(hits []backends.Hit) []backends.Memory {
	out := make([]backends.Memory, len(hits))
	for i := range hits {
		out[i] = hits[i].Memory
		out[i].Quality = &hits[i].Score
	}
	return out
}

func (c *call) retrieveTask(in *retrieveTaskRequest, format func([]backends.Memory) string) (*Response, error) {
	scope, err := c.workspace(in.WorkspaceID, false)
	if err != nil {
		return nil, err
	}
	k, err := topK(in.TopK)
	if err != nil {
		return nil, err
	}
	query := in.Query
	if strings.TrimSpace(query) == "" {
		messages, err := messagesOf(in.Messages)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			if m.Role == schema.User {
				query = m.Content
			}
		}
	}
	if strings.TrimSpace(query) == "" {
		return nil, fmt.Errorf("%w: the query is empty, and no message of a user is given", backends.ErrInvalid)
	}
	resp, err := c.memory.Task().Retrieve(c, &task.RetrieveRequest{Scope: scope, Query: query, TopK: k})
	if err != nil {
		return nil, err
	}
	memories := found(resp.Hits)
	list, err := c.memoryList(scope.Workspace, memories)
	return &Response{Answer: format(memories), Success: true, Metadata: map[string]any{"memory_list": list}}, err
}

// formatMemories is the answer of retrieve_task_memory.
func formatMemories(memories []backends.Memory) string {
	out := make([]string, len(memories))
	for i, m := range memories {
		out[i] = fmt.Sprintf("Memory %d :\n When to use: %s\n Content: %s\n", i+1, m.WhenToUse, m.Text)
	}
	return strings.Join(out, "\n")
}

// mergeMemories is the answer of retrieve_task_memory_simple.
func mergeMemories(memories []backends.Memory) string {
	if len(memories) == 0 {
		return ""
	}
	out := "Previous Memory\n"
	for _, m := range memories {
		out += "- " + m.WhenToUse + " " + m.Text + "\n\n"
	}
	return out + "Please consider the helpful parts from these in answering the question, to make the response more comprehensive and substantial."
}

func (c *call) summaryTask(in *summaryTaskRequest, simple bool) (*Response, error) {
	scope, err := c.workspace(in.WorkspaceID, true)
	if err != nil {
		return nil, err
	}
	if err := bounded("trajectories", len(in.Trajectories), most); err != nil {
		return nil, err
	}
	if len(in.Trajectories) == 0 {
		return &Response{Success: true, Metadata: map[string]any{"update_result": updated(0, 0)}}, nil
	}
	r := &task.SummaryRequest{Scope: scope, Simple: simple}
	for _, t := range in.Trajectories {
		messages, err := messagesOf(t.Messages)
		if err != nil {
			return nil, err
		}
		r.Trajectories = append(r.Trajectories, task.Trajectory{TaskID: t.TaskID, Messages: messages, Score: t.Score, Metadata: t.Metadata})
	}
	resp, err := c.memory.Task().Summarize(c, r)
	if err != nil {
		return nil, err
	}
	learnt := make([]backends.Memory, len(resp.Items))
	for i, item := range resp.Items {
		learnt[i] = item.Memory
	}
	all, err := c.memoryList(scope.Workspace, learnt)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	stored, err := c.memoryList(scope.Workspace, resp.Memories)
	return &Response{Answer: string(answer), Success: true, Metadata: map[string]any{
		"memory_list": stored, "update_result": updated(0, len(stored)),
	}}, err
}

func (c *call) recordTask(in *recordTaskRequest) (*Response, error) {
	scope, err := c.workspace(in.WorkspaceID, true)
	if err != nil {
		return nil, err
	}
	if err := bounded("memories", len(in.MemoryDicts), most); err != nil {
		return nil, err
	}
	r := &task.RecordRequest{Scope: scope, AllUseful: in.UpdateUtility}
	for i, m := range in.MemoryDicts {
		id, _ := m["memory_id"].(string)
		if id == "" {
			return nil, fmt.Errorf("%w: memory_dicts %d has no memory_id", backends.ErrInvalid, i)
		}
		r.IDs = append(r.IDs, id)
	}
	out := &Response{Success: true, Metadata: map[string]any{"memory_list": []any{}, "deleted_memory_ids": []string{}, "update_result": updated(0, 0)}}
	if len(r.IDs) == 0 {
		return out, nil
	}
	resp, err := c.memory.Task().Record(c, r)
	if err != nil {
		return nil, err
	}
	var counted []backends.Memory
	for _, one := range resp.Recorded {
		m, err := c.manager.Get(c, &backends.GetRequest{Scope: scope, ID: one.ID})
		if err != nil {
			return nil, err
		}
		counted = append(counted, *m)
	}
	if len(resp.Unknown) > 0 {
		out.Success, out.Answer = false, "These are no task memories of the workspace: "+strings.Join(resp.Unknown, ", ")
	}
	out.Metadata["update_result"] = updated(0, len(counted))
	out.Metadata["memory_list"], err = c.memoryList(scope.Workspace, counted)
	return out, err
}

func (c *call) deleteTask(in *deleteTaskRequest) (*Response, error) {
	scope, err := c.workspace(in.WorkspaceID, true)
	if err != nil {
		return nil, err
	}
	resp, err := c.memory.Task().Forget(c, &task.ForgetRequest{Scope: scope, Rule: task.Rule{MinUses: in.FreqThreshold, MaxUtility: in.UtilityThreshold}})
	if err != nil {
		return nil, err
	}
	out := &Response{Success: true, Metadata: map[string]any{"update_result": updated(len(resp.Deleted), 0)}}
	if len(resp.Deleted) > 0 {
		out.Metadata["deleted_memory_ids"] = ids(resp.Deleted)
	}
	return out, nil
}

func ids(memories []backends.Memory) []string {
	out := make([]string, len(memories))
	for i := range memories {
		out[i] = memories[i].ID
	}
	return out
}
