// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
)

// deed is a call of the public API that may fail anywhere.
type deed struct {
	call func(ctx context.Context, b *reme.Backend) error
	// halves says that it is more than one write, each of which may be done without the
	// next: the repeat under the same key does the rest.
	halves bool
	// bears says that some failures are no error of the call: what it came for is done.
	bears bool
}

func calls(n int, id string) []tool.Call {
	out := make([]tool.Call, n)
	for i := range out {
		out[i] = tool.Call{ID: fmt.Sprint(id, i), Tool: []string{"search", "搜索"}[i%2], Input: fmt.Sprint("tea ", i), Output: "ten shops", Time: annual}
	}
	return out
}

func said(text string) []backends.Message { return turn("t7", schema.UserMessage(text)) }

// attempted is a trajectory that teaches a lesson.
func attempted(when, what string, score float64) task.Trajectory {
	return task.Trajectory{TaskID: when, Score: score, Observed: annual, Messages: []*schema.Message{
		schema.UserMessage("do it"), schema.AssistantMessage("LESSON "+when+" | "+what, nil),
	}}
}

func only[T any](_ T, err error) error { return err }

// deeds are the calls of the API, by name.
func deeds() map[string]deed {
	const lines = `{"workspace_id":"lab","memory_id":"m1","memory_type":"task","when_to_use":"packing tea","content":"keep it dry","score":0.5}` + "\n"
	return map[string]deed{
		"Add": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed":true}`), IdempotencyKey: "k"}))
		}},
		"Add from the log": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed":true}`), IdempotencyKey: "k", Checkpoint: &backends.Checkpoint{Session: "s1", Upto: 2}})
			if err == nil && !resp.Checkpointed {
				return errors.New("the log does not know that it was learnt from")
			}
			return err
		}},
		"Add what is said": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("FACT ann lives in Hangzhou"), IdempotencyKey: "k"}))
		}},
		"Add verbatim": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("我对花生过敏"), Verbatim: true, IdempotencyKey: "k"}))
		}},
		"Add experience": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("ask for the colour first"), Verbatim: true, Kind: backends.KindTask}))
		}},
		"RecordOutcome": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: ann, Turn: "logged", Score: 1}))
		}},
		"Task.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{
				attempted("selling tea", "weigh it twice", 1), attempted("selling tea", "never guess", 0),
			}}))
		}},
		"Task.Record": {call: func(ctx context.Context, b *reme.Backend) error {
			ids, err := lessons(ctx, b)
			if err != nil {
				return err
			}
			return only(b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: ids, AllUseful: true, IdempotencyKey: "k"}))
		}},
		"Task.Forget": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: ann, Rule: &task.Rule{MinUses: 1, MaxUtility: 0.5}}))
		}},
		"Task.Retry": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Retry(ctx, &task.RetryRequest{Scope: ann, Query: "refunding an order", IdempotencyKey: "k",
				Run: func(_ context.Context, a *task.Attempt) (*task.Trajectory, error) {
					t := attempted("retrying", "try again", float64(min(a.N-1, 1)))
					return &t, nil
				}}))
		}},
		"Personal.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Messages: said("FACT ann lives in Hangzhou")}}))
		}},
		"Personal.Verbatim": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Verbatim: true, Messages: said("我住在杭州")}}))
		}},
		"Tools.Record": {bears: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: calls(3, "new")}))
		}},
		"Tools.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Tools: []string{"search"}, Force: true}))
		}},
		"Library.Load": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Load(ctx, &reme.LoadRequest{Scope: ann, Merge: true}, strings.NewReader(lines)))
		}},
		"Library.Copy": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Copy(ctx, &reme.CopyRequest{From: ann, To: copied}))
		}},
		"Library.Delete": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Delete(ctx, ann))
		}},
		"DeleteAll": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann}))
		}},
		"Search": {call: func(ctx context.Context, b *reme.Backend) error {
			resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "refunding tea"})
			if err == nil && resp.Degraded == nil && len(resp.Hits) == 0 {
				return errors.New("it found nothing, and did not say why")
			}
			return err
		}},
		"Task.Retrieve": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: ann, Query: "refunding tea"}))
		}},
	}
}

var copied = backends.Scope{Workspace: "copy"}

// lessons returns the ids of the task memories.
func lessons(ctx context.Context, b *reme.Backend) ([]string, error) {
	found, err := b.List(ctx, &backends.ListRequest{Scope: backends.Scope{Workspace: "lab"}, Kinds: []backends.Kind{backends.KindTask}})
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range found.Memories {
		ids = append(ids, found.Memories[i].ID)
	}
	return ids, nil
}

// lived puts something of each kind into the memory.
func lived(t *testing.T, db store.Store) {
	t.Helper()
	b, _ := newBackend(t, db, reading)
	ctx := t.Context()
	learnt, err := b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)
	require.NoError(t, only(b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: []string{learnt.Memories[0].ID}})))
	require.NoError(t, only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Messages: said("FACT ann drinks tea")}})))
	require.NoError(t, only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: calls(2, "old")})))
	logged(t, db, turn("logged", schema.UserMessage("Sell order 9"), schema.AssistantMessage("LESSON selling an order | ask for the colour", nil)))
}

// state is all that can be seen of the partitions, without ids and times.
func state(t testing.TB, db store.Store) []string {
	t.Helper()
	var out []string
	for _, s := range []backends.Scope{{UserID: "ann"}, {Workspace: "lab"}, copied} {
		p, err := s.Partition(map[bool]backends.PartitionKind{true: backends.PartitionUser, false: backends.PartitionWorkspace}[s.UserID != ""])
		require.NoError(t, err)
		all, err := db.Changes(t.Context(), p, "")
		require.NoError(t, err)
		for i := range all.Records {
			m := &all.Records[i]
			out = append(out, fmt.Sprintln(p, m.Kind, m.WhenToUse, m.Text, m.Active(), m.Metadata[task.MetaFreq], m.Metadata[task.MetaUtility], m.Metadata[task.MetaCorroborated]))
		}
	}
	p, err := ann.Speaker()
	require.NoError(t, err)
	session, err := db.Session(t.Context(), p, "s1")
	require.NoError(t, err)
	out = append(out, fmt.Sprintln("learnt up to", session.Watermark))
	for _, name := range []string{"search", "搜索"} {
		b, _ := newBackend(t, db, reading)
		got, err := b.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{name}})
		if errors.Is(err, backends.ErrNotFound) { // the workspace was deleted
			continue
		}
		require.NoError(t, err)
		out = append(out, fmt.Sprintln(name, got.Tools[0].Statistics.Total))
	}
	slices.Sort(out)
	return out
}
