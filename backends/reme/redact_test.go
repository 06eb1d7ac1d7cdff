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

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

const secret = "Hunter2"

func redacting(c *reme.Config) {
	c.Redact = func(s string) string { return strings.ReplaceAll(s, secret, "***") }
}

// By default what goes to a workspace has no personal data; what is a user's own is as it was
// said, and not looked at here.
func TestNoSecretIsStoredOrShown(t *testing.T) {
	all := func(backends.Partition) bool { return true }
	shared := func(p backends.Partition) bool { return p.Kind == backends.PartitionWorkspace }
	for mode, of := range map[string]struct {
		secret string
		config func(*reme.Config)
		closed func(backends.Partition) bool // where nothing of the secret may be
	}{
		"configured": {secret, redacting, all},
		"by default": {"ann.lee@example.com", func(*reme.Config) {}, shared},
	} {
		t.Run(mode, func(t *testing.T) {
			secret, everywhere := of.secret, mode == "configured"
			hushed := func() task.Trajectory { // with the secret wherever one can be
				return task.Trajectory{
					TaskID: "log in with " + secret, Query: "log in as " + secret, Score: 1, Metadata: map[string]any{task.NoteKey: "it took " + secret, "x": secret},
					Messages: []*schema.Message{
						{Role: schema.User, Name: secret, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "my word is " + secret}}},
						{Role: schema.Assistant, ReasoningContent: "use " + secret, Content: "LESSON logging in with " + secret + " | send " + secret, ToolCalls: []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "login", Arguments: `{"word":"` + secret + `"}`}}}},
						schema.ToolMessage("welcome "+secret, "1"),
					},
				}
			}
			kept := func(t *testing.T, db store.Store) string { // all that is stored of memories and of calls
				t.Helper()
				var out bytes.Buffer
				enc := json.NewEncoder(&out)
				all, err := db.Partitions(t.Context(), backends.DefaultNamespace, store.Page{})
				require.NoError(t, err)
				for _, p := range all.Partitions {
					if !of.closed(p) {
						continue
					}
					changes, err := db.Changes(t.Context(), p, "")
					require.NoError(t, err)
					for i := range changes.Records {
						require.NoError(t, enc.Encode(changes.Records[i].Memory))
						events, err := db.History(t.Context(), p, changes.Records[i].ID)
						require.NoError(t, err)
						require.NoError(t, enc.Encode(events))
					}
					if p.Kind != backends.PartitionWorkspace { // the log of who speaks is not memory's to redact
						continue
					}
					sessions, err := db.List(t.Context(), store.SessionQuery{Partition: &p})
					require.NoError(t, err)
					for i := range sessions.Sessions {
						require.NoError(t, enc.Encode(sessions.Sessions[i]))
						entries, err := db.Read(t.Context(), p, sessions.Sessions[i].ID, store.Range{})
						require.NoError(t, err)
						require.NoError(t, enc.Encode(entries))
					}
				}
				return out.String()
			}
			lines := `{"workspace_id":"lab","memory_id":"m1","memory_type":"task","when_to_use":"packing ` + secret + `","content":"keep ` + secret + `","score":0.5,"metadata":{"tags":["` + secret + `"],"deep":{"x":["` + secret + `"]}}}` + "\n"
			metadata := map[string]any{"source_file": secret, "deep": []any{map[string]any{"x": secret}}}
			said := func() []backends.Message {
				return turn("t1",
					schema.UserMessage("My word is "+secret+". FACT ann types "+secret),
					schema.AssistantMessage("LESSON typing "+secret+" | never show "+secret, []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "login", Arguments: secret}}}),
					schema.ToolMessage(`{"passed": true, "word": "`+secret+`"}`, "1", schema.WithToolName("login")))
			}
			ways := map[string]func(ctx context.Context, b *reme.Backend) error{
				"Add": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said(), Context: said(), Metadata: metadata}))
				},
				"Add verbatim": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said(), Metadata: metadata, Verbatim: true}))
				},
				"Add experience": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said(), Metadata: metadata, Kind: backends.KindTask, Verbatim: true}))
				},
				"RecordOutcome": func(ctx context.Context, b *reme.Backend) error {
					return only(b.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: ann, Turn: "logged", Score: 1, Note: "thanks to " + secret}))
				},
				"Task.Summarize": func(ctx context.Context, b *reme.Backend) error {
					worse := hushed()
					worse.Score = 0
					return only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Metadata: metadata, Trajectories: []task.Trajectory{hushed(), worse}}))
				},
				"Task.Summarize simple": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{hushed()}, Simple: true}))
				},
				"Task.Summarize candidates": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Candidates: []backends.Memory{{
						WhenToUse: "with " + secret, Text: "say " + secret,
						Metadata: map[string]any{"tags": []string{secret}, "task_id": secret, "x": secret, "y": []any{secret}},
					}}}))
				},
				"Task.Retrieve": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: ann, Query: "refunding an order for " + secret, Rerank: true, Rewrite: true}))
				},
				"Personal.Retrieve": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Personal().Retrieve(ctx, &reme.PersonalRetrieveRequest{SearchRequest: backends.SearchRequest{Scope: ann, Query: "who is " + secret}}))
				},
				"Tools": func(ctx context.Context, b *reme.Backend) error {
					err := b.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: ann, Calls: []backends.ToolCall{
						{Tool: "login", Arguments: `{"a":"` + secret + `"}`, Result: "hello " + secret},
						{Tool: "login", Arguments: secret, Error: "no " + secret},
					}})
					return errors.Join(err, b.Flush(ctx), only(b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Force: true})))
				},
				"Library.Load": func(ctx context.Context, b *reme.Backend) error {
					return only(b.Library().Load(ctx, &reme.LoadRequest{Scope: ann}, strings.NewReader(lines)))
				},
				"Update": func(ctx context.Context, b *reme.Backend) error {
					learnt, err := b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
					if err != nil {
						return err
					}
					text := "say " + secret
					return only(b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: learnt.Items[0].Memory.ID, Text: &text, Metadata: metadata}))
				},
			}
			for name, way := range ways {
				t.Run(name, func(t *testing.T) {
					db := open(t)
					seen := testkit.New(testkit.Learn)
					b, _ := newBackend(t, db, func(c *reme.Config) {
						of.config(c)
						c.Model, c.Verdict = seen, reme.VerdictOf("login", "passed")
					})
					_, err := b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
					require.NoError(t, err)
					logged(t, db, append(said(), turn("logged", said()[0].Message, said()[1].Message)...))
					before := kept(t, db)
					require.NoError(t, way(t.Context(), b))
					after := kept(t, db)
					assert.NotContains(t, after, secret)
					if personal := name == "Add verbatim"; !strings.Contains(name, "Retrieve") && (everywhere || !personal) {
						assert.NotEqual(t, before, after, "something was learnt")
					}
					if everywhere {
						assert.NotContains(t, fmt.Sprint(seen.Calls()), secret)
					}
				})
			}
		})
	}
}

func TestAUsersOwnMemoryIsNotRedactedByDefault(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) { c.Redact = func(s string) string { return s } })
	require.NoError(t, only(b.Task().Summarize(t.Context(), summary(ann, attempted("asking for help", "write to help@example.com", 1)))))
	assert.Equal(t, []string{"write to help@example.com"}, find(t, b, ann, "asking for help"), "a function that returns its text turns it off")
	b, _ = newBackend(t, open(t), nil)
	require.NoError(t, only(b.Add(t.Context(), saying("FACT ann's address is ann.lee@example.com"))))
	assert.Equal(t, []string{"ann's address is ann.lee@example.com"}, find(t, b, ann, "the address of ann", backends.KindPersonal))
}

// What was stored before texts were redacted is not shown to models either.
func TestWhatWasStoredBeforeIsNotShown(t *testing.T) {
	db := open(t)
	careless, _ := newBackend(t, db, nil)
	ctx := t.Context()
	require.NoError(t, only(careless.Add(ctx, &backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann types "+secret))})))
	require.NoError(t, only(careless.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{attempted("typing a password", "type "+secret, 1)}})))
	require.NoError(t, only(careless.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: []tool.Call{{Tool: "login", Input: secret, Output: "hello " + secret}}})))

	seen := testkit.New(testkit.Learn)
	b, _ := newBackend(t, db, func(c *reme.Config) {
		redacting(c)
		c.Model = seen
	})
	require.NoError(t, only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: turn("t2", schema.UserMessage("FACT ann types fast"))})))
	require.NoError(t, only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{attempted("typing a password", "type it slowly", 1)}})))
	require.NoError(t, only(b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: ann, Query: "typing a password", Rewrite: true})))
	require.NoError(t, only(b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Force: true})))
	require.NotEmpty(t, seen.Calls())
	assert.NotContains(t, fmt.Sprint(seen.Calls()), secret)
}
