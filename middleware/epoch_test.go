// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/profile"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"

	tidy "github.com/einomem/einomem/backends/reflection"
)

// dossier is the document of a profile.
type dossier struct {
	City string `json:"city"`
}

// house is all that writes, over one store whose calls a test can watch.
type house struct {
	testing.TB
	db       store.Store
	spy      *testkit.Store
	facts    *mem0.Backend
	work     *reme.Backend
	person   *profile.Profile[dossier]
	blocks   *core.Blocks
	window   *window.Window
	archive  *archive.Archive
	log      *working.Memory
	tidy     *tidy.Reflector
	fact     string // the id of a fact that ann has
	lesson   string // of one that the workspace has of ann
	skill    string
	plan     *tidy.Plan // that was applied
	next     tidy.Plan  // that was not
	exported string
	skills   string // a folder with one
}

var (
	annAtWork = backends.Scope{Namespace: "default", UserID: "ann", Workspace: "lab", SessionID: "s"}
	ofAnn     = backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	ofLab     = backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "lab"}
)

func newHouse(t testing.TB) *house {
	ctx := context.Background()
	h := &house{TB: t, db: testkit.SQLite(t)}
	h.spy = testkit.Spy(h.db)
	var err error
	h.person, err = profile.New[dossier]()
	require.NoError(t, err)
	h.facts, err = mem0.New(ctx, &mem0.Config{Store: h.spy, Model: testkit.New(testkit.Learn), Shared: true, Profile: h.person})
	require.NoError(t, err)
	h.work, err = reme.New(ctx, &reme.Config{Store: h.spy, Model: testkit.New(testkit.Learn), Verdict: reme.VerdictOf("saw", "passed")})
	require.NoError(t, err)
	h.blocks, err = core.New(&core.Config{Records: h.spy, Blocks: []core.Block{{Name: "user"}}})
	require.NoError(t, err)
	h.window, err = window.New(&window.Config{Sessions: h.spy, Core: h.blocks, Budget: compaction.Budget{Window: 300, Answer: -1, Tools: -1, Memories: -1}})
	require.NoError(t, err)
	archives, err := archive.New(&archive.Config{Sessions: h.spy})
	require.NoError(t, err)
	h.archive, err = archives.Of(annAtWork)
	require.NoError(t, err)
	h.log, err = working.New(ctx, &working.Config{Backend: h.facts, Sessions: h.spy, Sweep: time.Hour, Idle: time.Hour})
	require.NoError(t, err)
	h.tidy, err = tidy.New(&tidy.Config{Backend: backends.Join(h.facts, h.work)})
	require.NoError(t, err)
	t.Cleanup(func() {
		h.spy.Arm(nil)
		_ = h.log.Close(ctx)
		require.NoError(t, errors.Join(h.facts.Close(ctx), h.work.Close(ctx)))
	})
	h.furnish(ctx)
	return h
}

// furnish writes what the calls of the test change.
func (h *house) furnish(ctx context.Context) {
	said := []backends.Message{{ID: "m1", Turn: "t1", Time: time.Now(), Message: schema.UserMessage("FACT ann lives in Oslo")}}
	_, err := h.facts.Remember(ctx, annAtWork, "Ann likes tea.")
	require.NoError(h, err)
	item, err := h.facts.Remember(ctx, annAtWork, "Ann likes tea a lot.")
	require.NoError(h, err)
	h.fact = item.Memory.ID
	_, err = h.person.Update(ctx, annAtWork, func(p *dossier) error { p.City = "Oslo"; return nil })
	require.NoError(h, err)
	require.NoError(h, h.log.Append(ctx, &working.Turn{ID: "t1", Scope: annAtWork, Messages: []*schema.Message{said[0].Message, schema.AssistantMessage("Nice.", nil)}, Done: true}))
	_, err = h.blocks.Set(ctx, &core.Edit{Scope: annAtWork, Block: "user", Text: "is called Ann"})
	require.NoError(h, err)
	lessons, err := h.work.Task().Summarize(ctx, &task.SummaryRequest{Scope: annAtWork, Trajectories: []task.Trajectory{h.attempt()}})
	require.NoError(h, err)
	require.NotEmpty(h, lessons.Memories)
	h.lesson = lessons.Memories[0].ID
	skill, err := h.work.Skills().Add(ctx, annAtWork, &task.Skill{Name: "saw", WhenToUse: "sawing", Steps: []string{"saw"}}, false)
	require.NoError(h, err)
	h.skill = skill.ID
	twin := func(id string) store.Mutation {
		return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: "Ann likes sawing.", Scope: ofAnn.Scope(), Observed: time.Now()}})
	}
	_, err = h.db.Apply(ctx, ofAnn, &store.Batch{Mutations: []store.Mutation{twin("twin 1"), twin("twin 2")}})
	require.NoError(h, err)
	h.plan, err = h.tidy.Draft(ctx, &tidy.Request{Scope: annAtWork, Rules: []tidy.Rule{tidy.Duplicates}})
	require.NoError(h, err)
	require.NotEmpty(h, h.plan.Operations)
	_, err = h.tidy.Apply(ctx, h.plan, false)
	require.NoError(h, err)
	h.next = *h.plan
	h.next.ID = "another"
	h.next.Operations = nil
	var out strings.Builder
	_, err = h.facts.Export(ctx, annAtWork, &out)
	require.NoError(h, err)
	h.exported = out.String()
	h.skills = h.TempDir()
	require.NoError(h, os.Mkdir(filepath.Join(h.skills, "saw"), 0o700))
	require.NoError(h, os.WriteFile(filepath.Join(h.skills, "saw", "SKILL.md"), []byte("---\nname: plane\ndescription: planing\n---\n1. plane\n"), 0o600))
}

// attempt is one at a task, from which a lesson is learnt.
func (h *house) attempt() task.Trajectory {
	return task.Trajectory{Score: 1, Messages: []*schema.Message{schema.UserMessage("LESSON sawing oak | a fine saw"), schema.AssistantMessage("LESSON sawing oak | a fine saw", nil)}}
}

// writes are the public calls that write, by their types and names.
var writes = map[string]func(ctx context.Context, h *house) error{
	"mem0.Backend.Add": func(ctx context.Context, h *house) error {
		return only(h.facts.Add(ctx, &backends.AddRequest{Scope: annAtWork, Messages: []backends.Message{{Message: schema.UserMessage("FACT late")}}}))
	},
	"mem0.Backend.Remember": func(ctx context.Context, h *house) error { return only(h.facts.Remember(ctx, annAtWork, "late")) },
	"mem0.Backend.Promote":  func(ctx context.Context, h *house) error { return only(h.facts.Promote(ctx, annAtWork, h.fact)) },
	"mem0.Backend.Update": func(ctx context.Context, h *house) error {
		late := "late"
		return only(h.facts.Update(ctx, &backends.UpdateRequest{Scope: annAtWork, ID: h.fact, Text: &late}))
	},
	"mem0.Backend.Delete": func(ctx context.Context, h *house) error {
		return h.facts.Delete(ctx, &backends.DeleteRequest{Scope: annAtWork, ID: h.fact})
	},
	"mem0.Backend.DeleteAll": func(ctx context.Context, h *house) error {
		tea := backends.Eq("id", h.fact)
		return only(h.facts.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: annAtWork, Filter: &tea}))
	},
	"mem0.Backend.Import": func(ctx context.Context, h *house) error {
		return only(h.facts.Import(ctx, annAtWork, strings.NewReader(h.exported), nil))
	},
	"mem0.Backend.Rollback": func(ctx context.Context, h *house) error {
		return only(h.facts.Rollback(ctx, &backends.RollbackRequest{Scope: annAtWork, Session: &annAtWork.SessionID}))
	},
	"reme.Backend.Add": func(ctx context.Context, h *house) error {
		return only(h.work.Add(ctx, &backends.AddRequest{Scope: annAtWork, Messages: []backends.Message{{Message: schema.UserMessage("FACT late")}}}))
	},
	"reme.Backend.RecordOutcome": func(ctx context.Context, h *house) error {
		return only(h.work.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: annAtWork, Turn: "t1", Score: 1}))
	},
	"task.Memory.Summarize": func(ctx context.Context, h *house) error {
		return only(h.work.Task().Summarize(ctx, &task.SummaryRequest{Scope: annAtWork, Trajectories: []task.Trajectory{h.attempt()}}))
	},
	"task.Memory.Record": func(ctx context.Context, h *house) error {
		return only(h.work.Task().Record(ctx, &task.RecordRequest{Scope: annAtWork, IDs: []string{h.lesson}, IdempotencyKey: "k"}))
	},
	"task.Memory.Forget": func(ctx context.Context, h *house) error {
		return only(h.work.Task().Forget(ctx, &task.ForgetRequest{Scope: annAtWork}))
	},
	"task.Skills.Add": func(ctx context.Context, h *house) error {
		return only(h.work.Skills().Add(ctx, annAtWork, &task.Skill{Name: "plane", WhenToUse: "planing", Steps: []string{"plane"}}, true))
	},
	"task.Skills.Record": func(ctx context.Context, h *house) error {
		return only(h.work.Skills().Record(ctx, &task.SkillOutcome{Scope: annAtWork, IDs: []string{h.skill}, Succeeded: true}))
	},
	"task.Skills.ReadDir": func(ctx context.Context, h *house) error {
		return only(h.work.Skills().ReadDir(ctx, annAtWork, h.skills, true))
	},
	"tool.Memory.Record": func(ctx context.Context, h *house) error {
		return only(h.work.Tools().Record(ctx, &tool.RecordRequest{Scope: annAtWork, Calls: []tool.Call{{Tool: "saw", Input: "late", Output: "done"}}}))
	},
	"tool.Memory.Summarize": func(ctx context.Context, h *house) error {
		return only(h.work.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: annAtWork}))
	},
	"reme.Library.Load": func(ctx context.Context, h *house) error {
		return only(h.work.Library().Load(ctx, &reme.LoadRequest{Scope: annAtWork, Merge: true}, strings.NewReader(`{"memory_id":"x","memory_type":"task","when_to_use":"late","content":"late"}`)))
	},
	"reme.Library.Copy": func(ctx context.Context, h *house) error {
		return only(h.work.Library().Copy(ctx, &reme.CopyRequest{From: annAtWork, To: backends.Scope{UserID: "ann", Workspace: "other"}, Merge: true}))
	},
	"profile.Profile.Update": func(ctx context.Context, h *house) error {
		return only(h.person.Update(ctx, annAtWork, func(p *dossier) error { p.City = "Lateville"; return nil }))
	},
	"core.Blocks.Append": func(ctx context.Context, h *house) error {
		return only(h.blocks.Append(ctx, &core.Edit{Scope: annAtWork, Block: "user", Text: "late"}))
	},
	"core.Blocks.Replace": func(ctx context.Context, h *house) error {
		return only(h.blocks.Replace(ctx, &core.Edit{Scope: annAtWork, Block: "user", Old: "Ann", Text: "late"}))
	},
	"core.Blocks.Set": func(ctx context.Context, h *house) error {
		return only(h.blocks.Set(ctx, &core.Edit{Scope: annAtWork, Block: "user", Text: "late"}))
	},
	"window.Window.Fit": func(ctx context.Context, h *house) error {
		_, _ = h.window.Fit(ctx, annAtWork, []*schema.Message{schema.UserMessage("Go."), schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "saw", Arguments: "{}"}}}),
			schema.ToolMessage(strings.Repeat("late ", 3000), "c"), schema.UserMessage("Go on.")}) // a context that does not fit is an error
		return nil
	},
	"window.Sessions.Rename": func(ctx context.Context, h *house) error { return h.window.Sessions().Rename(ctx, annAtWork, "late") },
	"window.Sessions.Expire": func(ctx context.Context, h *house) error {
		return h.window.Sessions().Expire(ctx, annAtWork, time.Hour)
	},
	"window.Sessions.Fork": func(ctx context.Context, h *house) error {
		return only(h.window.Sessions().Fork(ctx, annAtWork, "late", 0))
	},
	"window.Sessions.KeepSummary": func(ctx context.Context, h *house) error {
		return only(h.window.Sessions().KeepSummary(ctx, annAtWork, 2, "late"))
	},
	"archive.Archive.Put": func(ctx context.Context, h *house) error {
		return only(h.archive.Put(ctx, []*schema.Message{schema.UserMessage("late")}))
	},
	"working.Memory.Append": func(ctx context.Context, h *house) error {
		return h.log.Append(ctx, &working.Turn{ID: "late", Scope: annAtWork, Messages: []*schema.Message{schema.UserMessage("late")}, Done: true})
	},
	"working.Memory.SaveOpenTurn": func(ctx context.Context, h *house) error {
		return h.log.SaveOpenTurn(ctx, annAtWork, "c", &working.Turn{ID: "late", Scope: annAtWork, Messages: []*schema.Message{schema.UserMessage("late")}})
	},
	"working.Memory.Consolidate":   func(ctx context.Context, h *house) error { return only(h.log.Consolidate(ctx, annAtWork)) },
	"working.Memory.RetryFailures": func(ctx context.Context, h *house) error { return h.log.RetryFailures(ctx, annAtWork) },
	"reflection.Reflector.Apply":   func(ctx context.Context, h *house) error { return only(h.tidy.Apply(ctx, &h.next, true)) },
	"reflection.Reflector.Undo": func(ctx context.Context, h *house) error {
		return only(h.tidy.Undo(ctx, annAtWork, h.plan.ID, true))
	},
}

// others are the public calls that write nothing of a person that they did not hold before, and
// those that are another one of the list above.
var others = strings.Fields(`
	Close Get Document History List Search Entities Export Retrieve Find WriteDir Dump Workspaces Read Grep Load Restore Prompt Message Health Flush Settle Unlearnt Draft
	DeleteSession Forget Library.Delete Used Retain ReembedAll TakeOpenTurn NewRecorder Retry Admit Blocks.Record
	working.Memory.Record reme.Backend.RecordCalls reme.Backend.Update reme.Backend.Delete reme.Backend.DeleteAll reme.Backend.Import reme.Backend.Rollback
	task.Skills.Summarize task.Skills.Draft window.Window.Fitted Tools Begin`)

func only(_ any, err error) error { return err }

func TestEveryPublicCallThatWritesIsTried(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*mem0.Backend](), reflect.TypeFor[*reme.Backend](), reflect.TypeFor[*task.Memory](), reflect.TypeFor[task.Skills](), reflect.TypeFor[*tool.Memory](),
		reflect.TypeFor[*reme.Library](), reflect.TypeFor[*profile.Profile[dossier]](), reflect.TypeFor[*core.Blocks](), reflect.TypeFor[*window.Window](), reflect.TypeFor[*window.Sessions](),
		reflect.TypeFor[*archive.Archive](), reflect.TypeFor[*working.Memory](), reflect.TypeFor[*tidy.Reflector](),
	} {
		of, _, _ := strings.Cut(strings.TrimPrefix(typ.String(), "*"), "[")
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() || writes[of+"."+m.Name] != nil {
				continue
			}
			known := false
			for _, name := range others {
				known = known || name == m.Name || strings.HasSuffix(of+"."+m.Name, name) && strings.Contains(name, ".")
			}
			require.True(t, known, "%s.%s: put it into writes, or say that it writes nothing", of, m.Name)
		}
	}
}

// Each public call that writes belongs to the epoch of the partition in which it began: where the
// person is forgotten before any of its calls of the store, nothing of it is stored.
func TestCallsThatBeganBeforeAForgetWriteNothing(t *testing.T) {
	testkit.SlowUnderRace(t)
	for name, does := range writes {
		t.Run(name, func(t *testing.T) {
			for at := 0; ; at++ {
				h, reached := newHouse(t), false
				var forgetting sync.Mutex // the call may be one of a goroutine that outlives what started it
				h.spy.Arm(func(c *testkit.StoreCall) error {
					if c.N == at {
						forgetting.Lock()
						reached, c.Before = true, func() { defer forgetting.Unlock(); h.forget() }
					}
					return nil
				})
				_ = does(context.Background(), h) // ErrForgotten, or that what it is about is gone
				h.spy.Arm(nil)
				forgetting.Lock()
				if !reached {
					require.Positive(t, at, "it does not reach the store")
					return
				}
				require.Empty(t, h.left(), "forgotten before call %d of the store", at)
			}
		})
	}
}

// forget erases ann, and the workspace as a whole.
func (h *house) forget() {
	for _, p := range []backends.Partition{ofAnn, ofLab, {Namespace: "default", Kind: backends.PartitionWorkspace, ID: "other"}} {
		_, err := store.Forget(context.Background(), h.db, p, nil)
		require.NoError(h, err)
	}
}

// left returns all that the store holds.
func (h *house) left() (out []string) {
	ctx := context.Background()
	for _, p := range []backends.Partition{ofAnn, ofLab, {Namespace: "default", Kind: backends.PartitionWorkspace, ID: "other"}} {
		var dump strings.Builder
		n, err := store.Export(ctx, h.db, p, &dump)
		require.NoError(h, err)
		if n.Records+n.Deleted+n.Sessions+n.Messages+n.Blobs > 0 {
			out = append(out, fmt.Sprint(p, ": ", dump.String()))
		}
	}
	return out
}
