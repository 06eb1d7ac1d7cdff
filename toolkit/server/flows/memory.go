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

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/text"
)

type retrieve struct {
	owner
	Query string `json:"query"`
	TopK  int    `json:"top_k,omitempty" jsonschema:"1 to 1,000. Defaults to 3"`
}

type summary struct {
	owner
	Trajectories []trajectory `json:"trajectories,omitempty"`
	Messages     []message    `json:"messages,omitempty" jsonschema:"of personal memory: in place of trajectories"`
	UserName     string       `json:"user_name,omitempty" jsonschema:"of personal memory: by which the user is spoken of"`
}

// named is an owner with a workspace, which is required, as in ReMe.
type named struct {
	WorkspaceID string `json:"workspace_id"`
}

func (n named) scope(bool) backends.Scope { return backends.Scope{Workspace: n.WorkspaceID} }

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

func (c *call) retrieveTask(in retrieve, format func([]backends.Hit) string) (*Response, error) {
	resp, err := c.memory.Task().Retrieve(c, &task.RetrieveRequest{Scope: c.scope, Query: in.Query, TopK: cmp.Or(in.TopK, 3)})
	if err != nil {
		return nil, err
	}
	return reply(format(resp.Hits), map[string]any{"memory_list": c.found(resp.Hits)})
}

// formatMemories is the answer of retrieve_task_memory.
func formatMemories(hits []backends.Hit) string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = fmt.Sprintf("Memory %d :\n When to use: %s\n Content: %s\n", i+1, h.WhenToUse, h.Text)
	}
	return strings.Join(out, "\n")
}

// mergeMemories is the answer of retrieve_task_memory_simple.
func mergeMemories(hits []backends.Hit) string {
	if len(hits) == 0 {
		return ""
	}
	out := "Previous Memory\n"
	for _, h := range hits {
		out += "- " + h.WhenToUse + " " + h.Text + "\n\n"
	}
	return out + "Please consider the helpful parts from these in answering the question, " +
		"to make the response more comprehensive and substantial."
}

// given returns the trajectories of a request. Messages alone are one, as ReMe's cookbook sends them.
func (s *summary) given() []trajectory {
	if len(s.Trajectories) == 0 && len(s.Messages) > 0 {
		return []trajectory{{Messages: s.Messages}}
	}
	return s.Trajectories
}

func (c *call) summaryTask(in summary, simple bool) (*Response, error) {
	if len(in.Trajectories) == 0 {
		return reply("", written(0))
	}
	r := &task.SummaryRequest{Scope: c.scope, Simple: simple}
	for _, t := range in.Trajectories {
		r.Trajectories = append(r.Trajectories, task.Trajectory{
			TaskID: t.TaskID, Messages: messagesOf(t.Messages), Score: t.Score, Metadata: t.Metadata,
		})
	}
	resp, err := c.memory.Task().Summarize(c, r)
	if err != nil {
		return nil, err
	}
	learnt, metadata := c.memories(resp.Memories), written(len(resp.Memories))
	metadata["memory_list"] = learnt
	answer, err := json.Marshal(learnt)
	return &Response{Answer: string(answer), Success: true, Metadata: metadata}, err
}

func (c *call) recordTask(in recordTask) (*Response, error) {
	r := &task.RecordRequest{Scope: c.scope, AllUseful: in.UpdateUtility}
	for _, m := range in.MemoryDicts {
		id, _ := m["memory_id"].(string)
		r.IDs = append(r.IDs, id)
	}
	resp, err := c.memory.Task().Record(c, r)
	if err != nil {
		return nil, err
	}
	if len(resp.Unknown) > 0 {
		return refuse("No task memories of the workspace: "+strings.Join(resp.Unknown, ", "), written(len(resp.Recorded)))
	}
	return reply("", written(len(resp.Recorded)))
}

func (c *call) deleteTask(in deleteTask) (*Response, error) {
	rule := task.Rule{MinUses: in.FreqThreshold, MaxUtility: in.UtilityThreshold}
	resp, err := c.memory.Task().Forget(c, &task.ForgetRequest{Scope: c.scope, Rule: rule})
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, m := range resp.Deleted {
		gone = append(gone, m.ID)
	}
	return reply("", written(0, gone...))
}

func (c *call) retrievePersonal(in retrieve) (*Response, error) {
	resp, err := c.memory.Search(c, &backends.SearchRequest{
		Scope: c.scope, Query: in.Query, TopK: cmp.Or(in.TopK, 3), Kinds: []backends.Kind{backends.KindPersonal},
	})
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, h := range resp.Hits {
		texts = append(texts, h.Text)
	}
	return reply(strings.Join(texts, "\n"), map[string]any{"memory_list": c.found(resp.Hits)})
}

func (c *call) summaryPersonal(in summary) (*Response, error) {
	r := &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: c.scope}, Target: in.UserName}
	for _, t := range in.given() {
		for i, m := range messagesOf(t.Messages) {
			at := text.Time(fmt.Sprint(t.Messages[i]["time_created"]), time.UTC)
			r.Messages = append(r.Messages, backends.Message{Message: m, Time: at})
		}
	}
	if len(r.Messages) == 0 {
		return reply("", written(0))
	}
	resp, err := c.memory.Personal().Summarize(c, r)
	if errors.Is(err, reme.ErrNoModel) { // the words of people are stored as they are
		r.Verbatim = true
		r.Messages = slices.DeleteFunc(r.Messages, func(m backends.Message) bool { return m.Role != schema.User })
		resp, err = c.memory.Personal().Summarize(c, r)
	}
	if err != nil {
		return nil, err
	}
	var stored []backends.Memory
	var gone []string
	out := &Response{Answer: "", Success: true}
	for _, item := range resp.Items {
		switch item.Outcome {
		case backends.OutcomeSuperseded:
			gone = append(gone, item.Previous.ID)
			fallthrough
		case backends.OutcomeAdded, backends.OutcomeUpdated:
			stored = append(stored, item.Memory)
		case backends.OutcomeRetracted:
			gone = append(gone, item.Memory.ID)
		case backends.OutcomeFailed:
			out.Success = false
		}
	}
	out.Metadata = written(len(stored), gone...)
	out.Metadata["memory_list"] = c.memories(stored)
	return out, nil
}
