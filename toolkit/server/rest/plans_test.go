// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
)

// tell stores texts as facts of a user, and returns their ids.
func (s *server) tell(user string, texts ...string) (ids []string) {
	s.t.Helper()
	for _, text := range texts {
		status, out := s.call("", "POST", "/api/v1/add", map[string]any{"scope": map[string]any{"user_id": user}, "kind": "fact", "verbatim": true,
			"messages": []any{map[string]any{"role": "user", "content": text}}})
		require.Equal(s.t, http.StatusOK, status, out)
		ids = append(ids, out["items"].([]any)[0].(map[string]any)["memory"].(map[string]any)["id"].(string))
	}
	return ids
}

// holds returns the texts that hold about a user, the newest first.
func (s *server) holds(user string, with ...any) (texts []string) {
	s.t.Helper()
	in := map[string]any{"scope": map[string]any{"user_id": user}, "newest": true}
	for i := 0; i < len(with); i += 2 {
		in[with[i].(string)] = with[i+1]
	}
	status, out := s.call("", "POST", "/api/v1/list", in)
	require.Equal(s.t, http.StatusOK, status, out)
	for _, m := range out["memories"].([]any) {
		texts = append(texts, m.(map[string]any)["text"].(string))
	}
	return texts
}

func TestAPlanWaitsIsAppliedAndTakenBack(t *testing.T) {
	s := newServer(t, nil, nil)
	s.tell("ann", "Has a cat named Momo.", "Has the cat named Momo.", "Likes oolong tea.", "Likes the oolong tea.")
	post := func(path string, in map[string]any) map[string]any {
		t.Helper()
		status, out := s.call("", "POST", "/api/v1/"+path, in)
		require.Equal(t, http.StatusOK, status, out)
		return out
	}
	plan := post("plans", map[string]any{"scope": ann()})
	require.Len(t, plan["operations"], 2)
	require.Len(t, s.holds("ann"), 4, "a draft changes nothing")
	_, out := s.call("", "GET", "/api/v1/plans?user_id=ann", nil)
	require.Len(t, out["plans"], 1)
	_, out = s.call("", "GET", "/api/v1/plans?user_id=bob", nil)
	require.Empty(t, out["plans"])

	id := plan["id"]
	status, _ := s.call("", "POST", "/api/v1/plans/apply", map[string]any{"scope": map[string]any{"user_id": "bob"}, "id": id, "keep": []int{0}})
	require.Equal(t, http.StatusNotFound, status, "a plan is its owner's")
	done := post("plans/apply", map[string]any{"scope": ann(), "id": id, "keep": []int{1}})
	require.EqualValues(t, 1, done["done"])
	require.Len(t, s.holds("ann"), 3)
	status, _ = s.call("", "POST", "/api/v1/plans/apply", map[string]any{"scope": ann(), "id": id, "keep": []int{0}})
	require.Equal(t, http.StatusNotFound, status, "it is applied once")
	post("plans/undo", map[string]any{"scope": ann(), "id": id})
	require.Len(t, s.holds("ann"), 4)
	require.EqualValues(t, 0, post("plans/undo", map[string]any{"scope": ann(), "id": id})["done"])

	id = post("plans", map[string]any{"scope": ann()})["id"]
	post("plans/apply", map[string]any{"scope": ann(), "id": id}) // declined
	_, out = s.call("", "GET", "/api/v1/plans?user_id=ann", nil)
	require.Empty(t, out["plans"])
	require.Len(t, s.holds("ann"), 4)

	post("plans", map[string]any{"scope": ann()})
	post("forget", map[string]any{"scope": ann()})
	_, out = s.call("", "GET", "/api/v1/plans?user_id=ann", nil)
	require.Empty(t, out["plans"], "it had the words of somebody who was forgotten")
}

func TestMemoriesAreListedByPartsAndDeletedTogether(t *testing.T) {
	s := newServer(t, nil, nil)
	ids := s.tell("ann", "Likes tea.", "Has a CAT.", "Works at night.", "Fears cats.")
	require.Equal(t, []string{"Fears cats.", "Works at night.", "Has a CAT.", "Likes tea."}, s.holds("ann"))
	require.Equal(t, []string{"Fears cats.", "Has a CAT."}, s.holds("ann", "part", "cat"))
	others := s.tell("bob", "Likes coffee.")
	status, out := s.call("", "POST", "/api/v1/memories/delete", map[string]any{"scope": ann(), "ids": []string{ids[0], others[0], ids[2], "none"}})
	require.Equal(t, http.StatusOK, status, out)
	require.EqualValues(t, 2, out["count"])
	require.Equal(t, []string{"Fears cats.", "Has a CAT."}, s.holds("ann"))
	require.Len(t, s.holds("bob"), 1)
	status, out = s.call("", "GET", "/api/v1/memories/"+ids[0]+"/history?user_id=ann", nil)
	require.Equal(t, http.StatusOK, status, out)
	status, out = s.call("", "POST", "/api/v1/memories/delete", map[string]any{"scope": ann(), "ids": ids, "erase": true})
	require.Equal(t, http.StatusOK, status, out)
	require.EqualValues(t, 2, out["count"])
	status, _ = s.call("", "GET", "/api/v1/memories/"+ids[1]+"/history?user_id=ann", nil)
	require.Equal(t, http.StatusNotFound, status, "erased with its history")
}

func TestWhatARetentionWouldErase(t *testing.T) {
	every := []string{access.Any}
	keys := []access.Key{
		{Name: "root", Hash: access.Hash("root"), Users: every, Agents: every, Workspaces: every, Write: true, Admin: true},
		{Name: "ann", Hash: access.Hash("ann"), Users: []string{"ann"}, Write: true},
	}
	s := newServer(t, keys, nil)
	status, out := s.call("root", "GET", "/api/v1/retention", nil)
	require.Equal(t, http.StatusNotFound, status, out)
	status, _ = s.call("ann", "GET", "/api/v1/retention", nil)
	require.Equal(t, http.StatusForbidden, status)

	retention := &backends.Retention{Every: -1, Rules: []backends.RetentionRule{{AtMost: 1}}}
	s = newServer(t, nil, func(c *Config) {
		facts, err := mem0.New(t.Context(), &mem0.Config{Store: c.Store, Retention: retention})
		require.NoError(t, err)
		mem, err := middleware.New(t.Context(), &middleware.Config{Backend: facts})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, errors.Join(mem.Close(context.Background()), facts.Close(context.Background())))
		})
		c.Memory = mem
	})
	s.tell("ann", "Likes tea.", "Has a cat.")
	status, out = s.call("", "GET", "/api/v1/retention", nil)
	require.Equal(t, http.StatusOK, status, out)
	require.EqualValues(t, map[string]any{"surplus": 1.0}, out["erased"])
	require.Equal(t, "Likes tea.", out["texts"].(map[string]any)[out["items"].([]any)[0].(map[string]any)["id"].(string)])
	require.Len(t, s.holds("ann"), 2, "nothing is erased")
}

func TestAPreviewSaysWhatWasLeftOutAndWhy(t *testing.T) {
	s := newServer(t, nil, nil)
	s.tell("ann", "Lives in Porto, near the river.")
	status, out := s.call("", "POST", "/api/v1/preview", map[string]any{"scope": ann(), "query": "Where do I live?"})
	require.Equal(t, http.StatusOK, status, out)
	require.Contains(t, out["text"], "Porto")
	require.Empty(t, out["left"])
	for i := range 60 { // more than a note has room for
		s.tell("ann", fmt.Sprintf("Bought volume %d of a long encyclopedia of the rivers of the world, in a shop near the river.", i))
	}
	ids := s.tell("ann", "Has a cat named Momo.", "Has the cat named Momo.")
	plan := map[string]any{"scope": ann()}
	status, out = s.call("", "POST", "/api/v1/plans", plan)
	require.Equal(t, http.StatusOK, status, out)
	plan["id"], plan["keep"] = out["id"], []int{0}
	status, out = s.call("", "POST", "/api/v1/plans/apply", plan)
	require.Equal(t, http.StatusOK, status, out)
	status, out = s.call("", "POST", "/api/v1/preview", map[string]any{"scope": ann(), "query": "Is my cat named Momo, and which river is in my encyclopedia?"})
	require.Equal(t, http.StatusOK, status, out)
	reasons := map[string]bool{}
	for _, left := range out["left"].([]any) {
		hit := left.(map[string]any)
		reason := hit["reason"].(string)
		switch reasons[reason] = true; reason {
		case "same":
			require.Contains(t, ids, hit["of"])
		case "room":
			require.Positive(t, hit["needs"], "tokens")
		case "rank":
			require.Positive(t, hit["place"])
			require.Positive(t, hit["needs"], "the last place that is looked at")
		}
	}
	require.Contains(t, reasons, "same", "a plan merged it")
	require.Contains(t, reasons, "room")
}
