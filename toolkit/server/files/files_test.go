// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/files"
)

var (
	ann = backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}
	bob = backends.Scope{UserID: "bob"}
)

func on(t require.TestingT, st store.Records, change ...func(*files.Config)) *files.Files {
	cfg := &files.Config{Records: st, Scope: func(ctx context.Context) (backends.Scope, error) {
		s, _ := backends.ScopeFrom(ctx)
		return s, nil
	}}
	for _, f := range change {
		f(cfg)
	}
	f, err := files.New(cfg)
	require.NoError(t, err)
	return f
}

func do(t require.TestingT, f *files.Files, s backends.Scope, c files.Command) string {
	out, err := f.Do(context.Background(), s, &c)
	require.NoError(t, err)
	return out
}

// refused checks that a command is refused as the sort of error, with a text.
func refused(t require.TestingT, f *files.Files, s backends.Scope, sort error, says string, c files.Command) {
	out, err := f.Do(context.Background(), s, &c)
	require.ErrorIs(t, err, sort, "%+v: %s", c, out)
	require.ErrorContains(t, err, says)
}

func create(path, text string) files.Command {
	return files.Command{Command: "create", Path: path, FileText: text}
}
func view(path string, lines ...int) files.Command {
	return files.Command{Command: "view", Path: path, ViewRange: lines}
}
func replace(path, old, text string) files.Command {
	return files.Command{Command: "str_replace", Path: path, OldStr: old, NewStr: text}
}
func insert(path string, line int, text string) files.Command {
	return files.Command{Command: "insert", Path: path, InsertLine: line, InsertText: text}
}
func remove(path string) files.Command { return files.Command{Command: "delete", Path: path} }
func rename(path, to string) files.Command {
	return files.Command{Command: "rename", OldPath: path, NewPath: to}
}

func TestCommands(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, _ *testkit.Clock) {
		f := on(t, db)
		assert.Equal(t, "The files and directories in /memories, two levels deep, with their sizes:\n0.0K\t/memories", do(t, f, ann, view("/memories")))
		assert.Equal(t, "File created: /memories/notes.md", do(t, f, ann, create("/memories/notes.md", "one\ntwo\nthree\n")))
		do(t, f, ann, create("/memories/work/a/b/deep.md", strings.Repeat("x", 1024)))
		assert.Equal(t, "The files and directories in /memories, two levels deep, with their sizes:\n1.1K\t/memories\n0.1K\t/memories/notes.md\n1.0K\t/memories/work\n1.0K\t/memories/work/a",
			do(t, f, ann, view("/memories/")))
		assert.Equal(t, "The files and directories in /memories/work/a, two levels deep, with their sizes:\n1.0K\t/memories/work/a\n1.0K\t/memories/work/a/b\n1.0K\t/memories/work/a/b/deep.md",
			do(t, f, ann, view("/memories/work/a")))

		assert.Equal(t, "The file /memories/notes.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree", do(t, f, ann, view("/memories/notes.md")))
		assert.Equal(t, "The file /memories/notes.md with line numbers:\n     2\ttwo\n     3\tthree", do(t, f, ann, view("/memories/notes.md", 2, -1)))
		assert.Equal(t, "The file /memories/notes.md with line numbers:\n     2\ttwo", do(t, f, ann, view("/memories/notes.md", 2, 2)))
		for _, lines := range [][]int{{1}, {0, 2}, {4, 5}, {3, 2}, {1, 2, 3, 4, 5}, {1, -2}} {
			refused(t, f, ann, backends.ErrInvalid, "has 3 lines", view("/memories/notes.md", lines...))
		}

		assert.Equal(t, "Edited: /memories/notes.md. Around the change it has now:\n     1\tone\n     2\tTWO\n     3\tthree",
			do(t, f, ann, replace("/memories/notes.md", "two", "TWO")))
		assert.Equal(t, "Edited: /memories/notes.md. Around the change it has now:\n     1\tzero\n     2\tone\n     3\tTWO\n     4\tthree",
			do(t, f, ann, insert("/memories/notes.md", 0, "zero")))
		do(t, f, ann, replace("/memories/notes.md", "zero\n", ""))
		refused(t, f, ann, backends.ErrInvalid, "does not occur in the file", replace("/memories/notes.md", "four", ""))
		refused(t, f, ann, backends.ErrInvalid, "occurs more than once, in line 1 and in line 3", replace("/memories/notes.md", "e", ""))
		refused(t, f, ann, backends.ErrInvalid, "old_str is empty", replace("/memories/notes.md", "", "x"))
		refused(t, f, ann, backends.ErrInvalid, "the file has 3 lines", insert("/memories/notes.md", 4, "x"))
		refused(t, f, ann, backends.ErrInvalid, "insert_line is -1", insert("/memories/notes.md", -1, "x"))
		refused(t, f, ann, backends.ErrNotFound, "there is no file /memories/none", insert("/memories/none", 0, "x"))
		refused(t, f, ann, backends.ErrNotFound, "there is no file /memories/work", replace("/memories/work", "x", "y"))
		refused(t, f, ann, backends.ErrNotFound, "there is no file /memories/none", view("/memories/none"))

		for _, path := range []string{"/memories/notes.md", "/memories/notes.md/below", "/memories/work", "/memories/work/a"} {
			refused(t, f, ann, backends.ErrInvalid, "exists already", create(path, "again"))
			refused(t, f, ann, backends.ErrInvalid, "exists already", rename("/memories/work/a/b/deep.md", path))
		}
		assert.Equal(t, "Renamed: /memories/work is now /memories/play/all", do(t, f, ann, rename("/memories/work", "/memories/play/all")))
		do(t, f, ann, view("/memories/play/all/a/b/deep.md"))
		refused(t, f, ann, backends.ErrNotFound, "no file", rename("/memories/work", "/memories/x"))
		assert.Equal(t, "Deleted: /memories/play", do(t, f, ann, remove("/memories/play")))
		refused(t, f, ann, backends.ErrNotFound, "no file", remove("/memories/play"))
		assert.Equal(t, "The files and directories in /memories, two levels deep, with their sizes:\n0.1K\t/memories\n0.1K\t/memories/notes.md", do(t, f, ann, view("/memories")))
		for _, c := range []files.Command{remove("/memories"), rename("/memories", "/memories/x"), create("/memories", "x")} {
			refused(t, f, ann, backends.ErrInvalid, "/memories itself stays as it is", c)
		}
		refused(t, f, ann, backends.ErrInvalid, `the command is "undo"`, files.Command{Command: "undo", Path: "/memories/notes.md"})
	})
}

func TestPathsThatAreRefused(t *testing.T) {
	f := on(t, testkit.SQLite(t))
	for _, path := range []string{
		"", "/", "memories/x", "/memoriesx", "/memory/x", "/etc/passwd", "//memories/x", "/memories//x", "/memories/x/", "/memories/../x", "/memories/x/..", "/memories/./x",
		"/memories/.hidden", "/memories/...", "/memories/a/.git/config", "/memories/%2e%2e/x", "/memories/a%2Fb", "/memories/%00", `/memories/..\x`, `\memories\x`, "/memories/a\x00b",
		"/memories/a\nb", "/memories/a\u200bb", "/memories/a\u202eb", "/memories/a\u00a0b", "/memories/ a", "/memories/a ", "/memories/a /b", "/memories/a\xffb", "/memories/\xef\xbf",
		"/memories/" + strings.Repeat("a", 300), "/memories" + strings.Repeat("/a", 9), "C:/memories/x", "file:///memories/x", "/MEMORIES/x", " /memories/x",
	} {
		for _, c := range []files.Command{create(path, "x"), replace(path, "a", "b"), insert(path, 0, "x"), remove(path), rename(path, "/memories/ok"), rename("/memories/core2", path)} {
			refused(t, f, ann, backends.ErrInvalid, "is no path here", c)
		}
		if path != "/memories/x/" { // a directory may be written so
			refused(t, f, ann, backends.ErrInvalid, "is no path here", view(path))
		}
	}
	for _, path := range []string{"/memories/a..b", "/memories/100%", "/memories/50% off", "/memories/a／b", "/memories/笔记.md", "/memories/a b", "/memories/~", "/memories/*", "/memories/core.md", "/memories" + strings.Repeat("/a", 8)} {
		do(t, f, ann, create(path, path))
		assert.Contains(t, do(t, f, ann, view(path)), "1\t"+path)
	}
}

// FuzzPaths checks that no path that is taken can mean another file than its text says.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{"/memories/a", "/memories/../a", "/memories/%2e%2e/a", "/memories/a\x00", `/memories/a\b`, "/memories/core/x", "/memories//"} {
		f.Add(path)
	}
	tree := on(f, testkit.SQLite(f))
	f.Fuzz(func(t *testing.T, path string) {
		c := create(path, "x")
		if _, err := tree.Do(context.Background(), ann, &c); err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.True(t, utf8.ValidString(strings.ToValidUTF8(err.Error(), "?")))
			return
		}
		require.True(t, strings.HasPrefix(path, "/memories/") && utf8.ValidString(path) && len(path) <= 300)
		for _, name := range strings.Split(path, "/")[1:] {
			require.False(t, name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "\\\x00\n"), path)
		}
		do(t, tree, ann, remove(path))
	})
}

func TestLimits(t *testing.T) {
	db := testkit.SQLite(t)
	f := on(t, db)
	do(t, f, ann, create("/memories/full", strings.Repeat("安", 100_000)))
	refused(t, f, ann, backends.ErrInvalid, "more than 100000 characters", insert("/memories/full", 0, "x"))
	refused(t, f, ann, backends.ErrInvalid, "more than 100000 characters", create("/memories/over", strings.Repeat("a", 100_000+1)))

	do(t, f, ann, create("/memories/long", strings.Repeat(strings.Repeat("b", 99)+"\n", 900)))
	out := do(t, f, ann, view("/memories/long"))
	assert.Less(t, len(out), 40_000)
	assert.True(t, strings.HasSuffix(out, "(there is more: view it with view_range [300, -1])"))
	assert.Less(t, utf8.RuneCountInString(do(t, f, ann, view("/memories/full"))), 40_000)
}

func TestEachScopeHasItsOwn(t *testing.T) {
	f := on(t, testkit.SQLite(t))
	scopes := []backends.Scope{ann, bob, {AgentID: "ann"}, {Workspace: "ann"}, {Namespace: "other", UserID: "ann"}}
	for i, s := range scopes {
		do(t, f, s, create("/memories/mine", fmt.Sprint("of ", i)))
	}
	for i, s := range scopes {
		assert.Contains(t, do(t, f, s, view("/memories/mine")), fmt.Sprint("of ", i))
	}
	assert.Contains(t, do(t, f, backends.Scope{UserID: "ann", Workspace: "w", SessionID: "s9"}, view("/memories/mine")), "of 0", "a user's files are the same everywhere")
	do(t, f, bob, remove("/memories/mine"))
	assert.Contains(t, do(t, f, ann, view("/memories")), "/memories/mine")
	refused(t, f, backends.Scope{SessionID: "s"}, backends.ErrNoScope, "no scope", view("/memories"))
	refused(t, f, backends.Scope{UserID: "*"}, backends.ErrInvalid, "user id", view("/memories"))
	_, err := files.New(nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestSecretsDoNotReachAWorkspace(t *testing.T) {
	f := on(t, testkit.SQLite(t))
	team := backends.Scope{Workspace: "team"}
	do(t, f, team, create("/memories/contact", "write to ann@example.com"))
	do(t, f, team, insert("/memories/contact", 1, "password: hunter2hunter2"))
	assert.NotRegexp(t, "ann@example|hunter2", do(t, f, team, view("/memories/contact")))
	refused(t, f, team, backends.ErrInvalid, "the path has a secret", create("/memories/ann@example.com", "x"))
	do(t, f, ann, create("/memories/contact", "write to ann@example.com"))
	assert.Contains(t, do(t, f, ann, view("/memories/contact")), "ann@example.com")

	own := on(t, testkit.SQLite(t), func(c *files.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "secret", "…") }
	})
	do(t, own, ann, create("/memories/a", "a secret"))
	do(t, own, ann, replace("/memories/a", "a", "one secret"))
	assert.Contains(t, do(t, own, ann, view("/memories/a")), "one … …")
}

func TestCoreBlocksAreFiles(t *testing.T) {
	db := testkit.SQLite(t)
	blocks, err := core.New(&core.Config{Records: db, Blocks: []core.Block{
		{Name: "human", Limit: 30}, {Name: "persona", Owner: backends.PartitionAgent, Initial: "Be kind.", ReadOnly: true}, {Name: "house", Owner: backends.PartitionWorkspace},
	}})
	require.NoError(t, err)
	f := on(t, db, func(c *files.Config) { c.Blocks = blocks })
	assert.Equal(t, "The files and directories in /memories, two levels deep, with their sizes:\n0.1K\t/memories\n0.1K\t/memories/core\n0.0K\t/memories/core/human\n0.1K\t/memories/core/persona",
		do(t, f, ann, view("/memories")), "the workspace's block is not of this scope")
	assert.Contains(t, do(t, f, ann, view("/memories/core/persona")), "1\tBe kind.")
	do(t, f, ann, insert("/memories/core/human", 0, "Lives in Rome."))
	do(t, f, ann, insert("/memories/core/human", 1, "Has a cat."))
	do(t, f, ann, replace("/memories/core/human", "Rome", "Oslo"))
	values, err := blocks.Get(t.Context(), ann)
	require.NoError(t, err)
	assert.Equal(t, "Lives in Oslo.\nHas a cat.", values[0].Text)
	refused(t, f, ann, backends.ErrInvalid, "its limit is 30", insert("/memories/core/human", 2, "And a dog, too."))
	refused(t, f, ann, backends.ErrInvalid, "read-only", replace("/memories/core/persona", "kind", "rude"))
	refused(t, f, ann, backends.ErrNotFound, "there is no file", replace("/memories/core/house", "a", "b"))
	for _, c := range []files.Command{
		create("/memories/core/more", ""), create("/memories/core", ""), create("/memories/core/human/x", ""), remove("/memories/core"), remove("/memories/core/human"),
		rename("/memories/core/human", "/memories/x"), rename("/memories/core", "/memories/x"),
	} {
		refused(t, f, ann, backends.ErrInvalid, "str_replace and insert edit them", c)
	}
	do(t, f, ann, create("/memories/a", "x"))
	refused(t, f, ann, backends.ErrInvalid, "str_replace and insert edit them", rename("/memories/a", "/memories/core/a"))
	refused(t, on(t, db), ann, backends.ErrInvalid, "are the program's", create("/memories/core/x", ""))
	events, err := f.History(t.Context(), ann, "/memories/core/human")
	require.NoError(t, err)
	assert.Len(t, events, 3)
}

func TestOldTextsCanBeReached(t *testing.T) {
	f := on(t, testkit.SQLite(t))
	do(t, f, ann, create("/memories/a", "one"))
	do(t, f, ann, replace("/memories/a", "one", "two"))
	do(t, f, ann, remove("/memories/a"))
	var seen []string
	events, err := f.History(t.Context(), ann, "/memories/a")
	require.NoError(t, err)
	for _, e := range events {
		seen = append(seen, fmt.Sprintf("%s by %s: %s -> %s", e.Type, e.Actor, e.Old, e.New))
	}
	assert.Equal(t, []string{"added by helper:  -> one", "updated by helper: one -> two", "deleted by helper: two -> "}, seen)
	events, err = f.History(t.Context(), bob, "/memories/a")
	require.NoError(t, err)
	assert.Empty(t, events)
	_, err = f.History(t.Context(), ann, "/memories/../a")
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = f.History(t.Context(), backends.Scope{}, "/memories/a")
	require.ErrorIs(t, err, backends.ErrNoScope)
}

// Files are not found by a search, go with what is forgotten, and come along with an export.
func TestFilesBesideMemories(t *testing.T) {
	db, other := testkit.SQLite(t), testkit.SQLite(t)
	memories, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	f := on(t, db)
	_, err = memories.Add(t.Context(), &backends.AddRequest{Scope: ann, Verbatim: true, Messages: testkit.User("I grow zebra plants.")})
	require.NoError(t, err)
	do(t, f, ann, create("/memories/plants", "zebra zebra zebra"))
	found, err := memories.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "zebra"})
	require.NoError(t, err)
	require.Len(t, found.Hits, 1)
	assert.Equal(t, "I grow zebra plants.", found.Hits[0].Text)

	p, err := ann.Partition(backends.PartitionUser)
	require.NoError(t, err)
	_, err = store.Transfer(t.Context(), db, other, p)
	require.NoError(t, err)
	assert.Contains(t, do(t, on(t, other), ann, view("/memories/plants")), "zebra zebra")

	session := "s1"
	_, err = store.Forget(t.Context(), db, p, &backends.Part{Session: &session})
	require.NoError(t, err)
	assert.NotContains(t, do(t, f, ann, view("/memories")), "plants")
	do(t, f, ann, create("/memories/again", "x"))
	_, err = store.Forget(t.Context(), db, p, nil)
	require.NoError(t, err)
	assert.NotContains(t, do(t, f, ann, view("/memories")), "again")
	events, err := f.History(t.Context(), ann, "/memories/again")
	require.NoError(t, err)
	assert.Empty(t, events)
}

// Edits of one file between another's read and write are not lost.
func TestTwoAgentsBetweenReadAndWrite(t *testing.T) {
	st := testkit.SQLite(t)
	slow := testkit.Spy(st)
	first, second := on(t, slow), on(t, st)
	meanwhile := func(c files.Command) {
		done := false
		slow.Arm(func(call *testkit.StoreCall) error {
			if call.Method == "Apply" && !done {
				done = true
				do(t, second, ann, c)
			}
			return nil
		})
	}
	do(t, second, ann, create("/memories/a", "tea\n"))
	meanwhile(insert("/memories/a", 0, "first\n"))
	do(t, first, ann, replace("/memories/a", "tea", "coffee"))
	assert.Contains(t, do(t, second, ann, view("/memories/a")), "1\tfirst\n     2\tcoffee")

	meanwhile(replace("/memories/a", "coffee", "water"))
	refused(t, first, ann, backends.ErrInvalid, "does not occur", replace("/memories/a", "coffee", "milk"))
	meanwhile(remove("/memories/a"))
	refused(t, first, ann, backends.ErrNotFound, "there is no file", insert("/memories/a", 0, "x"))
	meanwhile(create("/memories/b", "theirs"))
	refused(t, first, ann, backends.ErrInvalid, "exists already", create("/memories/b", "mine"))
	meanwhile(replace("/memories/b", "theirs", "newer"))
	do(t, first, ann, rename("/memories/b", "/memories/c"))
	assert.Contains(t, do(t, second, ann, view("/memories/c")), "newer")
}

// Whatever is done in whatever order through two instances, the files are those of a map.
func TestFilesAreThoseOfAMap(t *testing.T) {
	st := testkit.SQLite(t)
	user := 0
	rapid.Check(t, func(t *rapid.T) {
		user++
		s := backends.Scope{UserID: fmt.Sprint("u", user)}
		trees := []*files.Files{on(t, st), on(t, st)}
		model := map[string]string{}
		name := rapid.SampledFrom([]string{"/memories/a", "/memories/b", "/memories/a/x", "/memories/a/y", "/memories/a/x/z", "/memories/b/x"})
		piece := rapid.StringMatching(`[ab安\n]{0,4}`)
		below := func(path string) (paths []string) {
			for p := range model {
				if p == path || strings.HasPrefix(p, path+"/") {
					paths = append(paths, p)
				}
			}
			return paths
		}
		taken := func(path string) bool {
			return len(below(path)) > 0 || slices.ContainsFunc(slices.Collect(maps.Keys(model)), func(p string) bool { return strings.HasPrefix(path, p+"/") })
		}
		// try carries out a command, which fails as want says; nil: it does not.
		try := func(t *rapid.T, c files.Command, want error) bool {
			_, err := trees[rapid.IntRange(0, 1).Draw(t, "tree")].Do(context.Background(), s, &c)
			require.True(t, want == nil && err == nil || want != nil && errors.Is(err, want), "%+v: %v, not %v", c, err, want)
			return err == nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				path, text := name.Draw(t, "path"), piece.Draw(t, "text")
				var want error
				if taken(path) {
					want = backends.ErrInvalid
				}
				if try(t, create(path, text), want) {
					model[path] = text
				}
			},
			"str_replace": func(t *rapid.T) {
				path, old, text := name.Draw(t, "path"), piece.Draw(t, "old"), piece.Draw(t, "new")
				before, ok := model[path]
				var want error
				switch {
				case !ok:
					want = backends.ErrNotFound
				case old == "" || !strings.Contains(before, old) || strings.Index(before, old) != strings.LastIndex(before, old):
					want = backends.ErrInvalid
				}
				if try(t, replace(path, old, text), want) {
					model[path] = strings.Replace(before, old, text, 1)
				}
			},
			"insert": func(t *rapid.T) {
				path, line, text := name.Draw(t, "path"), rapid.IntRange(-1, 4).Draw(t, "line"), piece.Draw(t, "text")
				before, ok := model[path]
				var lines []string
				if before != "" {
					lines = strings.Split(strings.TrimSuffix(before, "\n"), "\n")
				}
				var want error
				switch {
				case !ok:
					want = backends.ErrNotFound
				case line < 0 || line > len(lines):
					want = backends.ErrInvalid
				}
				if try(t, insert(path, line, text), want) {
					head, tail := strings.Join(lines[:line], "\n"), strings.Join(lines[line:], "\n")
					if line > 0 {
						head += "\n"
					}
					if line < len(lines) {
						text = strings.TrimSuffix(text, "\n") + "\n"
						if strings.HasSuffix(before, "\n") {
							tail += "\n"
						}
					}
					model[path] = head + text + tail
				}
			},
			"delete": func(t *rapid.T) {
				path := name.Draw(t, "path")
				var want error
				if len(below(path)) == 0 {
					want = backends.ErrNotFound
				}
				if try(t, remove(path), want) {
					for _, p := range below(path) {
						delete(model, p)
					}
				}
			},
			"rename": func(t *rapid.T) {
				path, to := name.Draw(t, "path"), name.Draw(t, "to")
				var want error
				switch {
				case taken(to):
					want = backends.ErrInvalid
				case len(below(path)) == 0:
					want = backends.ErrNotFound
				}
				if try(t, rename(path, to), want) {
					moved := map[string]string{}
					for _, p := range below(path) {
						moved[to+strings.TrimPrefix(p, path)] = model[p]
						delete(model, p)
					}
					maps.Copy(model, moved)
				}
			},
			"": func(t *rapid.T) {
				for path, text := range model {
					var want strings.Builder
					for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
						fmt.Fprintf(&want, "\n%6d\t%s", i+1, line)
					}
					require.Equal(t, "The file "+path+" with line numbers:"+want.String(), do(t, trees[0], s, view(path)))
				}
				for _, path := range []string{"/memories/a", "/memories/b/x", "/memories/a/x/z"} {
					_, isFile := model[path]
					out, err := trees[1].Do(context.Background(), s, &files.Command{Command: "view", Path: path})
					require.Equal(t, len(below(path)) > 0, err == nil)
					require.Equal(t, len(below(path)) > 0 && !isFile, strings.HasPrefix(out, "The files and directories in "+path))
				}
			},
		})
	})
}

func TestTheToolAnswersInText(t *testing.T) {
	spy := testkit.Spy(testkit.SQLite(t))
	var reported []error
	f := on(t, spy, func(c *files.Config) {
		c.OnError = func(_ context.Context, stage string, err error) {
			reported = append(reported, fmt.Errorf("%s: %w", stage, err))
		}
	})
	tools, err := f.Tools()
	require.NoError(t, err)
	memory := testkit.ByName(t, tools)["memory"]
	asAnn := backends.WithScope(t.Context(), ann)
	say := func(ctx context.Context, arguments string) string { return testkit.Use(t, ctx, memory, arguments) }

	assert.Equal(t, "File created: /memories/a", say(asAnn, `{"command":"create","path":"/memories/a","file_text":"x","user_id":"bob"}`))
	assert.Contains(t, say(backends.WithScope(t.Context(), bob), `{"command":"view","path":"/memories/a"}`), "Error: files: not found: there is no file", "the scope is that of the call")
	assert.Contains(t, say(asAnn, `{"command":"view","path":"/memories/a","view_range":"all"}`), "Error: invalid: the arguments cannot be read")
	assert.Contains(t, say(asAnn, `no json`), "Error: invalid: the arguments cannot be read")
	assert.Contains(t, say(backends.Incognito(asAnn), `{"command":"create","path":"/memories/b","file_text":"x"}`), "is not to be remembered")
	assert.Contains(t, say(backends.Incognito(asAnn), `{"command":"view","path":"/memories/a"}`), "1\tx")
	assert.Empty(t, reported, "what a model got wrong is no failure")

	spy.FailOn(fmt.Errorf("dial 10.0.0.7: %w", backends.ErrUnavailable), "Get", "Changes")
	out := say(asAnn, `{"command":"view","path":"/memories/a"}`)
	assert.Contains(t, out, "not available now")
	assert.NotContains(t, out, "10.0.0.7")
	require.Len(t, reported, 1)
	require.ErrorIs(t, reported[0], backends.ErrUnavailable)
	cancelled, cancel := context.WithCancel(asAnn)
	cancel()
	_, err = memory.InvokableRun(cancelled, `{"command":"view","path":"/memories/a"}`)
	require.ErrorIs(t, err, context.Canceled)
	_, err = on(t, spy, func(c *files.Config) { c.Scope = nil }).Tools()
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// An agent keeps notes in files, and corrects them.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	f, err := files.New(&files.Config{Records: db})
	if err != nil {
		panic(err)
	}
	scope := backends.Scope{UserID: "ann"}
	for _, c := range []files.Command{
		{Command: "create", Path: "/memories/trips/rome.md", FileText: "Hotel: Aurora\nTrain at 9:10\n"},
		{Command: "str_replace", Path: "/memories/trips/rome.md", OldStr: "9:10", NewStr: "10:40"},
		{Command: "str_replace", Path: "/memories/trips/rome.md", OldStr: "bus", NewStr: "taxi"},
		{Command: "view", Path: "/memories"},
	} {
		out, err := f.Do(ctx, scope, &c)
		fmt.Println(out)
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// File created: /memories/trips/rome.md
	// Edited: /memories/trips/rome.md. Around the change it has now:
	//      1	Hotel: Aurora
	//      2	Train at 10:40
	//
	// files: invalid: old_str does not occur in the file: view it, and copy the text exactly, without line numbers; nothing was changed
	// The files and directories in /memories, two levels deep, with their sizes:
	// 0.1K	/memories
	// 0.1K	/memories/trips
	// 0.1K	/memories/trips/rome.md
}

func TestTreeAndUpdate(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		ctx := context.Background()
		f := on(t, db)
		be := func(text string) func(string, bool) (string, error) {
			return func(string, bool) (string, error) { return text, nil }
		}
		paths := func(at string) (out []string) {
			found, err := f.Tree(ctx, ann, at)
			require.NoError(t, err)
			for _, one := range found {
				out = append(out, one.Path+"="+one.Text)
			}
			return out
		}
		assert.Empty(t, paths(files.Root))
		require.NoError(t, f.Update(ctx, ann, "/memories/b/c.md", be("one\r\ntwo")))
		require.NoError(t, f.Update(ctx, ann, "/memories/a.md", be("a")))
		require.NoError(t, f.Update(ctx, ann, "/memories/a.md", func(before string, exists bool) (string, error) {
			assert.True(t, exists)
			return before + "b", nil
		}))
		assert.Equal(t, []string{"/memories/a.md=ab", "/memories/b/c.md=one\ntwo"}, paths(files.Root))
		assert.Equal(t, []string{"/memories/b/c.md=one\ntwo"}, paths("/memories/b"))
		assert.Equal(t, []string{"/memories/a.md=ab"}, paths("/memories/a.md"))
		assert.Empty(t, paths("/memories/none"))
		found, err := f.Tree(ctx, bob, files.Root)
		require.NoError(t, err)
		require.Empty(t, found)

		past, err := f.History(ctx, ann, "/memories/a.md")
		require.NoError(t, err)
		require.Len(t, past, 2)
		require.NoError(t, f.Update(ctx, ann, "/memories/a.md", be("ab")))
		past, err = f.History(ctx, ann, "/memories/a.md")
		require.NoError(t, err)
		require.Len(t, past, 2, "an equal text is no change")

		require.NoError(t, f.Update(ctx, ann, "/memories/long", be(strings.Repeat("a", 100_000+1))), "the limit is of the tool")
		for _, at := range []string{"/memories", "/memories/b", "/memories/a.md/x", "/memories/core/none", "/memories/../x", "/x"} {
			require.ErrorIs(t, f.Update(ctx, ann, at, be("x")), backends.ErrInvalid, at)
		}
		own := errors.New("own")
		require.ErrorIs(t, f.Update(ctx, ann, "/memories/a.md", func(string, bool) (string, error) { return "gone", own }), own)
		assert.Contains(t, paths(files.Root), "/memories/a.md=ab")
		_, err = f.Tree(ctx, ann, "/etc")
		require.ErrorIs(t, err, backends.ErrInvalid)
	})
}
