// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk/middlewares/skill"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

const refunds = `{"name":"Refund an order","when_to_use":"refunding an order in the web shop","steps":["Look up the order.","1. Check the card before the amount.","Call refund with the order's id."],"tools":["lookup","refund"]}`

// skilled is a workspace with a lesson about refunds, and a model that writes the skill.
func skilled(t *testing.T, db store.Store, answers ...string) (*reme.Backend, backends.Scope, string) {
	var replies []testkit.Reply
	for _, a := range append(answers, refunds) {
		replies = append(replies, testkit.Call("1", "write_skill", a))
	}
	b, err := reme.New(t.Context(), &reme.Config{Store: db, Model: testkit.New(replies...)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	bob := backends.Scope{UserID: "bob", Workspace: "shop"}
	learnt, err := b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: bob, Candidates: []backends.Memory{{WhenToUse: "refunding an order", Text: "Check the card before the amount."}}})
	require.NoError(t, err)
	return b, backends.Scope{UserID: "ann", Workspace: "shop"}, learnt.Memories[0].ID
}

func kindsFound(t *testing.T, b *reme.Backend, s backends.Scope) (kinds []backends.Kind) {
	found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "refunding an order"})
	require.NoError(t, err)
	for _, h := range found.Hits {
		kinds = append(kinds, h.Kind)
	}
	return kinds
}

func TestASkillIsOfferedOnceItProvedItself(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, _ *testkit.Clock) {
		b, ann, lesson := skilled(t, db)
		drafted, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: ann, Task: "refund an order", Verify: func(context.Context, *task.Skill) (bool, error) { return false, nil }})
		require.NoError(t, err)
		require.Equal(t, &task.Skill{
			ID: drafted.ID, Name: "Refund an order", WhenToUse: "refunding an order in the web shop", Tools: []string{"lookup", "refund"}, State: task.Draft, Uses: 1, Evidence: []string{lesson},
			Steps: []string{"Look up the order.", "1. Check the card before the amount.", "Call refund with the order's id."},
		}, drafted)
		require.Equal(t, []backends.Kind{backends.KindTask}, kindsFound(t, b, ann), "a draft is not offered")
		none, err := b.Skills().Find(t.Context(), ann, "refund an order", 5, false)
		require.NoError(t, err)
		require.Empty(t, none)
		tried, err := b.Skills().Find(t.Context(), ann, "refund an order", 5, true)
		require.NoError(t, err)
		require.Len(t, tried, 1)

		var now []task.Skill
		for range 2 {
			now, err = b.Skills().Record(t.Context(), &task.SkillOutcome{Scope: ann, IDs: []string{drafted.ID}, Succeeded: true})
			require.NoError(t, err)
		}
		require.Equal(t, task.Proved, now[0].State)
		for _, who := range []backends.Scope{ann, {UserID: "carl", Workspace: "shop"}} {
			require.Equal(t, []backends.Kind{backends.KindSkill}, kindsFound(t, b, who), "it stands for the lesson that it was made from")
		}
		for range 3 {
			now, err = b.Skills().Record(t.Context(), &task.SkillOutcome{Scope: ann, IDs: []string{drafted.ID}})
			require.NoError(t, err)
		}
		require.Equal(t, []any{task.Withdrawn, 6, 2}, []any{now[0].State, now[0].Uses, now[0].Successes})
		require.Equal(t, []backends.Kind{backends.KindTask}, kindsFound(t, b, ann))
		_, err = b.Skills().Record(t.Context(), &task.SkillOutcome{Scope: ann, IDs: []string{lesson}})
		require.ErrorIs(t, err, backends.ErrNotFound)
	})
}

func TestAVerifiedSkillTakesThePlaceOfTheOneOfItsName(t *testing.T) {
	b, ann, _ := skilled(t, testkit.SQLite(t), strings.Replace(refunds, "Look up", "Find", 1))
	works := func(context.Context, *task.Skill) (bool, error) { return true, nil }
	attempt := task.Trajectory{Query: "refund order 7 of mine, which came broken and too late, as I said before", Score: 1, Messages: []*schema.Message{schema.UserMessage("refund it"), schema.AssistantMessage("done", nil)}}
	first, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: ann, Task: "refund an order", Trajectories: []task.Trajectory{attempt}, Verify: works})
	require.NoError(t, err)
	require.Equal(t, task.Proved, first.State)
	second, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: ann, Task: "refund an order", Verify: works})
	require.NoError(t, err)
	offered, err := b.Skills().Find(t.Context(), ann, "refund an order", 5, true)
	require.NoError(t, err)
	require.Len(t, offered, 1)
	require.Equal(t, second.ID, offered[0].ID)
	was, err := b.Get(t.Context(), &backends.GetRequest{Scope: ann, ID: first.ID})
	require.NoError(t, err)
	require.Equal(t, second.ID, was.SupersededBy)
	again, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: ann, Task: "refund an order", Verify: func(context.Context, *task.Skill) (bool, error) { return false, errors.New("not asked") }})
	require.NoError(t, err, "it is known, and proved")
	require.Equal(t, second.ID, again.ID)
	_, err = b.Forget(t.Context(), &backends.ForgetRequest{Scope: backends.Scope{UserID: "bob"}})
	require.NoError(t, err)
	offered, err = b.Skills().Find(t.Context(), ann, "refund an order", 5, true)
	require.NoError(t, err)
	require.Empty(t, offered, "what was made of a forgotten user's lesson is forgotten, too")
}

func TestASkillThatCannotBe(t *testing.T) {
	said := "please refund the order number seven because the blue lamp that I bought for my mother arrived broken"
	quoting := `{"name":"x","when_to_use":"y","steps":["` + said + `"]}`
	b, ann, _ := skilled(t, testkit.SQLite(t), quoting, quoting, `{"name":"x","when_to_use":"y","steps":[]}`, `{"steps":["z"]}`)
	attempt := task.Trajectory{Query: said, Score: 1, Messages: []*schema.Message{schema.UserMessage(said), schema.AssistantMessage("done", nil)}}
	for range 2 { // the user's words, then no steps and no name
		_, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: ann, Task: "refund an order", Trajectories: []task.Trajectory{attempt}})
		require.ErrorIs(t, err, backends.ErrModel)
	}
	for name, r := range map[string]*task.DraftRequest{
		"no request": nil, "no task": {Scope: ann}, "nothing to learn from": {Scope: backends.Scope{Workspace: "empty"}, Task: "x", Trajectories: []task.Trajectory{{Query: "x", Messages: attempt.Messages}}},
	} {
		_, err := b.Skills().Draft(t.Context(), r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: backends.Scope{UserID: "ann"}, Task: "x"})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

// Skills go to a folder that Eino's own skill middleware reads, and come back from one.
func TestSkillsAreFolders(t *testing.T) {
	b, ann, _ := skilled(t, testkit.SQLite(t))
	_, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: ann, Task: "refund an order", Verify: func(context.Context, *task.Skill) (bool, error) { return true, nil }})
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "skills")
	n, err := b.Skills().WriteDir(t.Context(), ann, dir)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	local, err := skill.NewLocalBackend(&skill.LocalBackendConfig{BaseDir: dir})
	require.NoError(t, err)
	read, err := local.Get(t.Context(), "refund-an-order")
	require.NoError(t, err)
	require.Equal(t, "refunding an order in the web shop", read.Description)
	require.Equal(t, "1. Look up the order.\n2. 1. Check the card before the amount.\n3. Call refund with the order's id.", read.Content)

	other := backends.Scope{Workspace: "other"}
	skills, err := b.Skills().ReadDir(t.Context(), other, dir, false)
	require.NoError(t, err)
	require.Equal(t, []any{"Refund an order", task.Draft, []string{"lookup", "refund"}}, []any{skills[0].Name, skills[0].State, skills[0].Tools})
	require.Empty(t, kindsFound(t, b, other))
	skills, err = b.Skills().ReadDir(t.Context(), other, dir, true)
	require.NoError(t, err)
	require.Equal(t, task.Proved, skills[0].State)
	require.Equal(t, []backends.Kind{backends.KindSkill}, kindsFound(t, b, other))
}

// Names that are the same as folders do not write over each other.
func TestSkillsOfOneFolderName(t *testing.T) {
	b, ann, _ := skilled(t, testkit.SQLite(t))
	names := []string{"API 退款", "API 换货", "退款", "换货"}
	for _, name := range names {
		_, err := b.Skills().Add(t.Context(), ann, &task.Skill{Name: name, WhenToUse: "客户要求" + name, Steps: []string{"查订单"}}, true)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	n, err := b.Skills().WriteDir(t.Context(), ann, dir)
	require.NoError(t, err)
	require.Equal(t, len(names), n)
	skills, err := b.Skills().ReadDir(t.Context(), backends.Scope{Workspace: "other"}, dir, true)
	require.NoError(t, err)
	var read []string
	for i := range skills {
		read = append(read, skills[i].Name)
	}
	require.ElementsMatch(t, names, read)
}

func TestFoldersThatAreNoSkills(t *testing.T) {
	b, ann, _ := skilled(t, testkit.SQLite(t))
	outside := filepath.Join(t.TempDir(), "secret.md")
	require.NoError(t, os.WriteFile(outside, []byte("---\nname: a\ndescription: b\n---\nsecret"), 0o600))
	for name, c := range map[string]struct {
		text string
		says string
	}{
		"no front matter": {"Just text.", "front matter"}, "no end": {"---\nname: a\n", "front matter"}, "no YAML": {"---\nname: [\n---\nx", "front matter"},
		"no name": {"---\ndescription: b\n---\nx", "name"}, "no steps": {"---\nname: a\ndescription: b\n---\n", "steps"}, "too long": {"---\nname: a\ndescription: b\n---\n" + strings.Repeat("x", 70_000), "bytes"},
		"a link": {"", "escapes"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o700))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "one"), 0o700))
		require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "linked")))
		file := filepath.Join(dir, "one", "SKILL.md")
		if c.text == "" {
			require.NoError(t, os.Symlink(outside, file))
		} else {
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
		}
		_, err := b.Skills().ReadDir(t.Context(), ann, dir, true)
		require.ErrorContains(t, err, c.says, name)
		require.ErrorContains(t, err, "one/SKILL.md", name)
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "refund-an-order")))
	_, err := b.Skills().Draft(t.Context(), &task.DraftRequest{Scope: ann, Task: "refund an order", Verify: func(context.Context, *task.Skill) (bool, error) { return true, nil }})
	require.NoError(t, err)
	_, err = b.Skills().WriteDir(t.Context(), ann, dir)
	require.Error(t, err, "nothing is written outside")
	require.NoFileExists(t, filepath.Join(filepath.Dir(outside), "SKILL.md"))
}
