// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// told renders what happened to a fact along its chain.
func told(events []backends.Event) (out []string) {
	for _, e := range events {
		line := string(e.Type) + " " + e.New
		if e.Type == backends.EventRetracted {
			line = string(e.Type) + " " + e.Old
		}
		out = append(out, line)
	}
	return out
}

func TestD2_MovingBackInChinese(t *testing.T) {
	b := open(t, with(resident(t)))
	var id string
	for i, text := range []string{"我住在北京", "我搬到上海了", "我又搬回北京了"} {
		m := user(text)
		m[0].ID = fmt.Sprintf("m%d", i)
		id = add(t, b, ann, m...).Items[0].Memory.ID
	}
	require.Equal(t, []string{"用户住在北京。"}, facts(t, b, ann))
	require.Equal(t, []string{"用户住在北京。"}, search(t, b, backends.SearchRequest{Scope: ann, Query: "用户住在哪里", Kinds: []backends.Kind{backends.KindFact}}))
	require.Equal(t, []string{"added 用户住在北京。", "added 用户住在上海。", "superseded 用户住在上海。", "added 用户住在北京。", "superseded 用户住在北京。"}, told(historyOf(t, b, id)))
	for _, hit := range search(t, b, backends.SearchRequest{Scope: ann, Query: "搬 上海 北京"}) {
		require.NotContains(t, hit, "上海", "what was said about a place that was left stays out")
	}
}

// A turn of January that is learnt from in March ends a fact in January, with and
// without something in its place.
func TestAFactEndsWhenItWasSaid(t *testing.T) {
	january := start.AddDate(0, -2, 0)
	for name, tc := range map[string]struct {
		op   string
		want time.Time
	}{
		"retracted":             {`{"op":"retract","index":%d}`, january},
		"retracted since":       {`{"op":"retract","index":%d,"since":"2025-12-24"}`, time.Date(2025, 12, 24, 0, 0, 0, 0, time.UTC)},
		"replaced":              {`{"op":"supersede","index":%d,"text":"B"}`, january},
		"replaced by the known": {`{"op":"supersede","index":%d,"text":"known"}`, january},
	} {
		t.Run(name, func(t *testing.T) {
			m := thinking(t, func(s shown) string {
				if len(s.memories) == 0 {
					return operations(`{"op":"add","text":"A"}`, `{"op":"add","text":"known"}`)
				}
				return operations(fmt.Sprintf(tc.op, s.indexOf("A")))
			})
			b := open(t, with(m), factsOnly)
			id := add(t, b, ann, backends.Message{ID: "1", Time: start.AddDate(-1, 0, 0), Message: schema.UserMessage("A")}).Items[0].Memory.ID
			add(t, b, ann, backends.Message{ID: "2", Time: january, Message: schema.UserMessage("not A")})
			got, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Invalidated)
		})
	}
}

// Several facts, one that ends and one that begins, in one answer about two turns.
func TestSeveralOperationsInOneAnswer(t *testing.T) {
	m := thinking(t, func(s shown) string {
		if len(s.memories) == 0 {
			return operations(`{"op":"add","text":"Ann has a cat.","messages":[0]}`, `{"op":"add","text":"Ann works at Acme.","messages":[1]}`)
		}
		return operations(fmt.Sprintf(`{"op":"retract","index":%d,"messages":[0]}`, s.indexOf("cat")), `{"op":"add","text":"Ann has a dog.","messages":[1]}`, `{"op":"none"}`)
	})
	b := open(t, with(m), factsOnly)
	first := add(t, b, ann, user("I have a cat", "I work at Acme")...)
	require.Equal(t, []string{"m0"}, first.Items[0].Memory.Origin.MessageIDs)
	require.Equal(t, []string{"m1"}, first.Items[1].Memory.Origin.MessageIDs)
	second := add(t, b, ann, user("The cat ran away", "Now I have a dog")...)
	require.Equal(t, []backends.Outcome{"retracted", "added"}, outcomes(second, backends.KindFact), "an operation on nothing is no item")
	require.Equal(t, []string{"Ann works at Acme.", "Ann has a dog."}, facts(t, b, ann))
	require.Equal(t, []string{"added Ann has a cat.", "retracted Ann has a cat."}, told(historyOf(t, b, first.Items[0].Memory.ID)))
}

// A model that replaces everything it sees by one text leaves that text, and a
// history in which nothing is lost.
func TestOneTextForEverything(t *testing.T) {
	m := thinking(t, func(s shown) string {
		if len(s.memories) == 0 {
			return operations(`{"op":"add","text":"A"}`, `{"op":"add","text":"B"}`, `{"op":"add","text":"C"}`)
		}
		var ops []string
		for _, known := range s.memories {
			ops = append(ops, fmt.Sprintf(`{"op":"supersede","index":%d,"text":"Everything."}`, known.Index))
		}
		return operations(ops...)
	})
	b := open(t, with(m), factsOnly)
	first := add(t, b, ann, user("hello")...)
	later := user("hello")
	later[0].Time = start.AddDate(0, 0, -7)
	for range 3 {
		add(t, b, ann, later...)
		require.Equal(t, []string{"Everything."}, facts(t, b, ann))
	}
	ended := map[backends.EventType]int{}
	for _, item := range first.Items {
		events := historyOf(t, b, item.Memory.ID)
		ended[events[1].Type]++
		require.Equal(t, item.Memory.Text, events[0].New)
	}
	require.Equal(t, map[backends.EventType]int{backends.EventSuperseded: 1, backends.EventRetracted: 2}, ended)
	page, err := b.List(ctx, &backends.ListRequest{Scope: ann, IncludeSuperseded: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 4)
	for _, m := range page.Memories[:3] {
		require.Equal(t, start.AddDate(0, 0, -7), m.Invalidated, "all of them ended when it was said")
	}
}

// Two processes in which many learn the same thing at the same time, with a model.
func TestD3_ProcessesLearnOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var all sync.WaitGroup
	for range 2 {
		st, err := sqlitestore.Open(ctx, path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		b := open(t, on(st), in(mem0.Reconcile), with(resident(t)), factsOnly)
		for range 8 {
			all.Go(func() {
				_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("I live in Beijing")})
				require.NoError(t, err)
			})
		}
	}
	all.Wait()
	st, err := sqlitestore.Open(ctx, path, nil)
	require.NoError(t, err)
	defer st.Close()
	b := open(t, on(st))
	page, err := b.List(ctx, &backends.ListRequest{Scope: ann, IncludeSuperseded: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 1)
}
