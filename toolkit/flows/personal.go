// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/text"
)

// person names whose personal memory it is: the user, else the one whose id is the
// workspace's, as ReMe's clients have a workspace for each user.
type person struct {
	WorkspaceID string `json:"workspace_id,omitempty"`
	UserID      string `json:"user_id,omitempty"`
	UserName    string `json:"user_name,omitempty" jsonschema:"by which the user is spoken of"`
}

func (p person) scope() backends.Scope {
	return backends.Scope{UserID: cmp.Or(p.UserID, p.WorkspaceID)}
}

type retrievePersonal struct {
	person
	Query string `json:"query"`
	TopK  int    `json:"top_k,omitempty" jsonschema:"1 to 1,000. Defaults to 3"`
}

type summaryPersonal struct {
	person
	Trajectories []trajectory `json:"trajectories,omitempty"`
}

func (f *Flows) personalFlows() {
	define(f, Flow{Name: "retrieve_personal_memory", Description: "Finds what is known about a user."}, (*call).retrievePersonal)
	define(f, Flow{Name: "summary_personal_memory", Write: true, Long: true, Description: "Learns about a user from what they said."}, (*call).summaryPersonal)
}

func (c *call) retrievePersonal(in retrievePersonal) (*Response, error) {
	search := backends.SearchRequest{Scope: c.scope, Query: in.Query, TopK: cmp.Or(in.TopK, 3)}
	resp, err := c.memory.Personal().Retrieve(c, &reme.PersonalRetrieveRequest{SearchRequest: search, Target: in.UserName})
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, h := range resp.Hits {
		texts = append(texts, h.Text)
	}
	return reply(strings.Join(texts, "\n"), map[string]any{"memory_list": c.found(resp.Hits)})
}

func (c *call) summaryPersonal(in summaryPersonal) (*Response, error) {
	r := &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: c.scope}, Target: in.UserName}
	for _, t := range in.Trajectories {
		for i, m := range messagesOf(t.Messages) {
			at := text.Time(fmt.Sprint(t.Messages[i]["time_created"]), time.UTC)
			r.Messages = append(r.Messages, backends.Message{Message: m, Time: at})
		}
	}
	resp, stored, gone, success := &reme.PersonalSummaryResponse{}, []backends.Memory{}, []string{}, true
	if len(r.Messages) > 0 {
		var err error
		if resp, err = c.memory.Personal().Summarize(c, r); errors.Is(err, reme.ErrNoModel) {
			r.Verbatim = true // what people say is kept as it is
			r.Messages = slices.DeleteFunc(r.Messages, func(m backends.Message) bool { return m.Role != schema.User })
			resp, err = c.memory.Personal().Summarize(c, r)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, item := range resp.Items {
		switch item.Outcome {
		case backends.OutcomeSuperseded:
			gone = append(gone, item.Previous.ID)
			stored = append(stored, item.Memory)
		case backends.OutcomeAdded, backends.OutcomeUpdated:
			stored = append(stored, item.Memory)
		case backends.OutcomeRetracted:
			gone = append(gone, item.Memory.ID)
		case backends.OutcomeFailed:
			success = false
		}
	}
	return &Response{Answer: "", Success: success, Metadata: map[string]any{
		"memory_list": c.memories(stored), "deleted_memory_ids": gone, "update_result": updated(len(gone), len(stored)),
	}}, nil
}
