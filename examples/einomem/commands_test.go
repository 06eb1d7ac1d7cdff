// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testpostgres"
)

// said is when Ann and 李雷 talked.
var said = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// on runs a test on a file and on a server, each with what is known of two users.
func on(t *testing.T, f func(t *testing.T, db string)) {
	t.Run("sqlite", func(t *testing.T) { f(t, talked(t, filepath.Join(t.TempDir(), "memory.db"))) })
	t.Run("redis", func(t *testing.T) { f(t, talked(t, "redis://"+miniredis.RunT(t).Addr())) })
	t.Run("postgres", func(t *testing.T) { f(t, talked(t, testpostgres.Need(t).Database(t))) })
}

func talked(t *testing.T, at string) string {
	ctx := context.Background()
	db, err := open(ctx, at, true)
	require.NoError(t, err)
	b, err := mem0.New(ctx, &mem0.Config{Store: db, Clock: func() time.Time { return said }})
	require.NoError(t, err)
	for _, m := range []struct{ user, session, id, text string }{
		{"ann", "s1", "m1", "I must not eat peanuts."}, {"ann", "s1", "m2", "我住在杭州，每天早上喝龙井茶"}, {"ann", "s2", "m3", "My dog is \x1b[31mRex."},
		{"李雷", "s1", "m1", "我对花生过敏"},
	} {
		scope := backends.Scope{UserID: m.user, SessionID: m.session}
		p, err := scope.Speaker()
		require.NoError(t, err)
		message := backends.Message{ID: m.id, Turn: m.id, Time: said, Message: schema.UserMessage(m.text)}
		_, err = db.Append(ctx, p, m.session, &store.Append{Scope: scope, Entries: []store.Entry{{Message: message, Done: true}}, Learnt: true})
		require.NoError(t, err)
		_, err = b.Add(ctx, &backends.AddRequest{Scope: scope, Messages: []backends.Message{message}})
		require.NoError(t, err)
	}
	require.NoError(t, b.Close(ctx))
	require.NoError(t, db.Close())
	return at
}

// calls runs the program, which must end with the code, and returns what it printed.
func calls(t *testing.T, code int, db string, args ...string) string {
	t.Helper()
	var out, errout bytes.Buffer
	got := run(t.Context(), append([]string{"-store", db}, args...), &out, &errout)
	require.Equal(t, code, got, "%v: %s%s", args, out.String(), errout.String())
	if code == 0 {
		require.Regexp(t, `^((there is nothing to show|nothing was changed).*\n)?$`, errout.String(), "and no progress where there is no terminal")
		return out.String()
	}
	return out.String() + errout.String()
}

// idOf returns the id of a memory by its text.
func idOf(t *testing.T, db, user, text string) string {
	t.Helper()
	for line := range strings.Lines(calls(t, 0, db, "list", "-user", user, "-json")) {
		var m backends.Memory
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		if strings.Contains(m.Text, text) {
			return m.ID
		}
	}
	t.Fatalf("no memory of %s says %q", user, text)
	return ""
}

func TestAPersonGoesRound(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		file := filepath.Join(t.TempDir(), "ann.jsonl")
		peanuts := idOf(t, db, "ann", "peanuts")
		before := []string{"list", "-user", "ann", "-json"}
		listed, shown := calls(t, 0, db, before...), calls(t, 0, db, "show", peanuts, "-user", "ann")
		require.Contains(t, shown, `"text": "I must not eat peanuts."`)
		others := calls(t, 0, db, "list", "-user", "李雷", "-json")

		require.Contains(t, calls(t, 0, db, "export", "-user", "ann", file), `"records": 3`)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "for its owner alone")
		require.Contains(t, calls(t, 1, db, "export", "-user", "ann", file), "file exists", "an export of before stays")

		require.Contains(t, calls(t, 0, db, "forget", "-user", "ann"), `"dry_run": true`)
		require.Equal(t, listed, calls(t, 0, db, before...), "without -yes nothing is erased")
		require.Contains(t, calls(t, 0, db, "-user", "ann", "forget", "-yes"), `"sessions": 2`)
		require.Empty(t, calls(t, 0, db, "search", "peanuts", "-user", "ann"))
		require.Empty(t, calls(t, 0, db, before...))
		require.Contains(t, calls(t, 1, db, "show", peanuts, "-user", "ann"), "not found")
		require.Contains(t, calls(t, 1, db, "history", peanuts, "-user", "ann"), "not found")
		require.Equal(t, others, calls(t, 0, db, "list", "-user", "李雷", "-json"))
		none := filepath.Join(t.TempDir(), "none.jsonl")
		require.Contains(t, calls(t, 1, db, "export", "-user", "ann", none), "nothing is held of user ann")
		require.NoFileExists(t, none)

		require.Contains(t, calls(t, 0, db, "import", file, "-json", "-yes"), `"records":3`)
		require.Equal(t, listed, calls(t, 0, db, before...))
		require.Equal(t, shown, calls(t, 0, db, "show", peanuts, "-user", "ann"))
		require.Contains(t, calls(t, 0, db, "search", "-user", "ann", "-limit", "1", "what must she not eat?"), peanuts)
		require.Contains(t, calls(t, 0, db, "search", "-user", "ann", "茶"), "龙井茶")
		require.Contains(t, calls(t, 0, db, "history", peanuts, "-user", "ann"), "added  verbatim  I must not eat peanuts.")
		require.Contains(t, calls(t, 0, db, "import", file, "-yes"), `"records": 0`, "a repeat writes nothing")
	})
}

func TestPartsAreForgotten(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		require.Contains(t, calls(t, 0, db, "list", "-user", "ann", "-session", "s1"), "m2  2026-03-02T09:00:00Z  user  我住在杭州")
		require.Contains(t, calls(t, 0, db, "forget", "-user", "ann", "-session", "s1", "-message", "m1", "-yes"), `"messages": 1`)
		left := calls(t, 0, db, "list", "-user", "ann")
		require.NotContains(t, left, "peanuts")
		require.Contains(t, left, "龙井茶")
		require.NotContains(t, calls(t, 0, db, "list", "-user", "ann", "-session", "s1"), "peanuts")

		require.Contains(t, calls(t, 0, db, "forget", "-user", "ann", "-session", "s1", "-yes", "-json"), `"sessions":1`)
		require.NotContains(t, calls(t, 0, db, "list", "-user", "ann"), "龙井茶")
		require.NotContains(t, calls(t, 0, db, "list", "-user", "ann", "-sessions"), "s1")

		require.Contains(t, calls(t, 0, db, "forget", "-user", "ann", "-to", "2026-03-02", "-yes"), `"memories": 0`)
		require.Contains(t, calls(t, 0, db, "forget", "-user", "ann", "-from", "2026-03-02", "-to", "2026-03-02T10:00:00Z", "-yes"), `"memories": 1`)
		require.Empty(t, calls(t, 0, db, "list", "-user", "ann"))
		require.NotEmpty(t, calls(t, 0, db, "list", "-user", "李雷"))
	})
}

func TestWhatASessionTaughtIsTakenBack(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		before := calls(t, 0, db, "list", "-user", "ann", "-all")
		listed := calls(t, 0, db, "undo", "-user", "ann", "-session", "s1", "-message", "m1")
		require.Contains(t, listed, "deleted")
		require.Contains(t, listed, "peanuts")
		require.Contains(t, listed, `"dry_run": true`)
		require.Equal(t, before, calls(t, 0, db, "list", "-user", "ann", "-all"))
		require.Contains(t, calls(t, 1, db, "undo", "-user", "ann", "-message", "m1"), "name a session or a source")
		require.Contains(t, calls(t, 0, db, "undo", "-user", "ann", "-session", "s1", "-message", "m1", "-yes", "-json"), `"outcome":"deleted"`)
		require.NotContains(t, calls(t, 0, db, "list", "-user", "ann"), "peanuts")
		require.Contains(t, calls(t, 0, db, "list", "-user", "ann"), "龙井茶")
		require.Contains(t, calls(t, 0, db, "undo", "-user", "ann", "-session", "s1", "-message", "m1", "-yes"), `"memories": 0`)
	})
}

func TestAMemoryIsDeletedOrErased(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		peanuts, tea := idOf(t, db, "ann", "peanuts"), idOf(t, db, "ann", "杭州")
		require.JSONEq(t, `{"dry_run":true,"deleted":"`+peanuts+`","erased":false,"text":"I must not eat peanuts."}`, calls(t, 0, db, "delete", "-user", "ann", peanuts))
		require.JSONEq(t, `{"deleted":"`+peanuts+`","erased":false,"text":"I must not eat peanuts."}`, calls(t, 0, db, "delete", "-user", "ann", peanuts, "-yes"))
		require.NotContains(t, calls(t, 0, db, "search", "-user", "ann", "peanuts"), "peanuts")
		require.Contains(t, calls(t, 0, db, "history", "-user", "ann", peanuts), "deleted")
		require.Contains(t, calls(t, 0, db, "list", "-user", "ann", "-session", "s1"), "peanuts", "the conversation stays")

		calls(t, 0, db, "delete", "-user", "ann", tea, "-erase", "-yes")
		calls(t, 1, db, "history", "-user", "ann", tea)
		require.NotContains(t, calls(t, 0, db, "list", "-user", "ann", "-session", "s1"), "杭州")
		calls(t, 1, db, "delete", "-user", "ann", "no-such", "-yes")
	})
}

func TestATransferHoldsTheSame(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		to := filepath.Join(t.TempDir(), "copy.db")
		require.Contains(t, calls(t, 0, "none", "transfer", db, to, "-user", "李雷", "-yes"), "user 李雷  1         1         1         0")
		require.NotContains(t, calls(t, 0, to, "list"), "ann")
		require.Contains(t, calls(t, 0, "none", "transfer", db, to, "-yes"), "user ann")
		for _, look := range []string{"list -user ann", "list -user 李雷 -session s1", "stats -user ann"} {
			args := append(strings.Fields(look), "-json")
			require.Equal(t, calls(t, 0, db, args...), calls(t, 0, to, args...))
		}
		calls(t, 0, to, "forget", "-user", "李雷", "-session", "s1", "-yes")
		calls(t, 0, db, "check")
		require.Contains(t, calls(t, 1, "none", "transfer", filepath.Join(t.TempDir(), "none.db"), to), "there is no memory file")
	})
}

func TestARetentionSaysWhatWouldGo(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		before := calls(t, 0, db, "stats", "-json")
		require.Contains(t, calls(t, 0, db, "retain", "-older-than", "1", "-json"), `"older":4`)
		require.NotContains(t, calls(t, 0, db, "retain", "-older-than", "1", "-kind", "fact", "-json"), "older")
		require.NotContains(t, calls(t, 0, db, "retain", "-older-than", "36500", "-json"), "older")
		require.Equal(t, before, calls(t, 0, db, "stats", "-json"))
		require.Contains(t, calls(t, 2, db, "retain", "-yes"), "name a rule")
		require.Contains(t, calls(t, 0, db, "retain", "-yes", "-at-most", "1", "-json"), `"surplus":2`)
		require.Contains(t, calls(t, 0, db, "stats", "-user", "ann"), "user ann  1     0 ")
	})
}

func TestAPlanIsPrintedDoneAndTakenBack(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	on(t, func(t *testing.T, at string) {
		db, err := open(t.Context(), at, false)
		require.NoError(t, err)
		b, err := mem0.New(t.Context(), &mem0.Config{Store: db})
		require.NoError(t, err)
		for i, said := range []string{"Ann is allergic to nuts.", "Ann likes chess.", "Ann likes rowing."} {
			_, err := b.Remember(t.Context(), backends.Scope{UserID: "ann"}, said, func(r *backends.AddRequest) { r.Messages[0].Time = said0(i) })
			require.NoError(t, err)
		}
		_, err = b.Update(t.Context(), &backends.UpdateRequest{Scope: backends.Scope{UserID: "ann"}, ID: idOf(t, at, "ann", "rowing"), Text: ptr("Ann likes chess")})
		require.NoError(t, err)
		require.NoError(t, b.Close(t.Context()))
		require.NoError(t, db.Close())

		facts := func() int {
			return strings.Count(calls(t, 0, at, "list", "-user", "ann", "-kind", "fact", "-json"), "\n")
		}
		require.Equal(t, 3, facts())
		require.Contains(t, calls(t, 0, at, "reflect", "-user", "ann"), "1. merge (duplicates): the same words")
		require.Contains(t, calls(t, 0, at, "reflect", "-user", "ann", "-rule", "duplicates"), "1. merge")
		require.Equal(t, 3, facts())
		file := filepath.Join(t.TempDir(), "plan.json")
		require.NoError(t, os.WriteFile(file, []byte(calls(t, 0, at, "reflect", "-user", "ann", "-json")), 0o600))
		require.Contains(t, calls(t, 2, at, "reflect", "-user", "bob", "-plan", file), "the plan is about user ann")
		var applied struct{ Plan string }
		require.NoError(t, json.Unmarshal([]byte(calls(t, 0, at, "reflect", "-user", "ann", "-plan", file, "-json", "-yes")), &applied))
		require.Equal(t, 2, facts())
		require.Contains(t, calls(t, 0, at, "undo", "-user", "ann", applied.Plan), `"done": 1`)
		require.Equal(t, 2, facts())
		require.Contains(t, calls(t, 0, at, "undo", "-user", "ann", applied.Plan, "-yes"), `"done": 1`)
		require.Equal(t, 3, facts())
		require.Contains(t, calls(t, 1, at, "undo", "-user", "ann", applied.Plan), "not found")
		require.Contains(t, calls(t, 0, at, "reflect", "-user", "ann", "-yes"), `"done": 1`)
		require.Contains(t, calls(t, 1, at, "reflect", "-user", "ann", "-rule", "magic"), "duplicates")
		calls(t, 2, at, "reflect")
	})
}

func ptr[T any](v T) *T { return &v }

// said0 is when the n-th fact was noted down.
func said0(n int) time.Time { return said.Add(time.Duration(n) * time.Hour) }

func TestDamageIsFound(t *testing.T) {
	server := miniredis.RunT(t)
	db := talked(t, "redis://"+server.Addr())
	require.Contains(t, calls(t, 0, db, "check"), `"findings": 0`)
	server.Del("{em:default:user:ann}:chg")
	require.Regexp(t, `user ann +.*:chg`, calls(t, 3, db, "check"))
	require.Contains(t, calls(t, 0, db, "reindex"), ":chg")
	require.Contains(t, calls(t, 3, db, "check"), ":chg")
	require.Contains(t, calls(t, 0, db, "reindex", "-yes"), "user ann")
	calls(t, 0, db, "check")

	file := talked(t, filepath.Join(t.TempDir(), "memory.db"))
	require.Contains(t, calls(t, 0, file, "check", "-json"), `"findings":0`)
	require.Contains(t, calls(t, 1, file, "reindex"), "an SQLite file derives nothing")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	at := bytes.Index(content, []byte("must not eat"))
	require.Positive(t, at)
	copy(content[at:], "may well eat")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	require.Contains(t, calls(t, 3, file, "check"), "damaged")
}

const lines = `{"workspace_id":"x","memory_id":"a1","memory_type":"task","when_to_use":"deleting a playlist","content":"look it up by its name first","score":0.0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:17","author":"m","metadata":{}}
{"workspace_id":"x","memory_id":"a2","memory_type":"task","when_to_use":"转账之前","content":"先核对余额","score":0.0,"time_created":"2025-07-24 21:15:18","time_modified":"2025-07-24 21:15:18","author":"m","metadata":{}}
`

func TestALibraryGoesRound(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		dir := t.TempDir()
		file, copied := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
		require.Contains(t, calls(t, 0, db, "library", "load", "app/世界", file, "-yes"), `"loaded": 2`)
		require.Contains(t, calls(t, 0, db, "search", "-workspace", "app/世界", "delete a playlist"), "look it up by its name first")
		require.Contains(t, calls(t, 0, db, "search", "-workspace", "app/世界", "转账"), "转账之前: 先核对余额")
		require.Empty(t, calls(t, 0, db, "search", "-workspace", "trial", "转账"), "another workspace")
		require.Contains(t, calls(t, 0, db, "library", "copy", "app/世界", "trial", "-json", "-yes"), `"loaded":2`)
		require.Contains(t, calls(t, 0, db, "list"), "workspace  trial")
		require.Contains(t, calls(t, 0, db, "library", "dump", "trial", copied), `"memories": 2`)
		require.Contains(t, calls(t, 0, db, "history", "-workspace", "trial", "a1"), "added  library")
		require.Contains(t, calls(t, 0, db, "forget", "-workspace", "trial"), `"memories": 2`)
		require.Contains(t, calls(t, 0, db, "list"), "trial")
		require.Contains(t, calls(t, 0, db, "forget", "-workspace", "trial", "-yes"), `"memories": 2`)
		require.NotContains(t, calls(t, 0, db, "list"), "trial")
		require.Contains(t, calls(t, 0, db, "library", "load", "-merge", "app/世界", copied, "-yes"), `"removed": 0`)

		require.NoError(t, os.WriteFile(file, []byte(lines+"no memory\n"), 0o600))
		require.Contains(t, calls(t, 1, db, "library", "load", "app/世界", file), "line 3")
	})
}

func TestWrongCommandLines(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		for args, says := range map[string]string{
			"": "is no command", "frobnicate": `"frobnicate" is no command`, "help frob": "frob", "frob -help": "frob", "library": "einomem library alone is no command", "mcp": "mcp: name whose memory it is by -user or -workspace", "library frob": `"frob" is no command`,
			"list -nonsense": "-nonsense", "show -user ann": "0 arguments: use einomem show ID", "import": "use einomem import FILE", "show a b -user ann": "2 arguments", "stats x": "1 arguments: use einomem stats, and see",
			"list -user a*b": "'*'", "list -user ann -agent b": "-workspace\n", "show a": "name one by", "list -sessions": "name one by", "import f -user ann": "about nobody",
			"forget -user ann -from yesterday": "yesterday",
			"search -user ann -limit x q":      "-limit",
		} {
			require.Contains(t, calls(t, 2, db, strings.Fields(args)...), says, args)
		}
		for args, says := range map[string]string{
			"forget -user ann -message m -yes": "name their session", "forget -agent b -session s -yes": "of users alone", "import none.jsonl": "no such file", "list -user ann -session none": "not found", "list -namespace *": "'*'",
			"search -user ann -limit 5000 q": "1000", "export -user ann none/out.jsonl": "no such file", "history -user ann none": "not found",
		} {
			require.Contains(t, calls(t, 1, db, strings.Fields(args)...), says, args)
		}
	})
	require.Contains(t, calls(t, 1, filepath.Join(t.TempDir(), "none.db"), "list"), "there is no memory file")
	server := miniredis.RunT(t)
	gone := "redis://" + server.Addr()
	server.Close()
	require.Contains(t, calls(t, 1, gone, "list"), "cannot be reached")
	require.Contains(t, calls(t, 0, "none.db", "forget", "-help"), "-session")
}

func TestEveryAnswerIsJSON(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		id := idOf(t, db, "ann", "peanuts")
		for args, least := range map[string]int{
			"stats": 2, "list": 2, "list -user ann": 3, "list -user ann -sessions": 2, "list -user ann -session s1": 2, "show -user ann " + id: 1,
			"search -user ann peanuts": 1, "history -user ann " + id: 1, "check": 1, "retain -older-than 1": 1,
		} {
			got := slices.Collect(strings.Lines(calls(t, 0, db, append(strings.Fields(args), "-json")...)))
			require.GreaterOrEqual(t, len(got), least, args)
			for _, line := range got {
				var object map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &object), args)
				require.NotEmpty(t, object, args)
			}
		}
	})
}

func TestTablesAreHarmless(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		require.NotContains(t, calls(t, 0, db, "list", "-user", "ann"), "\x1b")
		require.NotContains(t, calls(t, 0, db, "show", "-user", "ann", idOf(t, db, "ann", "Rex")), "\x1b")
	})
}

func TestAuditFindsWhatIsWrong(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "memory.db")
	db, err := open(ctx, path, true)
	require.NoError(t, err)
	taught := backends.Origin{MessageIDs: []string{"m1"}, Author: "model"}
	put := func(id, text string, kind backends.Kind, o backends.Origin) store.Mutation {
		return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: kind, Text: text, Origin: o, Created: said, Updated: said}})
	}
	expired := put("over", "had a cold", backends.KindFact, taught)
	expired.Record.Expires = said.Add(time.Hour)
	p := backends.Partition{Namespace: "default", Kind: backends.PartitionAgent, ID: "bot"}
	for _, b := range [][]store.Mutation{{
		put("1", "Likes green tea.", backends.KindFact, taught), put("2", "likes Green Tea", backends.KindFact, taught),
		put("3", "likes green tea", backends.KindEpisode, taught), // a turn does not repeat a fact
		put("4", "…!", backends.KindEpisode, taught),
		put("6", "lives in Rome", backends.KindFact, backends.Origin{}), put("8", "住在北京", backends.KindFact, taught), expired,
		put("9", "wrong", backends.KindFact, taught), store.Retract("9", said),
	}, {store.Supersede("8", put("10", "住在上海", backends.KindFact, taught).Record)}} {
		_, err = db.Apply(ctx, p, &store.Batch{Mutations: b})
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	require.Equal(t, `WHOSE      FINDING    ID  TEXT
agent bot  duplicate  2   likes Green Tea
agent bot  junk       4   …!
agent bot  unsourced  6   lives in Rome
`, calls(t, 0, path, "audit", "-agent", "bot"))
	require.Contains(t, calls(t, 0, path, "stats"), "agent bot  6     3      0")
	require.Contains(t, calls(t, 0, path, "list", "-agent", "bot", "-all", "-kind", "fact"), "false  住在北京")
	require.Contains(t, calls(t, 0, path, "audit", "-json"), `"memory":"2","finding":"duplicate"`)
	require.Empty(t, calls(t, 0, path, "audit", "-namespace", "other"))
}
