// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/profile"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
)

// told stores facts by mem0's endpoint: each text is "user run app text".
func told(s *server, secret string, texts ...string) (ids []string) {
	s.t.Helper()
	for _, text := range texts {
		part := strings.SplitN(text, " ", 4)
		status, out := s.call(secret, "POST", "/v3/memories/add/", map[string]any{"infer": false, "messages": []any{map[string]any{"role": "user", "content": part[3]}},
			"filters": map[string]any{"AND": []any{map[string]any{"user_id": part[0]}, map[string]any{"run_id": part[1], "app_id": part[2]}}}})
		require.Equal(s.t, http.StatusOK, status, out)
		ids = append(ids, out["results"].([]any)[0].(map[string]any)["id"].(string))
	}
	return ids
}

// texts are those of an answer, in its order.
func texts(out map[string]any) string {
	var all []string
	for _, m := range out["results"].([]any) {
		all = append(all, m.(map[string]any)["memory"].(string))
	}
	return strings.Join(all, ",")
}

func TestFiltersReachThePeopleThatTheyName(t *testing.T) {
	both, bothSecret := keyOf("both", true, "ann", "bob")
	only, onlySecret := keyOf("only", true, "ann")
	only.Agents = nil
	s := newServer(t, []access.Key{both, only}, nil)
	told(s, bothSecret, "ann r1 shop tea of ann", "bob r1 till tea of bob", "bob r2 shop tea again")
	root, rootSecret := keyOf("root", true, access.Any)
	all := newServer(t, []access.Key{root}, nil)
	told(all, rootSecret, "ann r1 shop tea of ann", "bob r1 till tea of bob", "bob r2 shop tea again", "cleo r1 shop tea of cleo")
	for filters, want := range map[string][3]string{ // of the key for both, of ann's, and of the one for everybody
		`{"user_id":"ann"}`:                                                      {"tea of ann", "tea of ann", "tea of ann"},
		`{"AND":[{"user_id":"ann"},{"user_id":"ann"}]}`:                          {"tea of ann", "tea of ann", "tea of ann"},
		`{"user_id":{"eq":"ann"}}`:                                               {"tea of ann", "tea of ann", "tea of ann"},
		`{"AND":[{"user_id":"ann"},{"NOT":{"run_id":"x"}}]}`:                     {"tea of ann", "tea of ann", "tea of ann"},
		`{"AND":[{"user_id":"ann"},{"user_id":"bob"}]}`:                          {"", "", ""},
		`{"AND":[{"user_id":["ann","bob"]},{"user_id":"bob"}]}`:                  {"tea of bob,tea again", "403", "tea of bob,tea again"},
		`{"user_id":["ann","bob"]}`:                                              {"tea of ann,tea of bob,tea again", "tea of ann", "tea of ann,tea of bob,tea again"},
		`{"OR":[{"user_id":"ann"},{"user_id":"bob"}]}`:                           {"tea of ann,tea of bob,tea again", "tea of ann", "tea of ann,tea of bob,tea again"},
		`{"OR":[{"user_id":"cleo"},{"user_id":"bob"}]}`:                          {"tea of bob,tea again", "403", "tea of cleo,tea of bob,tea again"},
		`{"OR":[{"AND":[{"user_id":"ann"},{"user_id":"bob"}]}]}`:                 {"", "", ""},
		`{"AND":[{"OR":[{"user_id":"ann"},{"run_id":"r1"}]},{"user_id":"bob"}]}`: {"tea of bob", "403", "tea of bob"},
		`{"OR":[{"user_id":"ann"},{"run_id":"r2"}]}`:                             {"tea of ann,tea again", "tea of ann", "tea of ann,tea again"},
		`{"OR":[{"user_id":"ann"},{"agent_id":"ann"}]}`:                          {"tea of ann", "tea of ann", "tea of ann"},
		`{"AND":[{"user_id":"ann"},{"agent_id":"clerk"}]}`:                       {"", "", ""},
		`{"run_id":"r1"}`:             {"tea of ann,tea of bob", "tea of ann", "tea of ann,tea of bob,tea of cleo"},
		`{"app_id":"shop"}`:           {"tea of ann,tea again", "tea of ann", "tea of ann,tea again,tea of cleo"},
		`{"agent_id":"ann"}`:          {"", "403", ""}, // the agent of that name, who has nothing
		`{"user_id":"bob"}`:           {"tea of bob,tea again", "403", "tea of bob,tea again"},
		`{"NOT":[{"user_id":"bob"}]}`: {"400", "tea of ann", "400"},
		`{"OR":[{"user_id":"ann"},{"NOT":{"user_id":"x"}}]}`: {"400", "tea of ann", "400"},
		`{"user_id":{"ne":"bob"}}`:                           {"400", "tea of ann", "400"},
		`{}`:                                                 {"400", "tea of ann", "400"},
		`{"user_id":"*"}`:                                    {"400", "400", "400"},
		`{"user_id":{"in":["*","ann"]}}`:                     {"400", "400", "400"},
		`{"user_id":""}`:                                     {"400", "400", "400"},
		`{"user_id":7}`:                                      {"400", "400", "400"},
		`{"user_id":"ann","created_at":{"gte":7}}`:           {"400", "400", "400"},
		`{"user_id":"ann","topic":"tea"}`:                    {"400", "400", "400"},
	} {
		for i, secret := range []string{bothSecret, onlySecret, rootSecret} {
			at := s
			if i == 2 {
				at = all
			}
			for _, path := range []string{"/v3/memories/", "/v2/memories/", "/v3/memories/search/", "/search"} {
				body := `{"filters":` + filters + `}`
				if strings.HasSuffix(path, "search/") || path == "/search" {
					body = `{"query":"tea","threshold":0,"filters":` + filters + `}`
				}
				status, out := at.ask(secret, "POST", path, body)
				if status != http.StatusOK {
					require.Equal(t, want[i], map[int]string{400: "400", 403: "403"}[status], "%s %s %v", path, filters, out)
					require.IsType(t, "", out["detail"])
					continue
				}
				got, expected := strings.Split(texts(out), ","), strings.Split(want[i], ",")
				slices.Sort(got)
				slices.Sort(expected)
				require.Equal(t, expected, got, "%s %s %d", path, filters, i)
			}
		}
	}
	status, out := all.call(rootSecret, "POST", "/v3/memories/", map[string]any{"filters": map[string]any{"run_id": "r1"}}, access.HeaderUser, "cleo")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "tea of cleo", texts(out), "the connection is about her")
}

func TestADeletionReachesAllWhomItNamesOrNobody(t *testing.T) {
	both, bothSecret := keyOf("both", true, "ann", "bob")
	only, onlySecret := keyOf("only", true, "ann")
	s := newServer(t, []access.Key{both, only}, nil)
	told(s, bothSecret, "ann r1 shop tea of ann", "bob r1 till tea of bob", "bob r2 shop tea again", "ann r3 till coffee of ann")
	held := func() string {
		_, out := s.ask(bothSecret, "POST", "/v3/memories/", `{"filters":{"user_id":["ann","bob"]}}`)
		return texts(out)
	}
	before := held()
	for query, want := range map[string]int{
		`filters={"user_id":["ann","bob"]}`:                      403, // bob is closed to it
		`filters={"OR":[{"user_id":"ann"},{"user_id":"bob"}]}`:   403,
		`filters={"user_id":""}`:                                 400,
		`filters=[object Object]`:                                400, // as a client in JavaScript may send it
		`filters={'user_id': 'ann', 'agent_id': None`:            400,
		`filters={"topic":"tea"}`:                                400,
		`user=ann`:                                               400,
		`user_id=ann&filters={"user_id":"bob"}`:                  200, // nobody is both
		`filters={'AND': [{'user_id': 'ann'}, {'run_id': 'x'}]}`: 200,
	} {
		at, err := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
		require.NoError(t, err)
		status, out := s.ask(onlySecret, "DELETE", "/v1/memories/?"+at.Encode(), "")
		require.Equal(t, want, status, "%s %v", query, out)
		require.Equal(t, before, held(), query)
	}
	for _, step := range []struct{ path, left string }{
		{"/v2/entities/run/r2/", "tea of ann,coffee of ann,tea of bob"},
		{"/v1/memories/?app_id=till", "tea of ann"},
		{`/v1/memories/?filters=` + url.QueryEscape(`{'run_id': 'r1'}`), ""},
	} {
		status, out := s.ask(bothSecret, "DELETE", step.path, "")
		require.Equal(t, http.StatusOK, status, out)
		require.Equal(t, step.left, held(), step.path)
	}
	told(s, bothSecret, "ann r1 shop tea of ann")
	status, out := s.ask(bothSecret, "DELETE", `/v1/memories/?filters=`+url.QueryEscape(`{'user_id': 'ann'}`), "")
	require.Equal(t, http.StatusOK, status, out)
	_, out = s.ask(bothSecret, "GET", "/v1/entities/", "")
	require.NotContains(t, out["results"], map[string]any{"id": "ann", "name": "ann", "type": "user"}, "she is erased")
}

func TestADictAsPythonPrintsItIsRead(t *testing.T) {
	for text, want := range map[string]string{
		``:                                 `null`,
		`{"a": {"b": [1]}}`:                `{"a":{"b":[1]}}`,
		`{'a': 'it\'s', "b": "it's"}`:      `{"a":"it's","b":"it's"}`,
		`{'a': True, 'b': None, 'c': 1.5}`: `{"a":true,"b":null,"c":1.5}`,
		`{'None': 'True "x" \\\\ \n é 安 \xa0'}`: `{"None":"True \"x\" \\\\ \n é 安 ` + "\u00a0" + `"}`,
		`{'a': [{'b': 'c'}, {'d': 'e'}]}`:       `{"a":[{"b":"c"},{"d":"e"}]}`,
	} {
		got, err := parseDict(text)
		require.NoError(t, err, text)
		raw, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, want, string(raw), text)
	}
	for _, text := range []string{`{`, `'`, `"`, `{'a`, `{'a\`, `\`, `[object Object]`, `{'a': foo}`, `{'a': f'x'}`, "\xff", `安`, `[1]`, `{'a': 'b\q'}`} {
		_, err := parseDict(text)
		require.ErrorIs(t, err, backends.ErrInvalid, text)
	}
}

func TestAnUnknownArgumentIsRefusedWithTheKnownOnes(t *testing.T) {
	s := newServer(t, nil, nil)
	told(s, "", "ann r1 shop tea of ann")
	for _, r := range []struct{ method, path, body, known string }{
		{"POST", "/v3/memories/search/", `{"query":"tea","filter":{"user_id":"ann"}}`, "filters"},
		{"POST", "/search", `{"query":"tea","filters":{"user_id":"ann"},"top":3}`, "top_k"},
		{"POST", "/v3/memories/", `{"filters":{"user_id":"ann"},"reference_date":"2026-01-01"}`, "start_date"},
		{"POST", "/v3/memories/?pages=2", `{"filters":{"user_id":"ann"}}`, "page_size"},
		{"POST", "/v3/memories/", `{"filters":{"user":"ann"}}`, "user_id"},
		{"POST", "/v3/memories/", `{"filters":{"AND":[{"user_id":"ann"},{"NOT":{"topics":"x"}}]}}`, "metadata.KEY"},
		{"POST", "/v3/memories/", `{"filters":{"user_id":"ann"},"fields":["memroy"]}`, "memory"},
		{"POST", "/v3/memories/add/", `{"user_id":"ann","messages":[],"custom_categories":[]}`, "custom_instructions"},
		{"POST", "/memories", `{"user_id":"ann","messages":[],"memory_type":"semantic"}`, "procedural_memory"},
		{"POST", "/v3/memories/add/", `{"filters":{"user_id":"ann","topic":"x"},"messages":[]}`, "app_id"},
		{"POST", "/v3/memories/add/", `{"user_id":"ann","filters":{"user_id":"bob"},"messages":[]}`, "one id each"},
		{"POST", "/v3/memories/add/", `{"filters":{"OR":[{"user_id":"ann"}]},"messages":[]}`, "one id each"},
		{"GET", "/memories?userid=ann", ``, "user_id"},
		{"DELETE", "/memories?user_id=ann&dry_run=true", ``, "filters"},
		{"PUT", "/v1/memories/x/", `{"text":"x","immutable":true}`, "expiration_date"},
		{"PUT", "/v1/batch/", `{"memories":[{"memory_id":"x","txt":"x"}]}`, "text"},
		{"POST", "/v1/feedback/", `{"memory_id":"x","feedback":"GREAT"}`, "VERY_NEGATIVE"},
		{"POST", "/v1/exports/", `{"filters":{"user_id":"ann"},"schema":{"properties":{"full_name":{}}}}`, "created_at"},
	} {
		status, out := s.ask("", r.method, r.path, r.body)
		require.Equal(t, http.StatusBadRequest, status, "%s %s %s %v", r.method, r.path, r.body, out)
		require.Contains(t, out["detail"], r.known)
	}
	status, out := s.ask("", "POST", "/v3/memories/", `{"filters":{"user_id":"ann"},"reference_date":null,"source":"CLI"}`)
	require.Equal(t, http.StatusOK, status, out)
}

// What is read in part alone would erase more than the caller means, or others' memories than all that
// the address names.
func TestAnAddressThatSaysTooLittleOrTooMuchErasesNothing(t *testing.T) {
	s := newServer(t, nil, nil)
	s.tell("ann", "Likes tea.")
	s.tell("bob", "Likes coffee.")
	for _, query := range []string{"user_id=ann&user_id=bob", "user_id=ann&run_id=100%", "user_id=ann&run_id=a;b", "user_id=ann&run_id=", "user_id=ann&app_id=&run_id=r1"} {
		for _, path := range []string{"/memories?", "/v1/memories/?"} {
			status, out := s.ask("", "DELETE", path+query, "")
			require.Equal(t, http.StatusBadRequest, status, "%s%s %v", path, query, out)
		}
	}
	require.Len(t, s.holds("ann"), 1)
	require.Len(t, s.holds("bob"), 1)
}

func TestAListIsNarrowedAndPaged(t *testing.T) {
	now := backends.SystemClock()
	s := newServer(t, nil, func(c *Config) {
		facts, err := mem0.New(t.Context(), &mem0.Config{Store: c.Store, Clock: func() time.Time { return now }})
		require.NoError(t, err)
		c.Memory, err = middleware.New(t.Context(), &middleware.Config{Backend: facts})
		require.NoError(t, err)
	})
	day := now.Format(time.DateOnly)
	for _, m := range []string{`"metadata":{"topic":"home","categories":["food","tea"]},"messages":[{"role":"user","content":"a"}]`, `"metadata":{"categories":["sport"]},"messages":[{"role":"user","content":"b"}]`,
		`"expiration_date":"` + day + `","messages":[{"role":"user","content":"c"}]`, `"messages":[{"role":"user","content":"d"}]`} {
		status, out := s.ask("", "POST", "/v3/memories/add/", `{"user_id":"ann","infer":false,`+m+`}`)
		require.Equal(t, http.StatusOK, status, out)
	}
	now = now.AddDate(0, 0, 1)
	for body, want := range map[string]string{
		`"start_date":"` + day + `"`:                             "a,b,d",
		`"end_date":"` + day + `"`:                               "a,b,d", // all of the day
		`"end_date":"2020-01-01"`:                                "",
		`"start_date":"2099-01-01T00:00:00Z"`:                    "",
		`"categories":["tea","work"]`:                            "a",
		`"metadata":{"topic":"home"}`:                            "a",
		`"metadata":{"topic":"work"}`:                            "",
		`"show_expired":true`:                                    "a,b,c,d",
		`"page":2,"page_size":2`:                                 "d",
		`"filters":{"categories":{"contains":"sport"}}`:          "b",
		`"filters":{"metadata":{"topic":"home"}}`:                "a",
		`"filters":{"metadata.topic":"home"}`:                    "a",
		`"filters":{"created_at":{"gte":"2020-01-01"}}`:          "a,b,d",
		`"filters":{"categories":{"in":["food","sport"]}}`:       "a,b",
		`"filters":{"NOT":[{"categories":{"in":["food","x"]}}]}`: "b,d",
	} {
		status, out := s.ask("", "POST", "/v3/memories/", `{"user_id":"ann",`+body+`}`)
		require.Equal(t, http.StatusOK, status, "%s %v", body, out)
		require.Equal(t, want, texts(out), body)
	}
	_, out := s.ask("", "POST", "/v3/memories/?page=2&page_size=1", `{"user_id":"ann","fields":["memory","categories"]}`)
	require.EqualValues(t, 3, out["count"])
	require.Equal(t, "/v3/memories/?page=3&page_size=1", out["next"])
	require.Equal(t, "/v3/memories/?page=1&page_size=1", out["previous"])
	one := out["results"].([]any)[0].(map[string]any)
	require.Len(t, one, 3)
	require.Equal(t, []any{"sport"}, one["categories"])
}

// A client that follows the addresses of pages sees everything once.
func TestPagesLeadToEachOther(t *testing.T) {
	s := newServer(t, nil, func(c *Config) {
		var err error
		c.Guard, err = access.New(&access.Config{DefaultUser: "guest", Log: c.Log})
		require.NoError(t, err)
	})
	told(s, "", "ann r1 shop a", "ann r2 shop b", "ann r1 shop c", "安娜 r1 shop d", "guest r1 shop e")
	for first, want := range map[string][]string{
		"/v1/memories/?page_size=1&user_id=ann":                   {"a", "b", "c"},
		"/v1/memories/?page_size=1&user_id=ann&show_expired=True": {"a", "b", "c"}, // as Python prints it
		"/memories?run_id=r1&top_k=1&user_id=ann":                 {"a", "c"},
		"/memories?page_size=1&user_id=" + url.QueryEscape("安娜"):  {"d"},
		"/v1/entities/?page_size=1":                               {"ann", "guest", "安娜"},
	} {
		var got []string
		for next := any(first); next != nil; {
			status, out := s.ask("", "GET", next.(string), "")
			require.Equal(t, http.StatusOK, status, "%s %v", next, out)
			require.EqualValues(t, len(want), out["count"], next)
			one := out["results"].([]any)[0].(map[string]any)
			if name, ok := one["name"]; ok {
				got = append(got, name.(string))
			} else {
				got = append(got, one["memory"].(string))
			}
			next = out["next"]
		}
		slices.Sort(got)
		require.Equal(t, want, got, first)
	}
}

func TestASearchLeavesOutWhatDoesNotAnswer(t *testing.T) {
	s := newServer(t, nil, nil)
	told(s, "", "ann r1 shop I moved to Hangzhou in March.", "ann r1 shop My heron is called Ada.")
	_, out := s.ask("", "POST", "/v3/memories/search/", `{"query":"What is the heron called?","filters":{"user_id":"ann"}}`)
	require.Equal(t, "My heron is called Ada.", texts(out))
	_, out = s.ask("", "POST", "/v3/memories/search/", `{"query":"Which bicycle?","filters":{"user_id":"ann"}}`)
	require.Empty(t, out["results"])
	for _, threshold := range []string{"0", "-1"} {
		_, out = s.ask("", "POST", "/v3/memories/search/", `{"query":"What is the heron called?","filters":{"user_id":"ann"},"threshold":`+threshold+`}`)
		require.Contains(t, texts(out), "My heron is called Ada.", "a threshold of %s leaves out nothing", threshold)
	}
	told(s, "", "ann r1 shop Prefers dark mode and vim keybindings")
	_, out = s.ask("", "POST", "/v3/memories/search/", `{"query":"What does Alice prefer?","threshold":0.3,"filters":{"user_id":"ann"}}`)
	require.Equal(t, "Prefers dark mode and vim keybindings", texts(out), "with the threshold of mem0's command")
	_, out = s.ask("", "POST", "/v3/memories/search/", `{"query":"What is the heron called?","threshold":1,"filters":{"user_id":"ann"}}`)
	require.Empty(t, out["results"])
}

func TestMem0sClientsSeeFactsAndNoTurns(t *testing.T) {
	learning := func(c *Config) {
		facts, err := mem0.New(t.Context(), &mem0.Config{Store: c.Store, Model: testkit.New(testkit.Learn)})
		require.NoError(t, err)
		c.Memory, err = middleware.New(t.Context(), &middleware.Config{Backend: facts})
		require.NoError(t, err)
	}
	pair := `{"user_id":"ann","messages":[{"role":"user","content":"FACT I live in Hangzhou."},{"role":"assistant","content":"Noted."}]`
	s := newServer(t, nil, learning)
	status, out := s.ask("", "POST", "/v3/memories/add/", pair+`}`)
	require.Equal(t, http.StatusOK, status, out)
	require.Len(t, out["results"], 1, out)
	fact := texts(out)
	_, out = s.ask("", "POST", "/v3/memories/", `{"filters":{"user_id":"ann"}}`)
	require.Equal(t, fact, texts(out))
	_, out = s.ask("", "POST", "/v3/memories/search/", `{"query":"Hangzhou","filters":{"user_id":"ann"}}`)
	require.Equal(t, fact, texts(out))
	_, out = s.ask("", "POST", "/api/v1/list", `{"scope":{"user_id":"ann"}}`)
	require.Len(t, out["memories"], 3, "the words are there, for the agents")

	status, out = s.ask("", "POST", "/v3/memories/add/", `{"user_id":"bob","infer":false,"messages":[{"role":"user","content":"I live in Suzhou."},{"role":"assistant","content":"Noted."}]}`)
	require.Equal(t, http.StatusOK, status, out)
	_, out = s.ask("", "POST", "/v3/memories/", `{"filters":{"user_id":"bob"}}`)
	require.Equal(t, "I live in Suzhou.,Noted.", texts(out))

	plain := newServer(t, nil, nil) // no model: the words are all that there is
	status, out = plain.ask("", "POST", "/v3/memories/add/", pair+`}`)
	require.Equal(t, http.StatusOK, status, out)
	_, out = plain.ask("", "POST", "/v3/memories/", `{"filters":{"user_id":"ann"}}`)
	require.Equal(t, "FACT I live in Hangzhou.,Noted.", texts(out))
}

func TestABatchChangesAllOrNothing(t *testing.T) {
	both, secret := keyOf("both", true, "ann", "bob")
	only, annSecret := keyOf("only", true, "ann")
	s := newServer(t, []access.Key{both, only}, nil)
	ids := told(s, secret, "ann r1 shop a", "ann r1 shop b", "bob r1 shop c")
	batch := func(secret, method string, memories ...map[string]any) (int, map[string]any) {
		return s.call(secret, method, "/v1/batch/", map[string]any{"memories": memories})
	}
	one := func(i int, text string) map[string]any {
		m := map[string]any{"memory_id": ids[i]}
		if text != "" {
			m["text"], m["metadata"] = text, map[string]any{"n": i}
		}
		return m
	}
	held := func() string {
		_, out := s.ask(secret, "POST", "/v3/memories/", `{"filters":{"user_id":["ann","bob"]}}`)
		return texts(out)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		status, _ := batch(annSecret, method, one(0, ""), one(1, ""), one(2, ""))
		require.Equal(t, http.StatusNotFound, status, "bob's is closed")
		status, _ = batch(annSecret, method, one(0, ""), map[string]any{"memory_id": "nothing"})
		require.Equal(t, http.StatusNotFound, status)
		status, _ = batch(annSecret, method)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status)
		require.Equal(t, "a,b,c", held())
	}
	status, out := batch(secret, "PUT", one(0, "A"), one(2, "C"))
	require.Equal(t, http.StatusOK, status, out)
	require.Equal(t, "Successfully updated 2 memories", out["message"])
	require.Equal(t, "A,b,C", held())
	status, out = batch(secret, "DELETE", one(0, ""), one(2, ""), one(2, ""))
	require.Equal(t, http.StatusOK, status, out)
	require.Equal(t, "Successfully deleted 2 memories", out["message"])
	require.Equal(t, "b", held())
}

func TestFeedbackMovesTheQualityOfAMemory(t *testing.T) {
	s := newServer(t, nil, nil)
	id := told(s, "", "ann r1 shop a")[0]
	for _, step := range []struct {
		feedback string
		want     float64
	}{{`"POSITIVE"`, 0.75}, {`"POSITIVE"`, 0.75}, {`"NEGATIVE"`, 0.25}, {`"VERY_NEGATIVE"`, 0}, {`null`, 0.5}} {
		status, out := s.ask("", "POST", "/v1/feedback/", `{"memory_id":"`+id+`","feedback":`+step.feedback+`,"feedback_reason":"why"}`)
		require.Equal(t, http.StatusOK, status, out)
		_, plain, _ := decodeID(id)
		_, out = s.ask("", "GET", "/api/v1/memories/"+plain+"?user_id=ann", "")
		require.InDelta(t, step.want, out["quality"], 1e-9, step.feedback)
		_, out = s.ask("", "POST", "/v3/memories/", `{"filters":{"user_id":"ann","feedback":"POSITIVE"}}`)
		require.Equal(t, step.feedback == `"POSITIVE"`, texts(out) == "a")
	}
}

func TestAnExportHasTheFieldsOfItsSchema(t *testing.T) {
	s := newServer(t, nil, nil)
	told(s, "", "ann r1 shop a", "ann r2 till b", "bob r1 shop c")
	for _, schema := range []string{
		`{"title":"All","properties":{"facts":{"type":"array","items":{"properties":{"memory":{"type":"string"},"run_id":{"type":"string"}}}}}}`,
		`{"properties":{"facts":{"items":{"properties":{"memory":{},"run_id":{}}}}}}`,
	} {
		quoted, _ := json.Marshal(schema)
		for _, sent := range []string{schema, string(quoted)} {
			status, out := s.ask("", "POST", "/v1/exports/", `{"filters":{"user_id":"ann","app_id":"shop"},"schema":`+sent+`}`)
			require.Equal(t, http.StatusOK, status, out)
			status, out = s.call("", "POST", "/v1/exports/get/", map[string]any{"memory_export_id": out["id"]})
			require.Equal(t, http.StatusOK, status, out)
			require.Equal(t, map[string]any{"facts": []any{map[string]any{"memory": "a", "run_id": "r1"}}}, out)
		}
	}
	for _, id := range []string{"", "x", "e30", "bnVsbA"} {
		status, out := s.call("", "POST", "/v1/exports/get/", map[string]any{"memory_export_id": id})
		require.Contains(t, []int{400, 404}, status, out)
	}
}

func TestADeletionCanTakeWhatTheMemorySuperseded(t *testing.T) {
	for _, linked := range []bool{false, true} {
		s := newServer(t, nil, func(c *Config) {
			facts, err := mem0.New(t.Context(), &mem0.Config{Store: c.Store, Model: testkit.New(
				testkit.Call("1", "remember", `{"operations":[{"op":"add","text":"The user lives in Bergen.","messages":[0]}]}`),
				testkit.Call("2", "remember", `{"operations":[{"op":"supersede","index":0,"text":"The user lives in Oslo.","messages":[0]}]}`))})
			require.NoError(t, err)
			c.Memory, err = middleware.New(t.Context(), &middleware.Config{Backend: facts})
			require.NoError(t, err)
		})
		for _, said := range []string{"I live in Bergen.", "I live in Oslo now."} {
			status, out := s.ask("", "POST", "/v3/memories/add/", `{"user_id":"ann","messages":[{"role":"user","content":"`+said+`"}]}`)
			require.Equal(t, http.StatusOK, status, out)
		}
		list := func(latest string) map[string]any {
			_, out := s.ask("", "POST", "/v3/memories/", `{"filters":{"user_id":"ann"},"latest_only":`+latest+`}`)
			return out
		}
		require.Equal(t, "The user lives in Oslo.", texts(list("true")))
		require.Equal(t, "The user lives in Bergen.,The user lives in Oslo.", texts(list("false")))
		id := list("true")["results"].([]any)[0].(map[string]any)["id"].(string)
		path := "/v1/memories/" + id + "/"
		if linked {
			path += "?delete_linked=true"
		}
		status, out := s.ask("", "DELETE", path, "")
		require.Equal(t, http.StatusOK, status, out)
		require.Equal(t, linked, texts(list("false")) == "", list("false"))
	}
}

func TestAProfileIsTheDocumentThatFactsFill(t *testing.T) {
	type person struct {
		City string `json:"city,omitempty"`
	}
	s := newServer(t, nil, func(c *Config) {
		document, err := profile.New[person]()
		require.NoError(t, err)
		facts, err := mem0.New(t.Context(), &mem0.Config{Store: c.Store, Profile: document, Model: testkit.New(
			testkit.Call("1", "remember", `{"operations":[{"op":"add","text":"The user lives in Bergen.","messages":[0],"field":"city","value":"Bergen"}]}`))})
		require.NoError(t, err)
		c.Memory, err = middleware.New(t.Context(), &middleware.Config{Backend: facts})
		require.NoError(t, err)
		c.Profile = document
	})
	status, out := s.ask("", "GET", "/v2/entities/user/ann/profile/", "")
	require.Equal(t, http.StatusOK, status, out)
	require.Equal(t, "insufficient_data", out["status"])
	status, out = s.ask("", "POST", "/v3/memories/add/", `{"user_id":"ann","messages":[{"role":"user","content":"I live in Bergen."}]}`)
	require.Equal(t, http.StatusOK, status, out)
	_, out = s.ask("", "GET", "/v2/entities/user/ann/profile/", "")
	require.Equal(t, map[string]any{"status": "succeeded", "entity_type": "user", "entity_id": "ann", "profile": map[string]any{"city": "Bergen"}}, out)
}
