// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/toolkit/server/access"
)

// recorded is a request and what a real server answered.
type recorded struct {
	Request struct {
		Method, Path string
		Body         any
	}
	Response struct {
		Status int
		Body   any
	}
}

// amsOrder is the order in which the recorded requests make sense.
var amsOrder = []string{"health", "working_memory_put", "long_term_memory_create", "long_term_memory_search_semantic", "long_term_memory_search_keyword", "long_term_memory_search_hybrid",
	"long_term_memory_search_filters", "long_term_memory_get", "long_term_memory_patch", "working_memory_get", "working_memory_put_memories", "working_memory_get_unknown", "working_memory_list",
	"memory_prompt", "memory_prompt_no_session", "long_term_memory_forget_dry", "long_term_memory_forget_body", "long_term_memory_delete", "working_memory_delete", "summary_views_create", "summary_views_list"}

// amsDifferences are the differences that are meant, by recording and place.
var amsDifferences = map[string]string{
	"long_term_memory_search_hybrid status": "theirs failed: a Redis without hybrid search",
	"summary_views_create status":           "not offered",
	"long_term_memory_forget_dry status":    "not offered: backends.Retention has more, and their client never runs a real one",
	"long_term_memory_forget_body status":   "the same",
	"summary_views_list status":             "not offered",
}

// compareShapes reports the places where two values differ in fields or types. A null is of any type.
func compareShapes(place string, want, got any, report func(place, what string)) {
	if want == nil || got == nil {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			report(place, fmt.Sprintf("is a %T", got))
			return
		}
		for _, field := range slices.Sorted(maps.Keys(w)) {
			if _, ok := g[field]; !ok {
				report(place+"."+field, "is missing")
			} else {
				compareShapes(place+"."+field, w[field], g[field], report)
			}
		}
		for _, field := range slices.Sorted(maps.Keys(g)) {
			if _, ok := w[field]; !ok {
				report(place+"."+field, "is not theirs")
			}
		}
	case []any:
		g, ok := got.([]any)
		switch {
		case !ok:
			report(place, fmt.Sprintf("is a %T", got))
		case len(w) > 0 && len(g) > 0:
			compareShapes(place+"[]", w[0], g[0], report)
		case len(w) > 0:
			report(place, "is empty")
		}
	default:
		if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
			report(place, fmt.Sprintf("is a %T", got))
		}
	}
}

// replay sends what was recorded in a folder, and returns the differences.
func replay(t *testing.T, folder string) map[string]string {
	s := newServer(t, nil, nil)
	ids := []string{} // theirs and ours
	differences := map[string]string{}
	for _, name := range amsOrder {
		b, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		var x recorded
		require.NoError(t, json.Unmarshal(b, &x), name)
		// Their server takes any id and needs no user. Ours is asked by the ids that it gave, on
		// a connection of one user.
		path := strings.NewReplacer(ids...).Replace(x.Request.Path)
		status, out := s.call("", x.Request.Method, path, x.Request.Body, access.HeaderUser, "ann", access.HeaderNamespace, "demo")
		report := func(place, what string) { differences[name+" "+place] = what }
		if status != x.Response.Status {
			report("status", fmt.Sprint(status, out))
			continue
		}
		compareShapes("", x.Response.Body, any(out), report)
		theirs, _ := x.Response.Body.(map[string]any)
		ids = append(ids, matchIDs(theirs["memories"], out["memories"])...)
	}
	return differences
}

// matchIDs returns the ids of memories with one text, theirs and ours.
func matchIDs(theirs, ours any) (pairs []string) {
	their, _ := theirs.([]any)
	our, _ := ours.([]any)
	for _, x := range their {
		for _, y := range our {
			if x, y := x.(map[string]any), y.(map[string]any); x["text"] == y["text"] {
				pairs = append(pairs, x["id"].(string), y["id"].(string))
			}
		}
	}
	return pairs
}

func TestRequestsInTheirFormAreAnsweredInTheirForm(t *testing.T) {
	require.Empty(t, replay(t, "testdata/ams"))
}

func TestRecordedRequestsAreAnsweredWithTheirFieldsAndTypes(t *testing.T) {
	folder := os.Getenv("EINOMEM_FIXTURES")
	if folder == "" {
		t.Skip("EINOMEM_FIXTURES names no folder of recorded answers")
	}
	differences := replay(t, filepath.Join(folder, "ams"))
	for place, what := range differences {
		require.Contains(t, amsDifferences, place, what)
	}
	for place := range amsDifferences {
		require.Contains(t, differences, place, "this difference is gone")
	}
}
