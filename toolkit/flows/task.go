// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
)

type retrieveTask struct {
	workspace
	Query string `json:"query"`
	TopK  int    `json:"top_k,omitempty" jsonschema:"1 to 1,000. Defaults to 3"`
}

type summaryTask struct {
	workspace
	Trajectories []trajectory `json:"trajectories,omitempty"`
}

type named struct {
	WorkspaceID string `json:"workspace_id"`
}

func (n named) scope() backends.Scope { return workspace(n).scope() }

type recordTask struct {
	named
	MemoryDicts   []map[string]any `json:"memory_dicts" jsonschema:"as a retrieval returned them; memory_id counts"`
	UpdateUtility bool             `json:"update_utility"`
}

type deleteTask struct {
	named
	FreqThreshold    int     `json:"freq_threshold"`
	UtilityThreshold float64 `json:"utility_threshold"`
}

func (f *Flows) taskFlows() {
	define(f, Flow{Name: "retrieve_task_memory", Description: "Finds what was learnt from earlier tasks that resemble the query."},
		func(c *call, in retrieveTask) (*Response, error) { return c.retrieveTask(in, formatMemories) })
	define(f, Flow{Name: "retrieve_task_memory_simple", Description: "Finds what was learnt from earlier tasks that resemble the query, as a list for a prompt."},
		func(c *call, in retrieveTask) (*Response, error) { return c.retrieveTask(in, mergeMemories) })
	define(f, Flow{Name: "summary_task_memory", Write: true, Long: true, Description: "Learns from attempts at tasks, each with its messages and a score from 0 to 1."},
		func(c *call, in summaryTask) (*Response, error) { return c.summaryTask(in, false) })
	define(f, Flow{Name: "summary_task_memory_simple", Write: true, Long: true, Description: "Learns from attempts at tasks with one question to the model each, and no judge."},
		func(c *call, in summaryTask) (*Response, error) { return c.summaryTask(in, true) })
	define(f, Flow{Name: "record_task_memory", Write: true, Description: "Counts that memories were used in a task, and with update_utility that they helped."}, (*call).recordTask)
	define(f, Flow{Name: "delete_task_memory", Write: true, Description: "Deletes memories that were used freq_threshold times and helped in at most the share utility_threshold."}, (*call).deleteTask)
}

func (c *call) retrieveTask(in retrieveTask, format func([]memory) string) (*Response, error) {
	resp, err := c.memory.Task().Retrieve(c, &task.RetrieveRequest{Scope: c.scope, Query: in.Query, TopK: cmp.Or(in.TopK, 3)})
	if err != nil {
		return nil, err
	}
	list := c.found(resp.Hits)
	return reply(format(list), map[string]any{"memory_list": list})
}

// formatMemories is the answer of retrieve_task_memory.
func formatMemories(list []memory) string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = fmt.Sprintf("Memory %d :\n When to use: %s\n Content: %s\n", i+1, m.WhenToUse, m.Text)
	}
	return strings.Join(out, "\n")
}

// mergeMemories is the answer of retrieve_task_memory_simple.
func mergeMemories(list []memory) string {
	if len(list) == 0 {
		return ""
	}
	out := "Previous Memory\n"
	for _, m := range list {
		out += "- " + m.WhenToUse + " " + m.Text + "\n\n"
	}
	return out + "Please consider the helpful parts from these in answering the question, to make the response more comprehensive and substantial."
}

func (c *call) summaryTask(in summaryTask, simple bool) (*Response, error) {
	if len(in.Trajectories) == 0 {
		return reply("", map[string]any{"update_result": updated(0, 0)})
	}
	r := &task.SummaryRequest{Scope: c.scope, Simple: simple}
	for _, t := range in.Trajectories {
		r.Trajectories = append(r.Trajectories, task.Trajectory{TaskID: t.TaskID, Messages: messagesOf(t.Messages), Score: t.Score, Metadata: t.Metadata})
	}
	resp, err := c.memory.Task().Summarize(c, r)
	if err != nil {
		return nil, err
	}
	learnt := make([]backends.Memory, len(resp.Items)) // with what was known already
	for i, item := range resp.Items {
		learnt[i] = item.Memory
	}
	answer, err := json.Marshal(c.memories(learnt))
	if err != nil {
		return nil, err
	}
	return reply(string(answer), map[string]any{"memory_list": c.memories(resp.Memories), "update_result": updated(0, len(resp.Memories))})
}

func (c *call) recordTask(in recordTask) (*Response, error) {
	counted, resp := []backends.Memory{}, &task.RecordResponse{}
	var ids []string
	for _, m := range in.MemoryDicts {
		id, _ := m["memory_id"].(string)
		ids = append(ids, id)
	}
	if len(ids) > 0 {
		var err error
		if resp, err = c.memory.Task().Record(c, &task.RecordRequest{Scope: c.scope, IDs: ids, AllUseful: in.UpdateUtility}); err != nil {
			return nil, err
		}
	}
	for _, r := range resp.Recorded {
		m, err := c.memory.Get(c, &backends.GetRequest{Scope: c.scope, ID: r.ID})
		if err != nil {
			return nil, err
		}
		counted = append(counted, *m)
	}
	metadata := map[string]any{"memory_list": c.memories(counted), "deleted_memory_ids": []string{}, "update_result": updated(0, len(counted))}
	if len(resp.Unknown) > 0 {
		return refuse("No task memories of the workspace: "+strings.Join(resp.Unknown, ", "), metadata)
	}
	return reply("", metadata)
}

func (c *call) deleteTask(in deleteTask) (*Response, error) {
	resp, err := c.memory.Task().Forget(c, &task.ForgetRequest{Scope: c.scope, Rule: task.Rule{MinUses: in.FreqThreshold, MaxUtility: in.UtilityThreshold}})
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{"update_result": updated(len(resp.Deleted), 0)}
	for _, m := range resp.Deleted {
		ids, _ := metadata["deleted_memory_ids"].([]string)
		metadata["deleted_memory_ids"] = append(ids, m.ID)
	}
	return reply("", metadata)
}
