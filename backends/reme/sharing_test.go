// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/test/testkit"
)

var (
	cleo = backends.Scope{UserID: "cleo-7731", SessionID: "session-4242", AgentID: "bot", Workspace: "lab"}
	bob  = backends.Scope{UserID: "bob", SessionID: "s2", AgentID: "bot", Workspace: "lab"}
	lab  = backends.Scope{Workspace: "lab"}
)

// learntFrom has cleo leave something of each kind in the workspace, and returns the id of her
// experience.
func learntFrom(t *testing.T, b *reme.Backend) string {
	t.Helper()
	ctx := t.Context()
	learnt, err := b.Task().Summarize(ctx, summary(cleo, attempted("refunding tea", "check the payment first", 1)))
	require.NoError(t, err)
	require.NoError(t, b.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: cleo, Calls: []backends.ToolCall{{Tool: "search", Arguments: "tea", Result: "ten shops"}}}))
	require.NoError(t, b.Flush(ctx))
	require.NoError(t, only(b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: cleo, Force: true})))
	require.NoError(t, only(b.Library().Load(ctx, &reme.LoadRequest{Scope: cleo, Merge: true}, strings.NewReader(`{"memory_id":"m1","memory_type":"task","when_to_use":"packing tea","content":"use paper"}`))))
	return learnt.Memories[0].ID
}

func TestWhoseAMemoryIsIsShownToThemAndTheProgramAlone(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	id, ctx := learntFrom(t, b), t.Context()
	unknown := backends.Scope{AgentID: "bot", Workspace: "lab"}
	answers := map[string]func(s backends.Scope) (any, error){
		"Search": func(s backends.Scope) (any, error) {
			return b.Search(ctx, &backends.SearchRequest{Scope: s, Query: "tea", IncludeSuperseded: true})
		},
		"Get":  func(s backends.Scope) (any, error) { return b.Get(ctx, &backends.GetRequest{Scope: s, ID: id}) },
		"List": func(s backends.Scope) (any, error) { return b.List(ctx, &backends.ListRequest{Scope: s}) },
		"Task.Retrieve": func(s backends.Scope) (any, error) {
			return b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: s, Query: "refunding tea"})
		},
		"Tools.Retrieve": func(s backends.Scope) (any, error) {
			return b.Tools().Retrieve(ctx, &tool.RetrieveRequest{Scope: s, Tools: []string{"search"}, WithCalls: true})
		},
		"Tools.Summarize": func(s backends.Scope) (any, error) {
			return b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: s, Force: true})
		},
		"Summarize the same": func(s backends.Scope) (any, error) {
			return b.Task().Summarize(ctx, summary(s, attempted("refunding tea", "check the payment first", 1)))
		},
	}
	for name, answer := range answers {
		shown := func(s backends.Scope) string {
			got, err := answer(s)
			require.NoError(t, err, name)
			raw, err := json.Marshal(got)
			require.NoError(t, err)
			require.NotEmpty(t, raw)
			return string(raw)
		}
		for _, other := range []backends.Scope{bob, unknown} {
			assert.NotContains(t, shown(other), cleo.UserID, name)
			assert.NotContains(t, shown(other), cleo.SessionID, name)
		}
		assert.Contains(t, shown(lab), cleo.UserID, name)
		if !strings.HasPrefix(name, "Tools.S") { // of a guideline only the program sees the users
			assert.Contains(t, shown(cleo), cleo.UserID, name)
		}
	}
	events, err := b.History(ctx, &backends.HistoryRequest{Scope: bob, ID: id})
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprint(events), cleo.UserID)
	var dump bytes.Buffer
	require.NoError(t, only(b.Export(ctx, lab, &dump)))
	for _, of := range []string{`"user_id":"cleo-7731"`, `"users":["cleo-7731"]`} { // what she taught and loaded, and the guideline
		assert.Contains(t, dump.String(), of)
	}
}

// Of what is hidden a filter finds out nothing: the field is absent, for ne and not, too.
func TestNoFilterFindsOutWhoseAMemoryIs(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	learntFrom(t, b)
	tea := func(s backends.Scope, f backends.Filter) int {
		listed, err := b.List(t.Context(), &backends.ListRequest{Scope: s, Filter: &f, Kinds: []backends.Kind{backends.KindTask}})
		require.NoError(t, err)
		found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "tea", Filter: &f, Kinds: []backends.Kind{backends.KindTask}})
		require.NoError(t, err)
		retrieved, err := b.Task().Retrieve(t.Context(), &task.RetrieveRequest{Scope: s, Query: "tea", Filter: &f})
		require.NoError(t, err)
		require.Len(t, found.Hits, len(listed.Memories))
		require.Len(t, retrieved.Hits, len(listed.Memories))
		return len(listed.Memories)
	}
	hers := backends.Eq("user_id", cleo.UserID)
	for name, f := range map[string]backends.Filter{
		"user": hers, "session": backends.Eq("session_id", cleo.SessionID), "list": {Op: "in", Field: "user_id", Value: []any{"x", cleo.UserID}}, "part": {Op: "contains", Field: "user_id", Value: "7731"},
		"order": {Op: "gt", Field: "user_id", Value: "a"}, "not not": backends.Not(backends.Not(hers)), "not ne": backends.Not(backends.Ne("user_id", cleo.UserID)),
		"any case": {Op: "icontains", Field: "user_id", Value: "CLEO"}, "exists": {Op: "exists", Field: "user_id", Value: true},
		"not missing": backends.Not(backends.Filter{Op: "exists", Field: "user_id", Value: false}),
		"or":          backends.Or(hers, backends.Eq("kind", "none")), "nin": backends.Not(backends.Filter{Op: "nin", Field: "session_id", Value: []string{cleo.SessionID}}),
	} {
		assert.Equal(t, 0, tea(bob, f), name)
		assert.Equal(t, 2, tea(bob, backends.Not(f)), name)
		assert.Equal(t, 0, tea(backends.Scope{Workspace: "lab", AgentID: "bot"}, f), name)
		assert.Equal(t, 2, tea(cleo, f), name)
		assert.Equal(t, 2, tea(lab, f), name)
	}
	require.NoError(t, only(b.Task().Summarize(t.Context(), summary(bob, attempted("weighing tea", "use a scale", 1)))))
	assert.Equal(t, 1, tea(bob, backends.Eq("user_id", "bob")))
}

func TestOnlyTheAuthorAndTheProgramChangeAWorkspace(t *testing.T) {
	text := "mine"
	changes := map[string]func(ctx context.Context, b *reme.Backend, s backends.Scope, id string) error{
		"Update": func(ctx context.Context, b *reme.Backend, s backends.Scope, id string) error {
			return only(b.Update(ctx, &backends.UpdateRequest{Scope: s, ID: id, Text: &text}))
		},
		"Delete": func(ctx context.Context, b *reme.Backend, s backends.Scope, id string) error {
			return b.Delete(ctx, &backends.DeleteRequest{Scope: s, ID: id})
		},
		"Library.Load over it": func(ctx context.Context, b *reme.Backend, s backends.Scope, id string) error {
			line := fmt.Sprintf(`{"memory_id":%q,"memory_type":"task","when_to_use":"packing tea","content":"mine"}`, id)
			return only(b.Library().Load(ctx, &reme.LoadRequest{Scope: s, Merge: true}, strings.NewReader(line)))
		},
		"Task.Forget": func(ctx context.Context, b *reme.Backend, s backends.Scope, _ string) error {
			return only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: s, Rule: task.Rule{MaxUtility: 1}}))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			for _, who := range []backends.Scope{cleo, lab} {
				b, _ := newBackend(t, open(t), nil)
				id, ctx := learntFrom(t, b), t.Context()
				require.NoError(t, only(b.Task().Record(ctx, &task.RecordRequest{Scope: bob, IDs: []string{id}})))
				before, err := b.Get(ctx, &backends.GetRequest{Scope: bob, ID: id})
				require.NoError(t, err)
				require.ErrorIs(t, change(ctx, b, bob, id), backends.ErrDenied)
				after, err := b.Get(ctx, &backends.GetRequest{Scope: bob, ID: id})
				require.NoError(t, err)
				assert.Equal(t, before, after)
				require.NoError(t, change(ctx, b, who, id))
			}
		})
	}
	b, _ := newBackend(t, open(t), nil)
	learntFrom(t, b)
	require.ErrorIs(t, only(b.Library().Load(t.Context(), &reme.LoadRequest{Scope: bob}, strings.NewReader(`{"memory_type":"task","when_to_use":"w","content":"c"}`))), backends.ErrDenied, "it removes the others")
	require.ErrorIs(t, only(b.Library().Delete(t.Context(), cleo)), backends.ErrDenied)
	require.NoError(t, only(b.Library().Delete(t.Context(), lab)))
}

func TestAProgramDecidesWhoMayChangeAWorkspace(t *testing.T) {
	full := errors.New("the workspace is frozen")
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Outcome = func(context.Context, *reme.Turn) (*reme.Outcome, error) { return &reme.Outcome{Score: 1}, nil }
		c.Allow = func(_ context.Context, op backends.Op, s backends.Scope, m *backends.Memory) error {
			switch {
			case s.UserID == "eve":
				return fmt.Errorf("the directory: %w", backends.ErrUnavailable)
			case op == backends.OpAdd && s.UserID != "":
				return full
			case m != nil && m.Scope.UserID != "":
				return full
			}
			return nil
		}
	})
	ctx, worked := t.Context(), turn("t1", schema.UserMessage("FACT bob drinks tea"), schema.AssistantMessage("LESSON refunding | check first", nil))
	for name, err := range map[string]error{
		"Summarize": only(b.Task().Summarize(ctx, summary(bob, refund(1)))),
		"Record":    only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: bob, Calls: calls(1, "c")})),
		"Load":      only(b.Library().Load(ctx, &reme.LoadRequest{Scope: bob}, strings.NewReader(`{"memory_type":"task","when_to_use":"w","content":"c"}`))),
		"Add":       only(b.Add(ctx, &backends.AddRequest{Scope: bob, Messages: worked, Kind: backends.KindTask})),
	} {
		require.ErrorIs(t, err, full, name)
		require.ErrorIs(t, err, backends.ErrDenied, name)
	}
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: bob, Messages: worked})
	require.NoError(t, err, "what he said is his own")
	require.Len(t, resp.Items, 1)
	assert.Equal(t, "bob drinks tea", resp.Items[0].Memory.Text)
	err = only(b.Add(ctx, &backends.AddRequest{Scope: backends.Scope{UserID: "eve", Workspace: "lab"}, Messages: worked}))
	require.ErrorIs(t, err, backends.ErrUnavailable, "nothing is left out because it is unknown")
	require.NotErrorIs(t, err, backends.ErrDenied)
	require.NoError(t, only(b.Task().Summarize(ctx, summary(lab, refund(1)))))
}

func TestAListHasNoEmptyFirstPage(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	learntFrom(t, b)
	page, err := b.List(t.Context(), &backends.ListRequest{Scope: bob, Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Memories, 2, "bob has none of his own")
	page, err = b.List(t.Context(), &backends.ListRequest{Scope: bob, Limit: 2, Cursor: page.Next})
	require.NoError(t, err)
	require.Len(t, page.Memories, 1)
	assert.Empty(t, page.Next)
}

// The user's message, or the best part of it, is in nothing that the workspace holds, even if
// the model repeats it in the name of the task.
func TestTheUsersMessageIsNotStoredInAWorkspace(t *testing.T) {
	const message = "I am Cleo Marchetti, I have lupus and cannot work: please refund my order of green tea"
	for name, c := range map[string]struct {
		says string
		keep bool
		want any
	}{
		"the model's name for it":  {says: "Refunding an order on request.", want: "Refunding an order on request."},
		"none":                     {says: "", want: nil},
		"the message":              {says: message, want: nil},
		"a part of it":             {says: "Help: I have lupus and cannot work: please refund!", want: nil},
		"the query, if asked for":  {says: "Refunding.", keep: true, want: message},
		"a few of the words alone": {says: "Please refund my order.", want: "Please refund my order."},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newBackend(t, open(t), func(cfg *reme.Config) {
				cfg.Task.KeepQuery = c.keep
				cfg.Outcome = func(context.Context, *reme.Turn) (*reme.Outcome, error) {
					return &reme.Outcome{Score: 1, Note: "it was about: " + message}, nil
				}
				cfg.Model = testkit.New(func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
					out, err := testkit.Learn(ctx, in, opts)
					if err == nil && opts.Tools[0].Name == "extract_experiences" {
						f := &out.ToolCalls[0].Function
						f.Arguments = strings.Replace(f.Arguments, `"when_to_use"`, fmt.Sprintf(`"task_query":%q,"when_to_use"`, message), 1)
						f.Arguments = fmt.Sprintf(`{"task":%q,`, c.says) + strings.TrimPrefix(f.Arguments, "{")
					}
					return out, err
				})
			})
			const short = "My lupus keeps me from going to the shop"
			lessons := "LESSON refunding | check the payment first\nLESSON somebody says: " + message + " | refund it\nLESSON " + short + " | send it"
			require.NoError(t, only(b.Add(t.Context(), &backends.AddRequest{Scope: cleo, Messages: turn("t1", schema.UserMessage(message), schema.UserMessage(short), schema.AssistantMessage(lessons, nil))})))
			all, err := b.List(t.Context(), &backends.ListRequest{Scope: lab})
			require.NoError(t, err)
			require.Len(t, all.Memories, map[bool]int{false: 1, true: 3}[c.keep])
			assert.Equal(t, c.want, all.Memories[0].Metadata["task_query"])
			raw, err := json.Marshal(all.Memories)
			require.NoError(t, err)
			assert.Equal(t, c.keep, strings.Contains(string(raw), "lupus"))
		})
	}
}

// What another user says again, or adds to, keeps its origin: the search for duplicates sees it.
func TestWhatIsLearntAgainKeepsWhoseItIs(t *testing.T) {
	for decision, want := range map[string][]string{
		`"decision":"same"`: nil,
		`"decision":"merge","when_to_use":"refunding green tea","content":"check the payment, then the box"`: {cleo.UserID},
	} {
		b, _ := newBackend(t, open(t), func(c *reme.Config) {
			c.Model = testkit.New(func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
				out, err := testkit.Learn(ctx, in, opts)
				if err == nil {
					out.ToolCalls[0].Function.Arguments = strings.ReplaceAll(out.ToolCalls[0].Function.Arguments, `"decision":"distinct"`, decision)
				}
				return out, err
			})
		})
		ctx := t.Context()
		require.NoError(t, only(b.Task().Summarize(ctx, summary(cleo, attempted("refunding green tea", "check the payment first of all", 1)))))
		resp, err := b.Task().Summarize(ctx, summary(bob, attempted("refunding green tea", "check the payment first of all, then the box", 1)))
		require.NoError(t, err)
		assert.NotContains(t, fmt.Sprint(resp), cleo.UserID)
		all, err := b.List(ctx, &backends.ListRequest{Scope: lab})
		require.NoError(t, err)
		require.Len(t, all.Memories, 1, decision)
		m := &all.Memories[0]
		assert.Equal(t, want, m.Origin.Users)
		assert.True(t, m.CameFrom(cleo.UserID))
		assert.Equal(t, want != nil, m.CameFrom("bob"))
		assert.Equal(t, want == nil, m.Origin.Session == cleo.SessionID)
		if want != nil {
			require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: bob, ID: m.ID}), backends.ErrDenied, "it is not his alone")
		}
	}
}

// What one user's run taught may be poison: with HoldBack others find it once it is confirmed.
func TestALessonIsHeldBackFromOthersUntilItIsConfirmed(t *testing.T) {
	other := backends.Scope{AgentID: "other", Workspace: "lab"}
	for name, confirm := range map[string]func(*testing.T, *reme.Backend, string){
		"learnt again": func(t *testing.T, b *reme.Backend, _ string) {
			again := attempted("refunding tea", "check the payment first", 1)
			again.TaskID = "another task"
			require.NoError(t, only(b.Task().Summarize(t.Context(), summary(bob, again))))
		},
		"helped": func(t *testing.T, b *reme.Backend, id string) {
			require.NoError(t, only(b.Task().Record(t.Context(), &task.RecordRequest{Scope: cleo, IDs: []string{id}, AllUseful: true})))
		},
		"verified": func(t *testing.T, b *reme.Backend, id string) {
			require.NoError(t, only(b.Update(t.Context(), &backends.UpdateRequest{Scope: lab, ID: id, Metadata: map[string]any{"held_back": nil}})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newBackend(t, open(t), func(cfg *reme.Config) { cfg.Task.HoldBack = true })
			ctx := t.Context()
			learnt, err := b.Task().Summarize(ctx, summary(cleo, attempted("refunding tea", "check the payment first", 1)))
			require.NoError(t, err)
			finds := func(s backends.Scope) int {
				found, err := b.Search(ctx, &backends.SearchRequest{Scope: s, Query: "refunding tea"})
				require.NoError(t, err)
				retrieved, err := b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: s, Query: "refunding tea"})
				require.NoError(t, err)
				require.Len(t, retrieved.Hits, len(found.Hits))
				return len(found.Hits)
			}
			require.Equal(t, []int{1, 1, 0, 0}, []int{finds(cleo), finds(lab), finds(bob), finds(other)})
			confirm(t, b, learnt.Memories[0].ID)
			require.Equal(t, []int{1, 1, 1, 1}, []int{finds(cleo), finds(lab), finds(bob), finds(other)})
		})
	}
}
