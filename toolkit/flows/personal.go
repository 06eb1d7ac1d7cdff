// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
)

// person names whose personal memory it is: the user, else the one whose id is the
// workspace's, as ReMe's clients have a workspace for each user.
type person struct {
	WorkspaceID string `json:"workspace_id,omitempty"`
	UserID      string `json:"user_id,omitempty"`
	UserName    string `json:"user_name,omitempty"` // by which the user is spoken of
}

type retrievePersonalRequest struct {
	person
	Query string `json:"query"`
	TopK  int    `json:"top_k,omitempty"` // 1 to 1,000. Defaults to 3.
}

type summaryPersonalRequest struct {
	person
	Trajectories []trajectory `json:"trajectories,omitempty"`
}

func (f *Flows) personalFlows() {
	define(f, Flow{Name: "retrieve_personal_memory", Description: "Finds what is known about a user."}, (*call).retrievePersonal)
	define(f, Flow{Name: "summary_personal_memory", Write: true, Long: true, Description: "Learns about a user from what they said."}, (*call).summaryPersonal)
}

func (c *call) person(p person, write bool) (s backends.Scope, shown string, err error) {
	s, err = c.open(backends.Scope{Namespace: c.namespace, UserID: cmp.Or(p.UserID, p.WorkspaceID)}, write)
	return s, cmp.Or(p.WorkspaceID, s.UserID), err
}

func (c *call) retrievePersonal(in *retrievePersonalRequest) (*Response, error) {
	scope, workspace, err := c.person(in.person, false)
	if err != nil {
		return nil, err
	}
	k, err := topK(in.TopK)
	if err != nil {
		return nil, err
	}
	resp, err := c.memory.Personal().Retrieve(c, &reme.PersonalRetrieveRequest{
		SearchRequest: backends.SearchRequest{Scope: scope, Query: in.Query, TopK: k}, Target: in.UserName,
	})
	if err != nil {
		return nil, err
	}
	memories := found(resp.Hits)
	texts := make([]string, len(memories))
	for i, m := range memories {
		texts[i] = m.Text
	}
	list, err := c.memoryList(workspace, memories)
	return &Response{Answer: strings.Join(texts, "\n"), Success: true, Metadata: map[string]any{"memory_list": list}}, err
}

func (c *call) summaryPersonal(in *summaryPersonalRequest) (*Response, error) {
	scope, workspace, err := c.person(in.person, true)
	if err != nil {
		return nil, err
	}
	var all []message
	for _, t := range in.Trajectories {
		all = append(all, t.Messages...)
	}
	messages, err := said(all)
	if err != nil {
		return nil, err
	}
	out := &Response{Success: true}
	stored, gone := []backends.Memory{}, []string{}
	if len(messages) > 0 {
		resp, err := c.memory.Personal().Summarize(c, &reme.PersonalSummaryRequest{
			AddRequest: backends.AddRequest{Scope: scope, Messages: messages}, Target: in.UserName,
		})
		if err != nil {
			return nil, err
		}
		for _, item := range resp.Items {
			switch item.Outcome {
			case backends.OutcomeAdded, backends.OutcomeUpdated, backends.OutcomeSuperseded:
				stored = append(stored, item.Memory)
				if item.Outcome == backends.OutcomeSuperseded && item.Previous != nil {
					gone = append(gone, item.Previous.ID)
				}
			case backends.OutcomeRetracted:
				gone = append(gone, item.Memory.ID)
			case backends.OutcomeFailed:
				out.Success = false
			}
		}
	}
	list, err := c.memoryList(workspace, stored)
	out.Metadata = map[string]any{"memory_list": list, "deleted_memory_ids": gone, "update_result": updated(len(gone), len(stored))}
	return out, err
}
