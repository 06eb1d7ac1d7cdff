// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/profile"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/files"
	"github.com/einomem/einomem/toolkit/server/flows"
	"github.com/einomem/einomem/toolkit/server/mcp"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// These tests hold every door to the guard: each endpoint of the OpenAPI document and each MCP tool is
// called with each key and hostile ids wherever a request can name somebody. Each partition has a
// canary in all that it can hold. No answer has a canary of what the key does not open, and what it
// may not change is afterwards as it was.

type object = map[string]any

// The user and the session of what others taught in workspaces: only admins see them.
const cleo, cleosSession = "cleoowner", "cleosession"

const (
	nfc = "Ren\u00e9"
	nfd = "Rene\u0301"
)

// long is as long as an id may be.
var long = strings.Repeat("a", backends.MaxScopePart)

// homes are the partitions. Their names are alike, or differ in the kind or the namespace alone.
var homes = func() (all []backends.Partition) {
	add := func(namespace string, kind backends.PartitionKind, ids ...string) {
		for _, id := range ids {
			all = append(all, backends.Partition{Namespace: namespace, Kind: kind, ID: id})
		}
	}
	add("default", backends.PartitionUser, "ann", "bob", "Ann", "ａｎｎ", "ann/bob", nfc, nfd, long, "lab", "clerk")
	add("default", backends.PartitionAgent, "clerk", "bob")
	add("default", backends.PartitionWorkspace, "lab", "vault", "bob")
	add("other", backends.PartitionUser, "ann", "bob")
	add("other", backends.PartitionWorkspace, "lab")
	return all
}()

// hostile are ids that no key opens, that are no ids, or that others may take for another one.
var hostile = []string{
	"Ann", "ａｎｎ", "ann/bob", nfc, nfd, long, long + "a", "ann%2Fbob", "ann%2F..", "%61nn", "..", "../ann", "*", "ann*", "ann ", " bob\u00a0", "ann\x00", "ann\nbob",
	"\u202eann", "", "{bob}", "bob' OR '1'='1", cleo,
}

func canary(p backends.Partition) string {
	return fmt.Sprintf("canary%02dx", slices.Index(homes, p))
}

// tenant is a key, and the partitions that it reads and writes.
type tenant struct {
	access.Key
	opens []backends.Partition
	own   names // whom it names where it names its own
	calm  bool  // It names nobody else.
}

// tenants are the keys. The name of each is its secret.
var tenants = func() []tenant {
	in := func(namespace string, kind backends.PartitionKind, id string) backends.Partition {
		return backends.Partition{Namespace: namespace, Kind: kind, ID: id}
	}
	user, agent, workspace := backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace
	lab, every := []string{"lab"}, []string{access.Any}
	all := []tenant{
		{access.Key{Name: "reader", Users: []string{"ann"}}, []backends.Partition{in("default", user, "ann")}, names{User: "ann"}, false},
		{access.Key{Name: "member", Users: []string{"bob"}, Workspaces: lab, Write: true},
			[]backends.Partition{in("default", user, "bob"), in("default", workspace, "lab")}, names{User: "bob", Workspace: "lab"}, false},
		{access.Key{Name: "agent", Agents: []string{"clerk"}, Workspaces: lab, Write: true},
			[]backends.Partition{in("default", agent, "clerk"), in("default", workspace, "lab")}, names{Agent: "clerk", Workspace: "lab"}, false},
		{access.Key{Name: "elsewhere", Namespaces: []string{"other"}, Users: []string{"ann"}, Workspaces: lab, Write: true},
			[]backends.Partition{in("other", user, "ann"), in("other", workspace, "lab")}, names{User: "ann", Workspace: "lab"}, false},
		{access.Key{Name: "nobody", Workspaces: []string{"lab", "vault"}, Write: true}, nil, names{Workspace: "lab"}, false},
		{access.Key{Name: "admin", Users: every, Agents: every, Workspaces: every, Write: true, Admin: true}, nil, names{User: "bob", Agent: "clerk", Workspace: "lab"}, false},
		{access.Key{Name: "operator", Namespaces: every, Users: every, Agents: every, Workspaces: every, Write: true, Admin: true}, homes, names{User: "bob"}, true},
		{access.Key{Name: "shop", Users: []string{"bob", "lab"}, DefaultUser: "bob", Write: true}, []backends.Partition{in("default", user, "bob"), in("default", user, "lab")}, names{User: "bob"}, false},
	}
	for i := range all {
		all[i].Hash = access.Hash(all[i].Name)
	}
	all[5].opens = slices.DeleteFunc(slices.Clone(homes), func(p backends.Partition) bool { return p.Namespace != "default" })
	return all
}()

// secrets are the texts that no answer to the key may have.
func (k *tenant) secrets() (out []string) {
	for _, p := range homes {
		if !slices.Contains(k.opens, p) {
			out = append(out, canary(p))
		}
	}
	if !k.Admin {
		out = append(out, cleo, cleosSession)
	}
	return out
}

// names are whom a request names, and a memory, a session and a file there.
type names struct{ Namespace, User, Agent, Workspace, Memory, Encoded string }

// targets are whom requests of a key name: its own first, then others, in each place of a request.
// few take turns. nth says which memory they name.
func (k *tenant) targets(ids map[backends.Partition][]string, nth int) (all, few []names) {
	own := k.own
	var out [2][]names
	for i, list := range [][]string{{"ann", "bob", "clerk", "lab", "vault"}, hostile} {
		for _, id := range list {
			out[i] = append(out[i], names{User: id}, names{Agent: id}, names{Workspace: id}, names{User: own.User, Agent: own.Agent, Workspace: id},
				names{User: id, Workspace: own.Workspace}, names{User: own.User, Agent: id}, names{Namespace: id, User: own.User, Workspace: own.Workspace})
		}
	}
	for _, namespace := range []string{"other", "default"} {
		out[0] = append(out[0], names{Namespace: namespace, User: "ann"}, names{Namespace: namespace, Workspace: "lab"})
	}
	mine := []names{own, {User: own.User}, {Agent: own.Agent}, {Workspace: own.Workspace}, {}}
	if out[0] = append(mine, out[0]...); k.calm {
		out[0], out[1] = mine, nil
	}
	for _, list := range out {
		for i := range list {
			list[i].place(k, ids, nth)
		}
	}
	return out[0], out[1]
}

// place gives the names a memory of the partition that they name, if there is one.
func (n *names) place(k *tenant, ids map[backends.Partition][]string, nth int) {
	namespace := "default"
	if len(k.Namespaces) > 0 {
		namespace = k.Namespaces[0]
	}
	if n.Namespace != "" {
		namespace = n.Namespace
	}
	p := backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: n.User}
	switch {
	case n.User == "" && n.Agent != "", n.Agent != "" && n.Agent != k.own.Agent:
		p.Kind, p.ID = backends.PartitionAgent, n.Agent
	case n.Workspace != "" && (n.User == "" || n.Workspace != k.own.Workspace):
		p.Kind, p.ID = backends.PartitionWorkspace, n.Workspace
	}
	if n.Memory = "none"; ids[p] != nil {
		n.Memory = ids[p][nth%len(ids[p])]
	}
	raw, _ := json.Marshal([]string{string(p.Kind), p.Namespace, p.ID, n.Memory}) // as package rest names a memory to mem0's clients
	n.Encoded = base64.RawURLEncoding.EncodeToString(raw)
}

// world is a memory with something of everything, and its doors.
type world struct {
	t      *testing.T
	db     *sqlitestore.Store
	mem    *middleware.MemoryMiddleware
	folder *os.Root
	files  *files.Files
	doors  http.Handler
	ids    map[backends.Partition][]string // of the memories of each
	paths  map[string]string               // of files of working memory by their workspaces, and a job
	tools  map[string]*sdk.Tool
}

// newWorld opens what a folder holds.
func newWorld(t *testing.T, dir string) *world {
	ctx, quiet := context.Background(), slog.New(slog.DiscardHandler)
	w := &world{t: t, ids: map[backends.Partition][]string{}, paths: map[string]string{}}
	var err error
	w.db, err = sqlitestore.Open(ctx, filepath.Join(dir, "memory.db"), nil)
	require.NoError(t, err)
	w.folder, err = os.OpenRoot(dir)
	require.NoError(t, err)
	model := testkit.New(testkit.Learn)
	person, err := profile.New[bird]()
	require.NoError(t, err)
	over := &backends.Retention{Every: -1, Rules: []backends.RetentionRule{{OlderThan: 1}}} // all would go, in a dry run
	facts, err := mem0.New(ctx, &mem0.Config{Store: w.db, Profile: person, Retention: over})
	require.NoError(t, err)
	experience, err := reme.New(ctx, &reme.Config{Store: w.db, Model: model})
	require.NoError(t, err)
	notes := rest.NewNotes(nil)
	w.mem, err = middleware.New(ctx, &middleware.Config{
		Backend: backends.Join(facts, experience), Window: &window.Config{Budget: compaction.Budget{Window: 16_000}},
		Core: &core.Config{Blocks: []core.Block{{Name: "person"}, {Name: "persona", Owner: backends.PartitionAgent}, {Name: "team", Owner: backends.PartitionWorkspace}}},
	})
	require.NoError(t, err)
	var keys []access.Key
	for i := range tenants {
		keys = append(keys, tenants[i].Key)
	}
	guard, err := access.New(&access.Config{Keys: keys, Log: quiet})
	require.NoError(t, err)
	reMe, err := flows.New(&flows.Config{Backend: w.mem.Backend(), Model: model, Folder: w.folder})
	require.NoError(t, err)
	w.files, err = files.New(&files.Config{Records: w.db, Blocks: w.mem.Window().(*window.Window).Core()})
	require.NoError(t, err)
	tidy, err := reflection.New(&reflection.Config{Backend: w.mem.Backend()})
	require.NoError(t, err)
	api, err := rest.New(&rest.Config{Reflector: tidy, Memory: w.mem, Store: w.db, Guard: guard, Notes: notes, Flows: reMe, Profile: person, Log: quiet})
	require.NoError(t, err)
	tools, err := mcp.New(&mcp.Config{Memory: w.mem, Guard: guard, Files: w.files, Flows: reMe, Tools: []string{"memory", "session", "files", "reme"}, OnError: func(context.Context, string, error) {}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.Handle("/mcp", tools.Handler())
	w.doors = mux
	for _, p := range homes { // what is in this process alone
		notes.Record(ctx, hooks.Note{Scope: p.Scope(), Query: "heron", Text: canary(p)})
	}
	t.Cleanup(func() {
		for _, end := range []func(context.Context) error{api.Close, w.mem.Close, facts.Close, experience.Close} {
			require.NoError(t, end(ctx))
		}
		require.NoError(t, w.db.Close())
		require.NoError(t, w.folder.Close())
	})
	return w
}

// bird is the profile of each person.
type bird struct {
	Bird string `json:"bird,omitempty"`
}

// fill puts a canary into all that a partition can hold.
func (w *world) fill(p backends.Partition) {
	ctx, t, s, text := w.t.Context(), w.t, p.Scope(), "The heron of "+canary(p)+" nests here."
	s.SessionID = "s1"
	add := &backends.AddRequest{Scope: s, Verbatim: true}
	block := "person"
	switch p.Kind {
	case backends.PartitionWorkspace:
		block, add.Kind = "team", backends.KindTask
		add.Scope.UserID, add.Scope.SessionID = cleo, cleosSession
	case backends.PartitionAgent:
		block = "persona"
	}
	for i := range 4 {
		if p.Kind != backends.PartitionWorkspace { // words, and facts, which clients of mem0 see alone
			add.Kind = []backends.Kind{backends.KindEpisode, backends.KindFact}[i%2]
		}
		add.Metadata = map[string]any{backends.MetaProfile: map[string]any{"bird": canary(p)}}
		add.Messages = []backends.Message{{Message: schema.UserMessage(fmt.Sprintf("%s %d of them.", text, i+2))}}
		added, err := w.mem.Backend().Add(ctx, add)
		require.NoError(t, err)
		require.NoError(t, added.Items[0].Err)
		require.Contains(t, added.Items[0].Memory.Text, canary(p))
		w.ids[p] = append(w.ids[p], added.Items[0].Memory.ID)
	}
	_, err := w.mem.Window().(*window.Window).Core().Set(ctx, &core.Edit{Scope: s, Block: block, Text: text})
	require.NoError(t, err)
	_, err = w.files.Do(ctx, s, &files.Command{Command: "create", Path: "/memories/f.md", FileText: text})
	require.NoError(t, err)
	if p.Kind == backends.PartitionWorkspace {
		return
	}
	for _, twice := range []string{"A heron of %s sleeps here.", "The heron of %s sleeps here."} { // a plan merges them
		_, err = w.mem.Backend().Add(ctx, &backends.AddRequest{Scope: s, Verbatim: true, Kind: backends.KindFact,
			Messages: []backends.Message{{Message: schema.UserMessage(fmt.Sprintf(twice, canary(p)))}}})
		require.NoError(t, err)
	}
	title := canary(p)
	_, err = w.db.Append(ctx, p, "s1", &store.Append{Scope: s, Learnt: true, Entries: []store.Entry{
		{Message: backends.Message{ID: "1", Turn: "t", Message: schema.UserMessage(text)}},
		{Message: backends.Message{ID: "2", Turn: "t", Message: schema.AssistantMessage("Noted.", nil)}, Done: true}}})
	require.NoError(t, err)
	_, err = w.db.Update(ctx, p, &store.SessionUpdate{Session: "s1", Title: &title})
	require.NoError(t, err)
	require.NoError(t, w.db.PutBlob(ctx, p, "s1", "b", []byte(text)))
}

// template is a folder with all of it, to be copied for each key, with the memories of each partition
// and the path of a file of working memory in two workspaces.
func template(t *testing.T) (dir string, ids map[backends.Partition][]string, paths map[string]string) {
	dir, paths = t.TempDir(), map[string]string{}
	t.Run("fill", func(t *testing.T) {
		w := newWorld(t, dir)
		for _, p := range homes {
			w.fill(p)
		}
		ids = w.ids
		lab := backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "lab"}
		vault := backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "vault"}
		for _, p := range []backends.Partition{lab, vault} {
			text := strings.Repeat("The heron of "+canary(p)+". ", 2000)
			status, out := w.ask("admin", "POST", "/summary_working_memory", object{"workspace_id": p.ID, "store_dir": "d", "messages": []any{
				object{"role": "user", "content": "look"}, object{"role": "assistant", "content": "", "tool_calls": []any{object{"id": "1", "type": "function",
					"function": object{"name": "look", "arguments": "{}"}}}},
				object{"role": "tool", "tool_call_id": "1", "content": text}, object{"role": "assistant", "content": "done"}, object{"role": "user", "content": "more"},
			}, "max_total_tokens": 100, "keep_recent_count": 1, "max_tool_message_tokens": 100})
			require.Equal(t, http.StatusOK, status, out)
			for path := range out["metadata"].(object)["write_file_dict"].(object) {
				paths[p.ID] = path
			}
			status, out = w.ask("admin", "POST", "/vector_store", object{"workspace_id": p.ID, "action": "dump", "path": "d"})
			require.Equal(t, http.StatusOK, status, out)
		}
		require.Len(t, paths, 2)
	})
	return dir, ids, paths
}

// at returns a world of its own that is as the template.
func (w *world) at(t *testing.T, dir string, paths map[string]string, ids map[backends.Partition][]string) *world {
	own := t.TempDir()
	require.NoError(t, os.CopyFS(own, os.DirFS(dir)))
	w = newWorld(t, own)
	w.ids = ids
	maps.Copy(w.paths, paths)
	return w
}

// send calls the doors with a body as it is.
func (w *world) send(secret, method, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, body)
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	w.doors.ServeHTTP(out, r)
	return out
}

func (w *world) ask(secret, method, path string, body any) (int, object) {
	raw, err := json.Marshal(body)
	require.NoError(w.t, err)
	got := w.send(secret, method, path, bytes.NewReader(raw))
	var out object
	_ = json.Unmarshal(got.Body.Bytes(), &out)
	return got.Code, out
}

// state is what each partition holds, the files, and which partitions there are.
type state struct {
	holds  map[backends.Partition]string
	taught map[backends.Partition][]string // by others, in a workspace
	files  map[string]string
}

func (w *world) state() state {
	ctx, out := context.Background(), state{map[backends.Partition]string{}, map[backends.Partition][]string{}, map[string]string{}}
	namespaces := append([]string{"default", "other", "Default", "ann", "bob", "clerk", "lab", "vault"}, hostile...)
	for _, namespace := range namespaces {
		if normal, err := (backends.Scope{Namespace: namespace}).Normalize(); err != nil || normal.Namespace == "" {
			continue
		}
		err := store.Each(func(page store.Page) (*store.PartitionPage, error) {
			return w.db.Partitions(ctx, strings.TrimSpace(namespace), page)
		}, func(p backends.Partition) error {
			var b strings.Builder
			_, err := store.Export(ctx, w.db, p, &b)
			out.holds[p] = b.String()
			for line := range strings.Lines(out.holds[p]) {
				var l struct{ Memory *backends.Memory }
				if json.Unmarshal([]byte(line), &l) == nil && l.Memory != nil && l.Memory.Scope.UserID == cleo {
					out.taught[p] = append(out.taught[p], l.Memory.ID+": "+l.Memory.Text)
				}
			}
			return err
		})
		require.NoError(w.t, err)
	}
	for p := range out.taught {
		slices.Sort(out.taught[p]) // that it was used moves it
	}
	for name, raw := range tree(w.t, w.folder.Name()) {
		out.files[name] = raw
	}
	return out
}

// tree returns the files of a folder but for the database.
func tree(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "memory.db") {
			return err
		}
		raw, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(raw)
		return err
	}))
	return out
}

// unchanged fails the test if a key changed what it may not change.
func (k *tenant) unchanged(t *testing.T, before, after state) {
	may := func(p backends.Partition) bool {
		return k.Write && (slices.Contains(k.opens, p) || k.Admin && p.Namespace == "default")
	}
	for p := range after.holds {
		if _, was := before.holds[p]; !was && !may(p) {
			t.Errorf("the key %s made the partition %s", k.Name, p)
		}
	}
	for p, was := range before.holds {
		if !may(p) && after.holds[p] != was {
			t.Errorf("the key %s changed %s:\n%s\nto\n%s", k.Name, p, was, after.holds[p])
		}
		if !k.Admin && !slices.Equal(before.taught[p], after.taught[p]) {
			t.Errorf("the key %s changed what others taught in %s: %s to %s", k.Name, p, before.taught[p], after.taught[p])
		}
	}
	for name, was := range before.files {
		if !k.Admin && after.files[name] != was {
			t.Errorf("the key %s changed the file %s", k.Name, name)
		}
	}
}

var encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}`)

// unfold returns a text with what it has in base64.
func unfold(text string) string {
	var all strings.Builder
	all.WriteString(text)
	for _, word := range encoded.FindAllString(text, -1) {
		word = strings.NewReplacer("-", "+", "_", "/").Replace(word)
		if raw, err := base64.RawStdEncoding.DecodeString(word[:len(word)/4*4]); err == nil {
			all.Write(raw)
		}
	}
	return all.String()
}

// clean fails the test if an answer has what the key may not see. It reports whether it has a canary
// at all.
func (k *tenant) clean(t *testing.T, secrets []string, request, answer string) bool {
	all := unfold(answer)
	for _, secret := range secrets {
		if strings.Contains(all, secret) && !strings.Contains(request, secret) { // what it sent it knows
			t.Errorf("the key %s sees %q by\n%s\nin\n%.2000s", k.Name, secret, request, answer)
		}
	}
	return strings.Contains(all, "canary")
}

// seen is what the requests of all keys came to, by endpoint or tool.
type seen struct {
	mu                      sync.Mutex
	found, answered, showed map[string]bool
}

func newSeen() *seen {
	return &seen{found: map[string]bool{}, answered: map[string]bool{}, showed: map[string]bool{}}
}

func (s *seen) add(name string, answered, showed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[name], s.answered[name], s.showed[name] = true, s.answered[name] || answered, s.showed[name] || showed
}

// covers fails the test for what has no plan, and for a plan whose requests show nothing.
func (s *seen) covers(t *testing.T, plans map[string]plan) {
	require.Equal(t, slices.Sorted(maps.Keys(s.found)), slices.Sorted(maps.Keys(plans)), "each endpoint and tool needs a plan: how it is called, and what it shows")
	for name, p := range plans {
		if !s.answered[name] {
			t.Errorf("%s: no request was answered with success: the plan calls it in a way that it refuses", name)
		}
		if p.shows && !s.showed[name] {
			t.Errorf("%s: no answer had a canary, though it shows what is held", name)
		}
	}
}
