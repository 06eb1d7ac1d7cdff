// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/testkit"
)

// In one user's partition mem0 and reme learn the same things, each for itself: neither takes
// what the other knows for its own, shows it to its model, replaces or deletes it. Neither
// does so with core blocks.
func TestMem0AndCoreBlocksLiveBesideReMe(t *testing.T) {
	db := open(t)
	user, workspace := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}, backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "lab"}
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: db, Mode: mem0.Verbatim})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, facts.Close(context.Background())) })
	remember := func(text, author string) { // with an author as a fact, else as what was said
		require.NoError(t, only(facts.Add(t.Context(), &backends.AddRequest{Scope: ann, Author: author, Messages: turn("m/"+text, schema.UserMessage(text))})))
	}
	remember("ann drinks tea", "agent")
	remember("ann sells tea in Suzhou", "")
	blocks, err := core.New(&core.Config{Records: db, Blocks: []core.Block{{Name: "human"}, {Name: "desk", Owner: backends.PartitionWorkspace}}})
	require.NoError(t, err)
	for _, block := range []string{"human", "desk"} {
		require.NoError(t, only(blocks.Set(t.Context(), &core.Edit{Scope: ann, Block: block, Text: "Ann's password is swordfish."})))
	}
	others := func() (out []string) { // all that is not reme's, to the last version
		for _, p := range []backends.Partition{user, workspace} {
			all, err := db.Changes(t.Context(), p, "")
			require.NoError(t, err)
			for i := range all.Records {
				if m := &all.Records[i].Memory; m.Kind == backends.KindFact || m.Kind == backends.KindEpisode || m.Kind == backends.KindCore {
					out = append(out, fmt.Sprint(p, m.Kind, m.ID, m.Version, m.Text, m.Active()))
				}
			}
		}
		return out
	}
	before := others()
	require.Len(t, before, 4)
	b, learner := newBackend(t, db, quiet)
	ctx := t.Context()

	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: turn("t1",
		schema.UserMessage("FACT ann drinks tea"), schema.UserMessage("FACT ann sells tea in Suzhou no more"),
		schema.AssistantMessage("LESSON selling tea | ask for the colour", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "submit", Arguments: "{}"}}}),
		&schema.Message{Role: schema.Tool, ToolName: "submit", ToolCallID: "c", Content: `{"passed":true}`})})
	require.NoError(t, err)
	for _, item := range resp.Items {
		assert.Equal(t, backends.OutcomeAdded, item.Outcome, item.Memory.Text)
	}
	require.Len(t, resp.Items, 3)
	require.NoError(t, only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Verbatim: true, Messages: said("ann drinks tea")}})))
	require.NoError(t, only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: calls(4, "c")})))
	require.NoError(t, only(b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Force: true})))
	require.NoError(t, only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: ann, Rule: &task.Rule{MaxUtility: 1}})))
	var file bytes.Buffer
	require.NoError(t, only(b.Library().Dump(ctx, &reme.DumpRequest{Scope: ann}, &file)))
	require.NoError(t, only(b.Library().Load(ctx, &reme.LoadRequest{Scope: ann}, &file)))
	personal := strings.NewReader(`{"memory_id":"p","memory_type":"personal","content":"ann collects stamps"}`)
	require.NoError(t, only(b.Library().Load(ctx, &reme.LoadRequest{Scope: backends.Scope{UserID: "ann"}, Merge: true}, personal)))

	for _, s := range []backends.Scope{{UserID: "ann"}, {Workspace: "lab"}} { // reme does not know the limits of core blocks
		listed, err := b.List(ctx, &backends.ListRequest{Scope: s, Kinds: []backends.Kind{backends.KindCore}})
		require.NoError(t, err)
		require.Len(t, listed.Memories, 1)
		id, text := listed.Memories[0].ID, "mine"
		require.ErrorIs(t, only(b.Update(ctx, &backends.UpdateRequest{Scope: s, ID: id, Text: &text})), backends.ErrInvalid)
		require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: s, ID: id}), backends.ErrInvalid)
	}

	assert.Equal(t, before, others())
	assert.NotContains(t, fmt.Sprint(learner.Calls()), "swordfish")
	for _, q := range []string{"what does ann drink and sell: tea", "ann's password swordfish"} {
		found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: q, TopK: 50})
		require.NoError(t, err)
		for i := range found.Hits {
			assert.Contains(t, []backends.Kind{backends.KindPersonal, backends.KindTask, backends.KindTool}, found.Hits[i].Kind)
		}
	}

	mine := find(t, b, ann, "what does ann drink: tea", backends.KindPersonal)
	remember("ann drinks tea", "agent")
	remember("ann drinks coffee", "agent")
	found, err := facts.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "ann drinks", Kinds: []backends.Kind{backends.KindFact, backends.KindEpisode}, TopK: 50})
	require.NoError(t, err)
	assert.Len(t, found.Hits, 3, "tea once, coffee, and what was said")
	assert.Equal(t, mine, find(t, b, ann, "what does ann drink: tea", backends.KindPersonal))
}

// A backend that gets an embedder, or another one: nothing is lost, the error names the
// way out, and Reembed is it.
func TestAnEmbedderComesLaterAndAnotherAfterIt(t *testing.T) {
	db := open(t)
	lived(t, db)
	with := func(name string, dim int) *reme.Backend {
		b, _ := newBackend(t, db, func(c *reme.Config) {
			quiet(c)
			c.Embedder, c.EmbeddingModel = &testkit.Embedder{Dim: dim}, name
		})
		return b
	}
	const query = "refunding an order of tea"
	works := func(b *reme.Backend) {
		t.Helper()
		found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
		require.NoError(t, err)
		require.NoError(t, found.Degraded)
		require.GreaterOrEqual(t, len(found.Hits), 2)
		for i := range found.Hits {
			assert.NotZero(t, found.Hits[i].Parts.Vector, found.Hits[i].Text)
		}
	}
	first := with("hash", 32)
	found, err := first.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
	require.NoError(t, err)
	require.Len(t, found.Hits, 2, "words find what has no vectors")
	require.NoError(t, only(first.Reembed(t.Context(), ann)))
	works(first)

	writes := map[string]func(*reme.Backend) error{
		"Add": func(b *reme.Backend) error { return only(b.Add(t.Context(), saying("FACT ann lives in Hangzhou"))) },
		"Task": func(b *reme.Backend) error {
			return only(b.Task().Summarize(t.Context(), summary(ann, attempted("selling tea", "weigh it", 1))))
		},
		"Library": func(b *reme.Backend) error {
			return only(b.Library().Load(t.Context(), &reme.LoadRequest{Scope: ann, Merge: true}, strings.NewReader(lines("a", 1))))
		},
	}
	for name, second := range map[string]*reme.Backend{"another name": with("hash2", 32), "another size": with("hash", 16)} {
		before := state(t, db)
		_, err := second.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
		require.ErrorIs(t, err, backends.ErrDimension, name)
		require.ErrorContains(t, err, "Reembed", name)
		for write, f := range writes {
			err := f(second)
			require.ErrorIs(t, err, backends.ErrDimension, "%s, %s", name, write)
			require.Regexp(t, "(?i)re-?embed", err.Error(), "%s, %s", name, write)
			require.Equal(t, before, state(t, db), "%s, %s", name, write)
		}
		require.NoError(t, only(second.Reembed(t.Context(), ann)))
		works(second)
		_, err = first.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
		require.ErrorIs(t, err, backends.ErrDimension, "the old one returns it, too")
		require.NoError(t, only(first.Reembed(t.Context(), ann)))
	}
	for write, f := range writes {
		require.NoError(t, f(first), write)
	}
	works(first)
}

// What the workspace learnt from a stretch of the log is not learnt again from parts
// of it, because what was said cannot be stored: the error says that a part may be stored.
func TestAHalfThatCannotBeStoredLeavesTheStretchInDoubt(t *testing.T) {
	db := open(t)
	old, _ := newBackend(t, db, func(c *reme.Config) { c.Embedder, c.EmbeddingModel = &testkit.Embedder{Dim: 8}, "old" })
	require.NoError(t, only(old.Personal().Summarize(t.Context(), &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Verbatim: true, Messages: said("我住在杭州")}})))
	b, _ := newBackend(t, db, func(c *reme.Config) { quiet(c); c.Embedder, c.EmbeddingModel = &testkit.Embedder{Dim: 9}, "new" })
	r := &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed":true}`), IdempotencyKey: "k"}
	_, err := b.Add(t.Context(), r)
	require.ErrorIs(t, err, backends.ErrDimension)
	require.ErrorIs(t, err, backends.ErrUnavailable, "it may be repeated as it is, and not in parts")
	require.Equal(t, []string{"check the payment first"}, find(t, b, backends.Scope{Workspace: "lab"}, "refunding"))
	require.NoError(t, only(b.Reembed(t.Context(), ann)))
	require.NoError(t, only(b.Add(t.Context(), r)))
	assert.ElementsMatch(t, []string{"check the payment first", "ann sells tea", "我住在杭州"}, find(t, b, ann, "refunding tea 杭州"))
}

// In ReMe's layout personal memory lives in the workspace, and the log stays the
// user's: a session of the workspace that has the same name is not taken for it.
func TestInReMesLayoutTheLogStaysTheUsers(t *testing.T) {
	db := open(t)
	b, _ := newBackend(t, db, func(c *reme.Config) { quiet(c); c.Personal.InWorkspace = true })
	require.NoError(t, only(b.Tools().Record(t.Context(), &tool.RecordRequest{Scope: ann, Calls: calls(1, "c")})))
	s := ann
	s.SessionID = "tool/search/2026-05"
	p := backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "lab"}
	before, err := db.Session(t.Context(), p, s.SessionID)
	require.NoError(t, err, "the calls of the tool in that month")
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: s, Messages: said("FACT ann drinks tea"), IdempotencyKey: "k",
		Checkpoint: &backends.Checkpoint{Session: s.SessionID, Upto: 1, Token: 7}})
	require.NoError(t, err)
	assert.False(t, resp.Checkpointed)
	after, err := db.Session(t.Context(), p, s.SessionID)
	require.NoError(t, err)
	assert.Equal(t, before.Version, after.Version)
}
