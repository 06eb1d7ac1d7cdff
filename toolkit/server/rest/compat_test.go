// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/toolkit/server/access"
)

// compatRoute is a request of a client of others. In path and body {who} is a user and {id}
// a memory of theirs.
type compatRoute struct {
	method, path, body string
	write              bool
	status             int // for the key of the user; 0 is 200
	denied             int // for the key of another one
}

var compatRoutes = []compatRoute{
	{method: "POST", path: "/memories", body: `{"user_id":"{who}","infer":false,"messages":[{"role":"user","content":"I drink tea."}]}`, write: true, denied: 403},
	{method: "GET", path: "/memories?user_id={who}", denied: 403},
	{method: "DELETE", path: "/memories?user_id={who}", write: true, denied: 403},
	{method: "DELETE", path: "/memories?user_id={who}&run_id=r1", write: true, denied: 403},
	{method: "GET", path: "/memories/{id}", denied: 404},
	{method: "PUT", path: "/memories/{id}", body: `{"text":"I drink coffee."}`, write: true, denied: 404},
	{method: "DELETE", path: "/memories/{id}", write: true, denied: 404},
	{method: "GET", path: "/memories/{id}/history", denied: 404},
	{method: "POST", path: "/search", body: `{"query":"Hangzhou","filters":{"user_id":"{who}"}}`, denied: 403},
	{method: "GET", path: "/entities", denied: 200},
	{method: "DELETE", path: "/entities/user/{who}", write: true, denied: 403},
	{method: "POST", path: "/reset", write: true, status: 403, denied: 403},
	{method: "GET", path: "/v1/ping/", denied: 200},
	{method: "POST", path: "/v3/memories/add/", body: `{"user_id":"{who}","infer":false,"messages":[{"role":"user","content":"I drink tea."}]}`, write: true, denied: 403},
	{method: "POST", path: "/v3/memories/", body: `{"filters":{"AND":[{"user_id":"{who}"}]}}`, denied: 403},
	{method: "POST", path: "/v3/memories/search/", body: `{"query":"Hangzhou","filters":{"AND":[{"user_id":"{who}"}]}}`, denied: 403},
	{method: "GET", path: "/v1/memories/{id}/", denied: 404},
	{method: "PUT", path: "/v1/memories/{id}/", body: `{"metadata":{"k":1}}`, write: true, denied: 404},
	{method: "DELETE", path: "/v1/memories/{id}/", write: true, denied: 404},
	{method: "GET", path: "/v1/memories/{id}/history/", denied: 404},
	{method: "DELETE", path: "/v1/memories/?user_id={who}", write: true, denied: 403},
	{method: "GET", path: "/v1/entities/", denied: 200},
	{method: "DELETE", path: "/v2/entities/user/{who}/", write: true, denied: 403},

	{method: "GET", path: "/v1/memories/?user_id={who}", denied: 403},
	{method: "POST", path: "/v1/memories/", body: `{"user_id":"{who}","infer":false,"messages":[{"role":"user","content":"I drink tea."}]}`, write: true, denied: 403},
	{method: "POST", path: "/v2/memories/", body: `{"filters":{"user_id":"{who}"}}`, denied: 403},
	{method: "POST", path: "/v1/memories/search/", body: `{"query":"Hangzhou","user_id":"{who}"}`, denied: 403},
	{method: "POST", path: "/v2/memories/search/", body: `{"query":"Hangzhou","filters":{"user_id":"{who}"}}`, denied: 403},
	{method: "PUT", path: "/v1/batch/", body: `{"memories":[{"memory_id":"{id}","text":"I drink coffee."}]}`, write: true, denied: 404},
	{method: "DELETE", path: "/v1/batch/", body: `{"memories":[{"memory_id":"{id}"}]}`, write: true, denied: 404},
	{method: "POST", path: "/v1/feedback/", body: `{"memory_id":"{id}","feedback":"NEGATIVE"}`, write: true, denied: 404},
	{method: "POST", path: "/v1/exports/", body: `{"schema":{"properties":{"memory":{}}},"filters":{"user_id":"{who}"}}`, denied: 403},
	{method: "POST", path: "/v1/exports/get/", body: `{"memory_export_id":"{export}"}`, denied: 403},
	{method: "GET", path: "/v2/entities/user/{who}/profile/", denied: 403},
	{method: "GET", path: "/v1/health", denied: 200},
	{method: "GET", path: "/v1/working-memory/?user_id={who}", denied: 403},
	{method: "GET", path: "/v1/working-memory/s1?user_id={who}", denied: 403},
	{method: "PUT", path: "/v1/working-memory/s1", body: `{"user_id":"{who}","messages":[{"role":"user","content":"Hello"}]}`, write: true, denied: 403},
	{method: "DELETE", path: "/v1/working-memory/s1?user_id={who}", write: true, denied: 403},
	{method: "POST", path: "/v1/long-term-memory/", body: `{"memories":[{"id":"m","text":"Tea.","user_id":"{who}"}]}`, write: true, denied: 403},
	{method: "POST", path: "/v1/long-term-memory/search", body: `{"text":"Hangzhou","user_id":{"eq":"{who}"}}`, denied: 403},
	{method: "GET", path: "/v1/long-term-memory/{id}", denied: 404},
	{method: "PATCH", path: "/v1/long-term-memory/{id}", body: `{"text":"I drink coffee."}`, write: true, denied: 404},
	{method: "DELETE", path: "/v1/long-term-memory?memory_ids={id}", write: true, denied: 200},
	{method: "POST", path: "/v1/memory/prompt", body: `{"query":"Hangzhou","session":{"session_id":"s1","user_id":"{who}"},"long_term_search":{}}`, denied: 403},
	{method: "POST", path: "/v1/memory/prompt", body: `{"query":"Hangzhou","long_term_search":{"user_id":{"eq":"{who}"}}}`, denied: 403},
}

// ask sends a request with a body of JSON text.
func (s *server) ask(secret, method, path, body string) (int, map[string]any) {
	var v any
	if body != "" {
		require.NoError(s.t, json.Unmarshal([]byte(body), &v), body)
	}
	return s.call(secret, method, path, v)
}

func (r *compatRoute) ask(s *server, secret, who, id string) (int, map[string]any) {
	export := base64.RawURLEncoding.EncodeToString([]byte(`{"user_id":"` + who + `","schema":{"properties":{"memory":{}}}}`))
	in := strings.NewReplacer("{who}", who, "{id}", id, "{export}", export)
	return s.ask(secret, r.method, in.Replace(r.path), in.Replace(r.body))
}

// addedID stores a memory of a user by mem0's endpoint, and returns its id there.
func addedID(s *server, secret, user, text string) string {
	s.t.Helper()
	status, out := s.call(secret, "POST", "/memories", map[string]any{"user_id": user, "run_id": "r1", "infer": false, "messages": []any{map[string]any{"role": "user", "content": text}}})
	require.Equal(s.t, http.StatusOK, status, out)
	return out["results"].([]any)[0].(map[string]any)["id"].(string)
}

func TestEveryRouteOfTheirsServesItsOwnerAndRevealsNothingToOthers(t *testing.T) {
	for _, r := range compatRoutes {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			ann, annSecret := keyOf("ann", true, "ann")
			reader, readerSecret := keyOf("reader", false, "ann")
			bob, bobSecret := keyOf("bob", true, "bob")
			s := newServer(t, []access.Key{ann, reader, bob}, nil)
			id := addedID(s, annSecret, "ann", "I moved to Hangzhou.")
			status, out := s.ask(annSecret, "PUT", "/v1/working-memory/s1", `{"user_id":"ann","messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello."}]}`)
			require.Equal(t, http.StatusOK, status, out)

			status, out = r.ask(s, bobSecret, "ann", id)
			require.Equal(t, r.denied, status, out)
			for _, absent := range []struct{ who, id string }{
				{"zed", encodeID(backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "zed"}, "x")},
				{"ann", encodeID(backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}, "x")},
				{"ann", encodeID(backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "bob"}, "x")},
				{"ann", "nothing"},
			} {
				statusOfAbsent, outOfAbsent := r.ask(s, bobSecret, absent.who, absent.id)
				require.Equal(t, status, statusOfAbsent)
				require.Equal(t, without(out, "now"), without(outOfAbsent, "now"))
			}

			status, out = r.ask(s, "", "ann", id)
			require.Equal(t, http.StatusUnauthorized, status, out)
			require.IsType(t, "", out["detail"])

			want := r.status
			if want == 0 {
				want = http.StatusOK
			}
			status, out = r.ask(s, readerSecret, "ann", id)
			if r.write {
				require.Equal(t, http.StatusForbidden, status, out)
			} else {
				require.Equal(t, want, status, out)
			}
			status, out = r.ask(s, annSecret, "ann", id)
			require.Equal(t, want, status, out)
			require.NotContains(t, out, "code", "an answer of ours, not of theirs")
		})
	}
}

func TestEveryRouteOfTheirsIsInTheTable(t *testing.T) {
	s := newServer(t, nil, nil)
	mux := http.NewServeMux()
	covered := map[string]bool{}
	for _, r := range s.routes {
		if r.family == ofMem0 || r.family == ofAMS {
			mux.HandleFunc(r.pattern, func(http.ResponseWriter, *http.Request) {})
		}
	}
	for _, r := range compatRoutes {
		req, err := http.NewRequestWithContext(t.Context(), r.method, r.path, nil)
		require.NoError(t, err)
		_, pattern := mux.Handler(req)
		covered[pattern] = true
	}
	for _, r := range s.routes {
		if r.family == ofMem0 || r.family == ofAMS {
			require.True(t, covered[r.pattern], r.pattern)
		}
	}
}

func without(m map[string]any, key string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func TestAnIDCarriesItsPartitionWhateverItIsCalled(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent} {
		for _, name := range []string{"ann", "a/b", `","`, "安", "a b?&#%", "user"} {
			for _, id := range []string{"1", `x","y`, "ann", "1/2"} {
				p := backends.Partition{Namespace: "n/" + name, Kind: kind, ID: name}
				text := encodeID(p, id)
				require.False(t, seen[text])
				seen[text] = true
				require.Equal(t, text, url.PathEscape(text))
				gotP, gotID, ok := decodeID(text)
				require.True(t, ok)
				require.Equal(t, p, gotP)
				require.Equal(t, id, gotID)
			}
		}
	}
	for _, text := range []string{"", "1", "mem-1", "W10", "bnVsbA", encodeID(backends.Partition{Namespace: "n", Kind: "other", ID: "x"}, "1"), encodeID(backends.Partition{Namespace: "n", Kind: backends.PartitionWorkspace, ID: "x"}, "1"), encodeID(backends.Partition{Kind: "user", ID: "x"}, "1")} {
		_, _, ok := decodeID(text)
		require.False(t, ok, text)
	}
}

func FuzzAnIDIsDecodedInOneWay(f *testing.F) {
	f.Add(encodeID(backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}, "x"))
	f.Add("WyJ1c2VyIl0")
	f.Fuzz(func(t *testing.T, text string) {
		if p, id, ok := decodeID(text); ok && encodeID(p, id) != text {
			t.Fatalf("%q and %q are one id", text, encodeID(p, id))
		}
	})
}

func TestResetErasesTheNamespaceForAKeyThatOpensAllOfIt(t *testing.T) {
	root, secret := keyOf("root", true, access.Any)
	root.Workspaces, root.Admin = []string{access.Any}, true
	users, usersSecret := keyOf("users", true, access.Any) // no workspaces
	s := newServer(t, []access.Key{root, users}, nil)
	addedID(s, secret, "ann", "I moved to Hangzhou.")
	status, out := s.ask(usersSecret, "POST", "/reset", "")
	require.Equal(t, http.StatusForbidden, status, out)
	status, out = s.ask(secret, "POST", "/reset", "")
	require.Equal(t, http.StatusOK, status, out)
	_, out = s.ask(secret, "GET", "/v1/entities/", "")
	require.Empty(t, out["results"])
}

func TestNothingIsErasedForARequestThatNamesNoOne(t *testing.T) {
	ann, secret := keyOf("ann", true, "ann")
	s := newServer(t, []access.Key{ann}, nil)
	id := addedID(s, secret, "ann", "I moved to Hangzhou.")
	for _, path := range []string{"/memories", "/v1/memories/", "/memories?user_id=", "/memories?run_id=other"} {
		status, out := s.ask(secret, "DELETE", path, "")
		require.Contains(t, []int{http.StatusBadRequest, http.StatusOK}, status, "%s %v", path, out)
		status, out = s.ask(secret, "GET", "/memories/"+id, "")
		require.Equal(t, http.StatusOK, status, "%s %v", path, out)
	}
	status, out := s.ask(secret, "DELETE", "/memories?run_id=r1", "")
	require.Equal(t, http.StatusOK, status, out)
	status, _ = s.ask(secret, "GET", "/memories/"+id, "")
	require.Equal(t, http.StatusNotFound, status)
}

func TestThePromptNeverSearchesWithoutAUser(t *testing.T) {
	s := newServer(t, nil, nil)
	addedID(s, "", "ann", "I moved to Hangzhou.")
	for _, body := range []string{`{"query":"Hangzhou","long_term_search":true}`, `{"query":"Hangzhou","long_term_search":{}}`, `{"query":"Hangzhou","long_term_search":{"text":"Hangzhou"}}`,
		`{"query":"Hangzhou","long_term_search":{"user_id":{"ne":"bob"}}}`, `{"query":"Hangzhou","session":{"session_id":"s1"},"long_term_search":{}}`,
		`{"query":"Hangzhou"}`, `{"query":"Hangzhou","session":{"session_id":"s1","user_id":"bob"},"long_term_search":{"user_id":{"any":["ann","bob"]}}}`} {
		status, out := s.ask("", "POST", "/v1/memory/prompt", body)
		require.Equal(t, http.StatusBadRequest, status, "%s %v", body, out)
	}
}

func TestAPutReplacesASession(t *testing.T) {
	s := newServer(t, nil, nil)
	put := func(messages ...string) []string {
		t.Helper()
		in := []any{map[string]any{"role": "system", "content": "You are helpful."}}
		for i, m := range messages {
			in = append(in, map[string]any{"role": "user", "content": " \n"}) // says nothing
			in = append(in, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": m})
		}
		status, out := s.call("", "PUT", "/v1/working-memory/s1", map[string]any{"user_id": "ann", "messages": in})
		require.Equal(t, http.StatusOK, status, out)
		return contents(out)
	}
	require.Equal(t, []string{}, put())
	require.Equal(t, []string{"a"}, put("a"))
	require.Equal(t, []string{"a", "b"}, put("a", "b"), "the answer goes on with the open turn")
	require.Equal(t, []string{"a", "b"}, put("a", "<think>hm</think>b"), "as the log has it")
	require.Equal(t, []string{"a", "b"}, put("a", "b"))
	require.Equal(t, []string{"a", "b", "c", "d"}, put("a", "b", "c", "d"))
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, put("a", "b", "c ", "\nd", "e"))

	entries, err := s.store.Read(t.Context(), backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}, "s1", store.Range{})
	require.NoError(t, err)
	require.Equal(t, entries[0].Turn, entries[1].Turn)
	require.NotEqual(t, entries[1].Turn, entries[2].Turn)
	require.True(t, entries[1].Done)
	require.False(t, entries[4].Done)

	require.Equal(t, []string{"c", "d", "e"}, put("c", "d", "e"), "the end alone")
	require.Equal(t, []string{"e", "d", "c"}, put("e", "d", "c"), "in the client's order")
	require.Equal(t, []string{"a"}, put("a"), "what was erased is new")
	require.Equal(t, []string{}, put())
	_, out := s.call("", "GET", "/v1/working-memory/?user_id=ann", nil)
	require.Equal(t, []any{"s1"}, out["sessions"], "it is empty, and there")
}

func contents(session map[string]any) []string {
	got := []string{}
	for _, m := range session["messages"].([]any) {
		got = append(got, m.(map[string]any)["content"].(string))
	}
	return got
}

// What a client keeps with a session is there again, and goes with the session.
func TestASessionKeepsWhatItsClientPut(t *testing.T) {
	s := newServer(t, nil, nil)
	put := func(fields map[string]any) map[string]any {
		t.Helper()
		fields["user_id"] = "ann"
		status, out := s.call("", "PUT", "/v1/working-memory/s1", fields)
		require.Equal(t, http.StatusOK, status, out)
		status, read := s.call("", "GET", "/v1/working-memory/s1?user_id=ann", nil)
		require.Equal(t, http.StatusOK, status, read)
		require.Equal(t, without(out, "last_accessed"), without(read, "last_accessed"))
		return read
	}
	message := func(id, text string) map[string]any {
		return map[string]any{"id": id, "role": "user", "content": text}
	}
	tea := map[string]any{"id": "tea", "text": "Ann drinks tea.", "topics": []any{"drinks"}}
	before := time.Now()
	out := put(map[string]any{"data": map[string]any{"k": 1, "deep": []any{map[string]any{"mail": "x"}}}, "context": "earlier", "ttl_seconds": 3600,
		"messages": []any{message("m1", "one"), message("m2", "two")}, "memories": []any{tea}})
	require.Equal(t, map[string]any{"k": 1.0, "deep": []any{map[string]any{"mail": "x"}}}, out["data"])
	require.Equal(t, []any{"earlier", 3600.0}, []any{out["context"], out["ttl_seconds"]})
	require.Equal(t, "Ann drinks tea.", out["memories"].([]any)[0].(map[string]any)["text"])
	ids := func(out map[string]any) (all []any) {
		for _, m := range out["messages"].([]any) {
			all = append(all, m.(map[string]any)["id"])
		}
		return all
	}
	require.Equal(t, []any{"m1", "m2"}, ids(out))
	require.Equal(t, out["messages"], put(out)["messages"], "what was read, with its nulls, can be put back")
	ann := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	state, err := s.store.Session(t.Context(), ann, "s1")
	require.NoError(t, err)
	require.WithinRange(t, state.Expires, before.Add(time.Hour-time.Second), time.Now().Add(time.Hour+time.Second))

	out = put(map[string]any{"messages": []any{message("m1", "ONE"), message("m2", "two")}, "memories": []any{tea}})
	require.Equal(t, []string{"ONE", "two"}, contents(out), "the client changed a message")
	require.Equal(t, []any{"m1", "m2"}, ids(out), "which has its id")
	require.Equal(t, []any{map[string]any{}, nil, nil}, []any{out["data"], out["context"], out["ttl_seconds"]}, "all of it was replaced")
	state, err = s.store.Session(t.Context(), ann, "s1")
	require.NoError(t, err)
	require.Zero(t, state.Expires)
	out = put(map[string]any{"messages": []any{message("m1", "ONE"), message("m2", "two"), message("m3", "three")}})
	require.Equal(t, []any{"m1", "m2", "m3"}, ids(out))
	require.Empty(t, out["memories"])
	_, found := s.call("", "POST", "/v1/long-term-memory/search", map[string]any{"text": "tea", "user_id": map[string]any{"eq": "ann"}})
	require.Len(t, found["memories"], 1, "a memory is stored once, and stays")

	status, out := s.call("", "PUT", "/v1/working-memory/s1", map[string]any{"user_id": "ann", "ttl_seconds": -1})
	require.Equal(t, http.StatusBadRequest, status, out)
	status, out = s.call("", "DELETE", "/v1/working-memory/s1?user_id=ann", nil)
	require.Equal(t, http.StatusOK, status, out)
	out = put(map[string]any{})
	require.Equal(t, []any{map[string]any{}, nil}, []any{out["data"], out["context"]}, "a new session")
}

// Their client sends times as Python has them: often without a zone.
func TestATimeWithoutAZoneIsOfUTC(t *testing.T) {
	s := newServer(t, nil, nil)
	for sent, want := range map[string]string{"2024-05-01T10:00:00.5": "2024-05-01T10:00:00.5Z", "2024-05-01": "2024-05-01T00:00:00Z", "2024-05-01T10:00:00+08:00": "2024-05-01T10:00:00+08:00"} {
		status, out := s.call("", "PUT", "/v1/working-memory/"+sent, map[string]any{"user_id": "ann", "messages": []any{map[string]any{"role": "user", "content": "你好", "created_at": sent}}})
		require.Equal(t, http.StatusOK, status, out)
		require.Equal(t, want, out["messages"].([]any)[0].(map[string]any)["created_at"])
		status, out = s.call("", "POST", "/v1/long-term-memory/", map[string]any{"memories": []any{map[string]any{"text": "Ann went to " + sent, "user_id": "ann", "memory_type": "episodic", "event_date": sent}}})
		require.Equal(t, http.StatusOK, status, out)
	}
	_, out := s.call("", "POST", "/v1/long-term-memory/search", map[string]any{"user_id": map[string]any{"eq": "ann"}, "event_date": map[string]any{"eq": "2024-05-01T10:00:00.5Z"}})
	require.Len(t, out["memories"], 1)
}

// Two clients that append at the same time have read the same session, and lose nothing.
func TestAPutLeavesWhatItsClientHasYetToSee(t *testing.T) {
	s := newServer(t, nil, nil)
	message := func(text string) map[string]any {
		return map[string]any{"id": text, "role": "user", "content": text}
	}
	put := func(seen any, messages ...any) map[string]any {
		t.Helper()
		status, out := s.call("", "PUT", "/v1/working-memory/s1", map[string]any{"user_id": "ann", "messages": messages, "tokens": seen})
		require.Equal(t, http.StatusOK, status, out)
		return out
	}
	read := put(0, message("zeroth"), message("first"))["tokens"]
	put(read, message("zeroth"), message("first"), message("of one"))
	out := put(read, message("first"), message("of another"))
	require.Equal(t, []string{"first", "of another", "of one"}, contents(out), "it left out what it knew")
	require.Equal(t, []string{"of one"}, contents(put(out["tokens"], message("of one"))), "it has seen all")
	require.Equal(t, []string{"new"}, contents(put(0, message("new"))), "it has read nothing")
}

// The ids that clients give memories are theirs for the connection's person, and for nobody else.
func TestMemoriesKeepTheIDsOfTheirClient(t *testing.T) {
	s := newServer(t, nil, func(c *Config) {
		var err error
		c.Guard, err = access.New(&access.Config{DefaultUser: "guest", Log: c.Log})
		require.NoError(t, err)
	})
	create := func(records ...any) {
		t.Helper()
		status, out := s.call("", "POST", "/v1/long-term-memory/", map[string]any{"memories": records})
		require.Equal(t, http.StatusOK, status, out)
	}
	get := func(id string, header ...string) (int, map[string]any) {
		return s.call("", "GET", "/v1/long-term-memory/"+id, nil, header...)
	}
	create(map[string]any{"id": "home", "text": "Ann lives in Hangzhou.", "topics": []any{"city"}}, map[string]any{"id": "home", "text": "Bob lives in Rome.", "user_id": "bob"})
	_, out := get("home")
	require.Equal(t, []any{"home", "Ann lives in Hangzhou.", "guest"}, []any{out["id"], out["text"], out["user_id"]})
	_, out = get("home", access.HeaderUser, "bob")
	require.Equal(t, []any{"home", "Bob lives in Rome."}, []any{out["id"], out["text"]})
	_, found := s.call("", "POST", "/v1/long-term-memory/search", map[string]any{"text": "Rome", "user_id": map[string]any{"eq": "bob"}})
	other := found["memories"].([]any)[0].(map[string]any)["id"].(string)
	require.NotEqual(t, "home", other, "the guest's id of that name is another one")
	_, out = get(other)
	require.Equal(t, "Bob lives in Rome.", out["text"])

	create(map[string]any{"id": "home", "text": "Ann lives in Suzhou.", "topics": []any{"lake"}})
	_, out = get("home")
	require.Equal(t, []any{"Ann lives in Suzhou.", []any{"lake"}}, []any{out["text"], out["topics"]}, "a record with its id replaces it")
	create(map[string]any{"id": "again", "text": "Ann lives in Suzhou.", "topics": []any{"lake"}})
	for _, id := range []string{"home", "again"} {
		_, out = get(id)
		require.Equal(t, "again", out["id"], "one memory, two ids")
	}
	create(map[string]any{"id": "again", "text": "Ann came to Suzhou.", "memory_type": "episodic"})
	_, out = get("again")
	require.Equal(t, "episodic", out["memory_type"])
	status, _ := get("home")
	require.Equal(t, http.StatusNotFound, status)

	create(map[string]any{"id": other, "text": "Bob lives in Milan.", "user_id": "bob"}, map[string]any{"id": other, "text": "Ann knows Milan."})
	_, out = get(other)
	require.Equal(t, "Bob lives in Milan.", out["text"], "an id of ours is that memory")
	_, found = s.call("", "POST", "/v1/long-term-memory/search", map[string]any{"text": "Ann knows Milan"})
	require.NotEqual(t, other, found["memories"].([]any)[0].(map[string]any)["id"], "and none of a client's making")

	status, out = s.call("", "PATCH", "/v1/long-term-memory/again", map[string]any{"text": "Ann came to Suzhou in May."})
	require.Equal(t, []any{200, "Ann came to Suzhou in May."}, []any{status, out["text"]})
	for field, other := range map[string]string{"memory_type": "semantic", "user_id": "bob", "namespace": "elsewhere", "session_id": "s9"} {
		status, out = s.call("", "PATCH", "/v1/long-term-memory/again", map[string]any{"topics": []any{"lake"}, field: other})
		require.Equal(t, http.StatusBadRequest, status, "%s %v", field, out)
	}
	status, out = s.call("", "PATCH", "/v1/long-term-memory/again", map[string]any{"topics": []any{"may"}, "user_id": "guest", "namespace": "default"})
	require.Equal(t, []any{200, []any{"may"}}, []any{status, out["topics"]}, "it is theirs already")
	_, out = s.call("", "DELETE", "/v1/long-term-memory?memory_ids=again&memory_ids=none", nil)
	require.Equal(t, "ok, deleted 1 memories", out["status"])
	status, _ = get("again")
	require.Equal(t, http.StatusNotFound, status)
}

func TestOddRequestsOfTheirsAreRefusedOrBounded(t *testing.T) {
	s := newServer(t, nil, nil)
	addedID(s, "", "ann", "I moved to Hangzhou.")
	const huge = "9223372036854775807"
	for _, r := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/memories", `{"user_id":"ann"}`, 422},
		{"POST", "/memories", `{"messages":[{"role":"user","content":"x"}]}`, 400},
		{"POST", "/memories", `{"user_id":"ann","messages":"x"}`, 400},
		{"POST", "/memories", `{"user_id":"ann","infer":false,"messages":[{"role":"user","content":7}]}`, 200}, // nothing is said in it
		{"POST", "/memories", `{"user_id":null,"agent_id":"bot","infer":null,"expiration_date":null,"messages":[{"role":"user","content":"x"}]}`, 200},
		{"POST", "/memories", `{"user_id":"ann","expiration_date":"tomorrow","messages":[{"role":"user","content":"x"}]}`, 400},
		{"POST", "/search", `{"query":"x","user_id":"ann","top_k":5000}`, 400},
		{"POST", "/search", `{"query":"x","user_id":"ann","top_k":-1}`, 400},
		{"POST", "/search", `{"query":"x","user_id":"ann","rerank":true,"keyword_search":true,"enable_graph":true,"top_k":null,"threshold":null}`, 200},
		{"POST", "/v3/memories/?page=" + huge + "&page_size=" + huge, `{"filters":{"user_id":"ann"}}`, 200},
		{"POST", "/v3/memories/?page=-3&page_size=-3", `{"filters":{"user_id":"ann"}}`, 200},
		{"DELETE", "/entities/run/r1", ``, 200},
		{"DELETE", "/entities/*/r1", ``, 400},
		{"DELETE", "/entities/workspace/w", ``, 400},
		{"GET", "/v1/working-memory/?user_id=ann&offset=" + huge + "&limit=" + huge, ``, 200},
		{"GET", "/v1/working-memory/s1?user_id=ann", ``, 404},
		{"POST", "/v1/long-term-memory/", `{"memories":[]}`, 422},
		{"DELETE", "/v1/long-term-memory", ``, 200},
		{"POST", "/memories", `{"user_id":"ann","expiration_date":[],"messages":[{"role":"user","content":"x"}]}`, 400},
		{"POST", "/v1/long-term-memory/", `{"memories":[{"user_id":"ann","text":" "}]}`, 422},
		{"POST", "/v1/long-term-memory/", `{"memories":[{"user_id":"ann","text":"x","memory_type":"other"}]}`, 400},
		{"POST", "/v1/long-term-memory/search", `{"text":"x","limit":4000000000000000000,"offset":6000000000000000000,"user_id":{"eq":"ann"}}`, 200},
		{"POST", "/v1/long-term-memory/search", `{"text":"","limit":-1,"offset":-1,"user_id":{"eq":"ann","ne":null}}`, 200},
		{"POST", "/v1/long-term-memory/search", `{"text":"x","user_id":{"any":["ann"]}}`, 400},
		{"POST", "/v1/long-term-memory/search", `{"text":"x","user_id":{"eq":"ann"},"memory_type":{"eq":"other"}}`, 400},
		{"POST", "/v1/long-term-memory/search", `{"text":"x","user_id":{"eq":"ann"},"topics":{"startswith":"a"}}`, 400},
		{"POST", "/v1/long-term-memory/search", `{"text":"x","user_id":{"eq":"ann"},"created_at":{"gte":"2024-05-01T00:00:00"}}`, 400}, // of which zone?
		{"POST", "/v1/long-term-memory/search", `{"text":"x","user_id":{"eq":"ann"},"last_accessed":{"gte":"2024-05-01T00:00:00Z"}}`, 200},
		{"POST", "/v1/long-term-memory/search", `{"text":"x","user_id":{"eq":"ann"},"created_at":{"gte":null,"lte":"2024-05-01T00:00:00Z"},"memory_type":{"eq":null}}`, 200},
		{"POST", "/v1/long-term-memory/", `{"memories":[{"user_id":"ann","text":"x","event_date":"yesterday"}]}`, 400},
		{"POST", "/v1/long-term-memory/", `{"memories":[{"user_id":"ann","text":"x","event_date":null}]}`, 200},
	} {
		status, out := s.ask("", r.method, r.path, r.body)
		require.Equal(t, r.status, status, "%s %s %s %v", r.method, r.path, r.body, out)
	}
}

func TestLearningIsAJobForWhomAsksForOne(t *testing.T) {
	s := newServer(t, nil, nil)
	status, out := s.call("", "POST", "/v3/memories/add/", map[string]any{"user_id": "ann", "infer": false,
		"messages": []any{map[string]any{"role": "user", "content": "I drink tea."}}}, "Prefer", "respond-async")
	require.Equal(t, http.StatusAccepted, status, out)
	require.NotEmpty(t, out["url"])
}
