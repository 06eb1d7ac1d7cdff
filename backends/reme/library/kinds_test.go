// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

func reader(text string) io.Reader { return strings.NewReader(text) }

// Task, personal and tool memories of a library are written and found again.
func TestR1KindsOfALibrary(t *testing.T) {
	w := open(t, options{})
	w.load(shop, task("t", "when paying by card", "check the balance first")+
		`{"memory_id":"p","memory_type":"personal","when_to_use":"饮料, 茶","content":"小王早上喝龙井","target":"小王","reflection_subject":"习惯","metadata":{}}`+"\n"+
		`{"memory_id":"x","memory_type":"tool","when_to_use":"get_balance","content":"call it once","tool_call_results":[{"tool_name":"get_balance","success":true}]}`)
	kinds := map[backends.Kind]string{}
	for _, m := range w.all(shop) {
		kinds[m.Kind] = m.Text
	}
	require.Equal(t, map[backends.Kind]string{backends.KindTask: "check the balance first", backends.KindPersonal: "小王早上喝龙井", backends.KindTool: "call it once"}, kinds)
	require.Equal(t, "p", w.found(shop, "早上喝什么茶")[0])
	require.Equal(t, toolID(shop, "get_balance"), w.found(shop, "get_balance")[0])
	again := parsed(t, w.dump(&library.DumpRequest{Scope: shop, Format: library.ReMe}))
	require.Equal(t, "习惯", again["p"]["reflection_subject"])
	require.Len(t, again["x"]["tool_call_results"], 1)
	require.NotContains(t, again["t"], "target")
}

// What was loaded is found by the situation that it is for.
func TestR3LoadedMemoriesAreFoundByTheirSituation(t *testing.T) {
	w := open(t, options{embedder: &embedder{}})
	w.load(shop, task("a", "when the login to the music service fails", "ask for a new token")+task("b", "when a flight is cancelled", "rebook before refunding")+many("x", 20))
	require.Equal(t, "a", w.found(shop, "login to the music service fails")[0])
	require.Equal(t, "b", w.found(shop, "my flight was cancelled")[0])
}

// The memories of a shipped library are found by the situations that they are for.
func TestR3ShippedLibraryIsFound(t *testing.T) {
	w := open(t, options{})
	w.load(shop, remeData(t, "appworld.jsonl"))
	first := 0
	all := w.all(shop)
	for id, m := range all {
		resp, err := w.keeper.Search(w.ctx, partition(shop), &backends.SearchRequest{Query: m.WhenToUse, TopK: 5})
		require.NoError(t, err)
		for _, h := range resp.Hits {
			if h.ID == id {
				first++
			}
		}
	}
	require.Greater(t, first, len(all)*9/10)
}
