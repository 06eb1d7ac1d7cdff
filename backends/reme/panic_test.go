// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
)

// A function of the program's that panics is an error of the call, and nothing is stored.
func TestFunctionsOfTheProgramThatPanic(t *testing.T) {
	ctx, panics := t.Context(), false
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Clock = func() time.Time { panic("a clock") }
		c.Redact = func(s string) string {
			if panics {
				panic("a redaction")
			}
			return s
		}
	})
	kept, err := b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: *saying("FACT Ann likes tea")})
	require.NoError(t, err, "a clock that panics is the system's")
	require.Len(t, kept.Items, 1)
	id, text := kept.Items[0].Memory.ID, "changed"
	panics = true
	for name, call := range map[string]func() error{
		"Add":    func() error { return only(b.Add(ctx, saying("FACT Ann likes coffee"))) },
		"Update": func() error { return only(b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text})) },
		"Personal.Summarize": func() error {
			return only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: *saying("FACT Ann likes coffee")}))
		},
		"Task.Summarize": func() error { return only(b.Task().Summarize(ctx, summary(ann, attempted("a", "b", 1)))) },
		"Task.Retrieve":  func() error { return only(b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: ann, Query: "a"})) },
		"Tools.Record": func() error {
			return only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: []tool.Call{{Tool: "search", Input: "tea", Time: time.Now()}}}))
		},
		"Skills.Add": func() error {
			return only(b.Skills().Add(ctx, ann, &task.Skill{Name: "n", WhenToUse: "when", Steps: []string{"step"}}, true))
		},
		"Library.Load": func() error {
			file := `{"id":"m","memory_type":"personal","content":"Ann likes coffee","target":"ann"}`
			return only(b.Library().Load(ctx, &reme.LoadRequest{Scope: backends.Scope{UserID: "ann"}}, strings.NewReader(file)))
		},
	} {
		require.ErrorContains(t, call(), "panic: a redaction", name)
	}
	panics = false
	require.Equal(t, []string{"Ann likes tea"}, find(t, b, ann, "Ann likes what?"))
}
