// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*recall.Config){
		"no records":         func(c *recall.Config) { c.Records = nil },
		"embedder, no model": func(c *recall.Config) { c.Embedder = dice{4} },
		"encoding":           func(c *recall.Config) { c.Encoding = "float16" },
		"negative budget":    func(c *recall.Config) { c.MaxBytes = -1 },
		"negative k1":        func(c *recall.Config) { c.BM25 = &recall.BM25{K1: -1} },
		"k1 not finite":      func(c *recall.Config) { c.BM25 = &recall.BM25{K1: math.Inf(1)} },
		"b above 1":          func(c *recall.Config) { c.BM25 = &recall.BM25{B: 1.1} },
		"b NaN":              func(c *recall.Config) { c.BM25 = &recall.BM25{B: math.NaN()} },
		"no weight":          func(c *recall.Config) { c.Weights = &recall.Weights{} },
		"negative weight":    func(c *recall.Config) { c.Weights = &recall.Weights{Lexical: 2, Vector: -1} },
		"weight not finite":  func(c *recall.Config) { c.Weights = &recall.Weights{Lexical: math.Inf(1)} },
		"quality above 1":    func(c *recall.Config) { c.QualityWeight = 1.1 },
		"negative half-life": func(c *recall.Config) { c.RecencyHalfLife = -time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			c := &recall.Config{Records: newFakeRecords()}
			change(c)
			_, err := recall.New(t.Context(), c)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	_, err := recall.New(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// The caller's configuration is neither changed nor looked at again.
func TestConfigIsCopied(t *testing.T) {
	f := newFakeRecords()
	c := recall.Config{Records: f, BM25: &recall.BM25{K1: 1.2, B: 0.75}}
	before := c
	r, err := recall.New(t.Context(), &c)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, before, c)
	apply(t, f, ann, fact("1", "tea"))
	score := find(t, r, ann, &backends.SearchRequest{Query: "tea"})[0].Score
	c.BM25.K1, c.Records = 3, nil
	require.Equal(t, score, find(t, r, ann, &backends.SearchRequest{Query: "tea"})[0].Score)
}

func TestIndexText(t *testing.T) {
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.FixedZone("", 0))
	for _, c := range []struct {
		name string
		m    backends.Memory
		want string
	}{
		{"text alone", backends.Memory{Text: "tea"}, "tea"},
		{"all parts", backends.Memory{Text: "tea", WhenToUse: "thirsty", Observed: at, Origin: backends.Origin{Speaker: "Ann"}},
			"Ann\n1:56 pm on 8 May, 2023\nthirsty\nthirsty\ntea"},
		{"in UTC", backends.Memory{Text: "tea", Observed: at.In(time.FixedZone("", 14*3600))}, "1:56 pm on 8 May, 2023\ntea"},
		{"experience has no date", backends.Memory{Kind: backends.KindTask, Text: "tea", Observed: at}, "tea"},
		{"nor have tools", backends.Memory{Kind: backends.KindTool, Text: "tea", Observed: at}, "tea"},
		{"nor have procedures", backends.Memory{Kind: backends.KindProcedure, Text: "tea", Observed: at}, "tea"},
		{"facts have", backends.Memory{Kind: backends.KindFact, Text: "tea", Observed: at}, "1:56 pm on 8 May, 2023\ntea"},
		{"Chinese", backends.Memory{Text: "绿茶", Observed: at}, "1:56 pm on 8 May, 2023\n2023年5月8日\n绿茶"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, recall.IndexText(&c.m)) })
	}
}

func TestEmbedText(t *testing.T) {
	require.Equal(t, "tea", recall.EmbedText(&backends.Memory{Text: "tea"}))
	require.Equal(t, "Ann: tea", recall.EmbedText(&backends.Memory{Text: "tea", Origin: backends.Origin{Speaker: "Ann"}}))
	require.Equal(t, "thirsty", recall.EmbedText(&backends.Memory{Text: "tea", WhenToUse: "thirsty"}))
	require.Equal(t, "kettle: boils water", recall.EmbedText(&backends.Memory{Kind: backends.KindTool, Text: "boils water", WhenToUse: "kettle"}), "a name is no situation")
	require.Equal(t, "Ann likes tea", recall.EmbedText(&backends.Memory{Kind: backends.KindPersonal, Text: "Ann likes tea", WhenToUse: "tea, drinks"}), "nor are keywords")
	require.Empty(t, recall.EmbedText(&backends.Memory{Origin: backends.Origin{Speaker: "Ann"}}))
}
