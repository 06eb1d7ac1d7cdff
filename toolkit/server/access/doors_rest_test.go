// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// plan says how an endpoint or a tool is called.
type plan struct {
	shows    bool     // It shows what is held: some answer has a canary.
	order    int      // 1: it refuses what is deleted; 2: it deletes single memories; 3: it comes last, since it leaves nothing to find.
	with     object   // what a request has beside names, in the place of the words below
	variants []object // each is a request of its own, beside with
	stream   bool     // Its body is an import: see imports.
}

var (
	said  = []any{object{"role": "user", "content": "FACT I saw a heron | LESSON looking for a heron | INTRUDER was here"}}
	tried = []any{object{"messages": []any{said[0], object{"role": "assistant", "content": "LESSON feeding a heron | INTRUDER waits"}}, "score": 1}}
	calls = []any{object{"create_time": "2026-01-01 00:00:00", "tool_name": "look", "input": "x", "output": "INTRUDER", "success": true}}
)

// words are the values of fields that name nobody.
var words = object{
	"query": "heron", "text": "INTRUDER", "content": "INTRUDER", "messages": said, "trajectories": tried, "tool_call_results": calls, "tool_names": "look",
	"pattern": "heron", "verbatim": true, "infer": false, "update_utility": true, "freq_threshold": 1, "utility_threshold": 1, "type": "user",
	"top_k": 50, "limit": 50, "offset": 0, "session_id": "s1", "session": "s1", "kind": "", "max_total_tokens": 100, "store_dir": "d",
}

// plans are those of the endpoints.
var plans = func() map[string]plan {
	one, shows, changes, erases, says := plan{order: 2}, plan{shows: true}, plan{}, plan{order: 3}, plan{}
	reads := plan{shows: true, variants: []object{{"filters": "and"}, {"filters": "or"}, {"filters": "run"}, {}}}
	wipes := plan{order: 3, variants: []object{{"filters": "ids"}, {"filters": "or"}, {"filters": "run"}, {}}}
	nothing := object{"messages": nil, "text": nil}
	all := map[string]plan{
		"GET /api/v1/me": says, "GET /api/v1/health": says, "GET /health": says, "GET /v1/health": says, "GET /v1/ping/": says,
		"GET /entities": says, "GET /v1/entities/": says, "GET /api/v1/people": {variants: []object{{}, {"limit": 1}, {"part": "n", "kind": "user"}, {"part": "lab", "limit": 1}, {"count": true}}}, "GET /api/v1/entities": says, "GET /api/v1/tools": says,
		"GET /api/v1/blocks": shows, "GET /api/v1/export": shows, "GET /api/v1/jobs/{id}": shows, "GET /api/v1/messages": shows, "GET /api/v1/notes": shows,
		"GET /api/v1/sessions": shows, "GET /api/v1/memories/{id}": shows, "GET /api/v1/memories/{id}/history": shows,
		"POST /api/v1/preview": shows, "POST /api/v1/search": {shows: true, variants: []object{{"filter": "or"}, {}}}, "POST /api/v1/list": {shows: true, variants: []object{{"filter": "or"}, {}}},
		"POST /api/v1/add": {with: object{"context": nil, "documents": nil}, variants: []object{{}, {"kind": "task"}}}, "PATCH /api/v1/memories/{id}": changes, "POST /api/v1/retry": changes,
		"POST /api/v1/blocks":          {shows: true, variants: []object{{"name": "person", "append": "INTRUDER", "text": nil}, {"name": "persona", "append": "INTRUDER", "text": nil}, {"name": "team", "text": "INTRUDER"}, {"name": "team", "append": "INTRUDER", "text": nil}}},
		"DELETE /api/v1/memories/{id}": one, "POST /api/v1/delete": {order: 3, variants: []object{{"filter": "or"}}}, "POST /api/v1/forget": {order: 3, variants: []object{{"part": object{"session": "s1"}}, {"part": nil}}},
		"POST /api/v1/rollback": {shows: true, with: object{"messages": nil, "since": nil}, variants: []object{
			{"session": nil, "source": "own", "dry_run": true}, {"session": nil, "source": "other", "dry_run": true}, {"source": nil, "dry_run": true}, {"session": nil, "source": "document"}}},
		"POST /api/v1/memories/delete": one, "GET /api/v1/retention": shows, "GET /api/v1/plans": {shows: true, order: 1}, "POST /api/v1/plans": {shows: true},
		"POST /api/v1/plans/apply": changes, "POST /api/v1/plans/undo": changes,
		"POST /api/v1/import": {stream: true},

		"POST /retrieve_task_memory": shows, "POST /retrieve_task_memory_simple": shows, "POST /retrieve_personal_memory": says, "POST /retrieve_tool_memory": says,
		"POST /grep_working_memory": shows, "POST /read_working_memory": {shows: true, with: object{"offset": 0, "limit": 0}}, "POST /summary_working_memory": changes, "POST /summary_working_memory_for_as": says,
		"POST /add_tool_call_result": changes, "POST /summary_tool_memory": changes, "POST /summary_task_memory": changes, "POST /summary_task_memory_simple": changes,
		"POST /summary_personal_memory": changes, "POST /record_task_memory": changes, "POST /delete_task_memory": erases,
		"POST /vector_store": {shows: true, order: 3, variants: []object{{"action": "list"}, {"action": "dump", "path": "d"}, {"action": "load", "path": "d"}, {"action": "copy"},
			{"action": "delete_ids"}, {"action": "delete"}}},

		"GET /v1/long-term-memory/{id}": shows, "POST /v1/long-term-memory/search": {shows: true, with: object{"text": "heron", "memory_type": nil, "session_id": nil}},
		"POST /v1/long-term-memory/": changes, "PATCH /v1/long-term-memory/{id}": changes, "DELETE /v1/long-term-memory": one,
		"GET /v1/working-memory/": says, "GET /v1/working-memory/{session}": shows, "PUT /v1/working-memory/{session}": changes, "DELETE /v1/working-memory/{session}": one,
		"POST /v1/memory/prompt": {shows: true, with: nothing, variants: []object{{"long_term_search": "own"}, {}}},

		"POST /memories": changes, "POST /v3/memories/add/": {variants: []object{{}, {"filters": "ids"}}}, "POST /search": reads, "POST /v3/memories/search/": reads, "POST /v3/memories/": reads, "GET /memories": shows,
		"DELETE /memories": wipes, "DELETE /v1/memories/": wipes, "POST /reset": erases,
		"DELETE /entities/{type}/{id}": {order: 3, variants: []object{{"type": "user"}, {"type": "agent"}, {"type": "workspace"}, {"type": "run"}}}, "DELETE /v2/entities/{type}/{id}/": {order: 3, variants: []object{{"type": "agent"}, {"type": "user"}}},
	}
	maps.Copy(all, map[string]plan{
		"GET /v2/entities/user/{id}/profile/": shows, "GET /v1/memories/": shows, "POST /v2/memories/": reads, "POST /v1/memories/search/": reads, "POST /v2/memories/search/": reads,
		"POST /v1/memories/": {variants: []object{{}, {"filters": "ids"}}}, "PUT /v1/batch/": changes, "DELETE /v1/batch/": {order: 1}, "POST /v1/feedback/": {with: object{"feedback": "NEGATIVE"}},
		"POST /v1/exports/": {variants: []object{{"filters": "and"}, {"filters": "or"}, {}}}, "POST /v1/exports/get/": {shows: true, variants: []object{{"filters": "and"}, {"filters": "or"}, {"filters": "run"}, {}}},
	})
	for _, end := range []string{"", "/"} { // mem0's own server, and its platform
		at := "/memories/{id}"
		if end != "" {
			at = "/v1/memories/{id}"
		}
		all["GET "+at+end], all["GET "+at+"/history"+end], all["PUT "+at+end], all["DELETE "+at+end] = shows, shows, changes, one
	}
	return all
}()

// endpoint is an operation of the document.
type endpoint struct {
	method, path string
	Parameters   []struct{ In, Name string }
	RequestBody  struct {
		Content map[string]struct{ Schema schemaOf }
	}
}

// schemaOf is what of a JSON Schema says which fields there are.
type schemaOf struct {
	Type       any
	Properties map[string]schemaOf
	Items      *schemaOf
}

// UnmarshalJSON reads also true, which is a schema for everything.
func (s *schemaOf) UnmarshalJSON(raw []byte) error {
	type plain schemaOf
	if string(raw) == "true" {
		return nil
	}
	return json.Unmarshal(raw, (*plain)(s))
}

// endpoints reads the document, by method and path.
func (w *world) endpoints() map[string]*endpoint {
	var doc struct {
		Paths map[string]map[string]*endpoint
	}
	require.NoError(w.t, json.Unmarshal(w.send("", "GET", "/openapi.json", nil).Body.Bytes(), &doc))
	out := map[string]*endpoint{}
	for path, methods := range doc.Paths {
		for method, e := range methods {
			e.method, e.path = strings.ToUpper(method), path
			out[e.method+" "+path] = e
		}
	}
	return out
}

// form fills requests: with names, and with words in the other fields.
type form struct {
	names
	own  names
	with object
	file string
	ids  bool // as package rest names memories to clients of others
}

// value returns the value of a field, or false to leave it out.
func (f *form) value(name string, s schemaOf) (any, bool) {
	text := func(id string) (any, bool) {
		if s.Properties["eq"].Type != nil {
			return object{"eq": id}, id != ""
		}
		return id, id != ""
	}
	given, ok := f.with[name]
	switch {
	case name == "scope":
		return f.scope(), true
	case name == "filters" || name == "filter":
		return f.filter(fmt.Sprint(given)), ok
	case name == "schema":
		return object{"properties": object{"memory": object{}}}, true
	case name == "memory_export_id": // as package rest writes a request into it
		ticket := f.object(schemaOf{Properties: map[string]schemaOf{"schema": {}, "filters": {}, "user_id": {}, "agent_id": {}}})
		raw, _ := json.Marshal(ticket)
		return base64.RawURLEncoding.EncodeToString(raw), true
	case name == "long_term_search" && given == "own": // beside a session of somebody else
		return object{"text": "heron", "user_id": object{"eq": f.own.User}}, true
	case ok:
		return given, given != nil
	case name == "name":
		return f.User + f.Agent + f.Workspace, true
	case name == "user_id":
		return text(f.User)
	case name == "agent_id":
		return text(f.Agent)
	case name == "workspace" || name == "workspace_id":
		return text(f.Workspace)
	case name == "namespace":
		return text(f.Namespace)
	case name == "src_workspace_id":
		return "vault", true
	case name == "file_path":
		return f.file, true
	case name == "id" || name == "memory_id":
		return f.id(), true
	case name == "memory_ids" || name == "ids":
		return []any{f.id()}, true
	case name == "keywords":
		return []any{"heron", "[" + f.id() + "]"}, true
	case name == "memory_dicts":
		return []any{object{"memory_id": f.Memory}}, true
	case words[name] != nil:
		if s.Properties != nil || strings.Contains(fmt.Sprint(s.Type), "object") {
			return nil, false
		}
		return words[name], true
	case s.Items != nil && s.Items.Properties != nil:
		return []any{f.object(*s.Items)}, true
	case s.Properties != nil:
		return f.object(s), true
	}
	return nil, false
}

func (f *form) id() string {
	if f.ids {
		return f.Encoded
	}
	return f.Memory
}

func (f *form) object(s schemaOf) object {
	out := object{}
	for name, p := range s.Properties {
		if v, ok := f.value(name, p); ok {
			out[name] = v
		}
	}
	return out
}

func (f *form) scope() object {
	out := object{"session_id": "s1"}
	for name, id := range map[string]string{"namespace": f.Namespace, "user_id": f.User, "agent_id": f.Agent, "workspace": f.Workspace} {
		if id != "" {
			out[name] = id
		}
	}
	return out
}

// filter names the same as the form, in the ways of a filter.
func (f *form) filter(how string) object {
	id := f.User + f.Agent + f.Workspace
	mine := object{"user_id": f.own.User}
	switch how {
	case "run":
		return object{"run_id": "s1"}
	case "ids":
		out := object{"run_id": "s1"}
		for name, id := range map[string]string{"user_id": f.User, "agent_id": f.Agent} {
			if id != "" {
				out[name] = id
			}
		}
		return out
	}
	if how == "and" {
		return object{"AND": []any{object{"user_id": f.User}, object{"OR": []any{mine, object{"user_id": id}, object{"agent_id": id}}}}}
	}
	return object{"OR": []any{mine, object{"user_id": id}, object{"NOT": []any{object{"user_id": "x"}}}, object{"AND": []any{object{"agent_id": id}}}}}
}

// request returns the address and the body of a request.
func (e *endpoint) request(f *form) (address string, body any) {
	query := url.Values{}
	path := e.path
	for _, p := range e.Parameters {
		v, ok := f.value(p.Name, schemaOf{})
		if p.In == "path" {
			if e.path == "/entities/{type}/{id}" || e.path == "/v2/entities/{type}/{id}/" {
				v = map[string]any{"type": v, "id": f.User + f.Agent + f.Workspace}[p.Name]
			}
			if strings.HasSuffix(e.path, "/profile/") {
				v = f.User
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(v)))
		} else if list, isList := v.([]any); ok && isList {
			query.Set(p.Name, fmt.Sprint(list[0]))
		} else if o, isObject := v.(object); ok && isObject {
			raw, _ := json.Marshal(o)
			query.Set(p.Name, string(raw))
		} else if ok {
			query.Set(p.Name, fmt.Sprint(v))
		}
	}
	if s, ok := e.RequestBody.Content["application/json"]; ok {
		body = f.object(s.Schema)
	}
	return path + "?" + query.Encode(), body
}

// imports are streams that name others: as whose export it is, in parts, and as authors.
func (f *form) imports() (all []string) {
	line := func(v any) string {
		raw, _ := json.Marshal(v)
		return string(raw) + "\n"
	}
	in := func(kind backends.PartitionKind, id string, share bool) string {
		namespace := f.Namespace
		if namespace == "" {
			namespace = "default"
		}
		return line(object{"partition": object{"namespace": namespace, "kind": kind, "id": id}, "share": share, "export_version": 1})
	}
	memory := func(user string) string {
		m := object{"id": "intruder-" + user, "kind": "task", "text": "INTRUDER", "when_to_use": "seeing a heron", "scope": object{"user_id": user}, "version": 1,
			"created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}
		return line(object{"memory": m, "events": []any{object{"memory_id": "intruder-" + user, "type": "added", "new": "INTRUDER", "users": []string{user}, "version": 1, "time": "2026-01-01T00:00:00Z"}}})
	}
	end := func(partitions, records int) string {
		return line(object{"end": object{"partitions": partitions, "records": records}})
	}
	user, agent, workspace := backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace
	other := f.User + f.Agent + f.Workspace
	all = append(all, in(user, f.own.User, false)+end(1, 0))
	for _, kind := range []backends.PartitionKind{user, agent, workspace} {
		all = append(all, in(kind, other, false)+memory(other)+end(1, 1),
			in(user, f.own.User, false)+in(kind, other, true)+memory(f.own.User)+end(2, 1),
			in(user, f.own.User, false)+in(kind, "vault", true)+memory(f.own.User)+end(2, 1),
			in(user, f.own.User, false)+in(kind, "lab", true)+memory(cleo)+end(2, 1))
	}
	return all
}

// try sends what a plan says about some names, and checks the answers.
func (w *world) try(k *tenant, e *endpoint, p plan, n names, one int, header bool, seen *seen) {
	secrets := k.secrets()
	variants := p.variants
	if len(variants) == 0 {
		variants = []object{{}}
	}
	if one >= 0 {
		variants = variants[one%len(variants):][:1]
	}
	for _, v := range variants {
		f := &form{names: n, own: k.own, with: maps.Clone(v), file: w.file(k, n)}
		maps.Copy(f.with, p.with)
		f.ids = !strings.HasPrefix(e.path, "/api/") && e.path != "/vector_store"
		if e.path == "/api/v1/jobs/{id}" {
			f.Memory = w.paths["job"]
		}
		var headers []string
		if header {
			headers = []string{access.HeaderUser, n.User, access.HeaderAgent, n.Agent, access.HeaderWorkspace, n.Workspace, access.HeaderNamespace, n.Namespace}
			f.names = names{Memory: n.Memory, Encoded: n.Encoded}
		}
		address, body := e.request(f)
		bodies := []string{""}
		if body != nil {
			raw, err := json.Marshal(body)
			require.NoError(w.t, err)
			bodies = []string{string(raw)}
		}
		if p.stream {
			bodies = f.imports()
		}
		for _, text := range bodies {
			var in io.Reader
			if text != "" {
				in = bytes.NewReader([]byte(text))
			}
			got := w.send(k.Name, e.method, address, in, headers...)
			request := fmt.Sprintf("%s %s %s %q", e.method, address, text, headers)
			if got.Code >= 500 {
				w.t.Errorf("%s: %d %s", request, got.Code, got.Body)
			}
			name := e.method + " " + e.path
			showed := k.clean(w.t, secrets, request, fmt.Sprint(got.Header(), got.Body))
			seen.add(name, got.Code < 300, showed)
		}
	}
}

func TestNoEndpointOpensWhatAKeyDoesNot(t *testing.T) {
	dir, ids, paths := template(t)
	seen := newSeen()
	t.Cleanup(func() { seen.covers(t, plans) })
	for i := range tenants {
		k := &tenants[i]
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			w := (&world{}).at(t, dir, paths, ids)
			endpoints := w.endpoints()
			for name := range endpoints {
				seen.add(name, false, false)
			}
			w.paths["job"] = w.job()
			before := w.state()
			for order := range 4 {
				for n, name := range slices.Sorted(maps.Keys(plans)) {
					p, e := plans[name], endpoints[name]
					if e == nil || p.order != order {
						continue
					}
					all, few := k.targets(ids, n)
					for j, target := range all {
						if k.Admin && j > 5 && j%4 != n%4 { // most is open to it
							continue
						}
						w.try(k, e, p, target, -1, false, seen)
						if j%7 == n%7 {
							w.try(k, e, p, target, j, true, seen)
						}
					}
					for j := n % 7; j < len(few); j += 7 {
						w.try(k, e, p, few[j], j, j%5 == 0, seen)
					}
				}
				k.unchanged(t, before, w.state()) // each time: to forget its person cleans up behind a key
			}
		})
	}
}

// file is one of working memory: of somebody else, but for an admin who names it.
func (w *world) file(k *tenant, n names) string {
	if k.Admin && n.Workspace == "lab" {
		return w.paths["lab"]
	}
	return w.paths["vault"]
}

// job starts one of the admin, whose result has a canary, and returns its id.
func (w *world) job() string {
	body := object{"scope": object{"user_id": "ann", "session_id": "s1"}, "verbatim": true, "messages": []any{object{"role": "user", "content": "The heron of " + canary(homes[0])}}}
	raw, err := json.Marshal(body)
	require.NoError(w.t, err)
	got := w.send("admin", "POST", "/api/v1/add", bytes.NewReader(raw), "Prefer", "respond-async")
	require.Equal(w.t, http.StatusAccepted, got.Code, got.Body.String())
	var out struct{ ID string }
	require.NoError(w.t, json.Unmarshal(got.Body.Bytes(), &out))
	require.Eventually(w.t, func() bool {
		return strings.Contains(w.send("admin", "GET", "/api/v1/jobs/"+out.ID, nil).Body.String(), `"status"`)
	}, 10*time.Second, time.Millisecond)
	return out.ID
}
