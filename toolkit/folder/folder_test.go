// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk/filesystem"
	middle "github.com/cloudwego/eino/adk/middlewares/filesystem"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/folder"
	"github.com/einomem/einomem/toolkit/server/files"
)

// scope is where these tests put the scope of a call.
type scope struct{}

func as(user, session string) context.Context {
	return context.WithValue(context.Background(), scope{}, backends.Scope{UserID: user, SessionID: session})
}

func scopeOf(ctx context.Context) (backends.Scope, error) {
	s, ok := ctx.Value(scope{}).(backends.Scope)
	if !ok {
		return s, fmt.Errorf("%w: for the test", backends.ErrNoScope)
	}
	return s, nil
}

func on(t testing.TB, db store.Records) *folder.Folder {
	t.Helper()
	f, err := folder.New(&files.Config{Records: db, Scope: scopeOf})
	require.NoError(t, err)
	return f
}

func write(ctx context.Context, t require.TestingT, f filesystem.Backend, at, text string) {
	require.NoError(t, f.Write(ctx, &filesystem.WriteRequest{FilePath: at, Content: text}))
}

func read(ctx context.Context, t require.TestingT, f filesystem.Backend, at string) string {
	content, err := f.Read(ctx, &filesystem.ReadRequest{FilePath: at})
	require.NoError(t, err)
	return content.Content
}

// gone requires that a file is not there.
func gone(ctx context.Context, t require.TestingT, f filesystem.Backend, at string) {
	_, err := f.Read(ctx, &filesystem.ReadRequest{FilePath: at})
	require.ErrorIs(t, err, os.ErrNotExist, "as agentsmd wants it")
	require.ErrorIs(t, err, backends.ErrNotFound)
}

// A Folder does what Eino's own backend in memory does, whatever it is asked.
func TestFoldersDoAsEinosOwnBackend(t *testing.T) {
	db := testkit.SQLite(t)
	f, n := on(t, db), 0
	names := []string{"/a.md", "/b.go", "/d/a.md", "/d/e/c.txt", "/d/e/f/deep.md", "/笔记.md"}
	rapid.Check(t, func(t *rapid.T) {
		n++ // a person of its own
		ctx := as(fmt.Sprint("user", n), "")
		want := filesystem.NewInMemoryBackend()
		path := rapid.SampledFrom(append(names, "/none", "d/a.md", "/d/../a.md", "/d/"))
		dir := rapid.SampledFrom([]string{"", "/", "/d", "/d/", "d", "/d/e", "/a.md", "/none"})
		part := rapid.SampledFrom([]string{"tea", "green\n", "Tea", "\n", "x"})
		both := func(one, other error) {
			require.Equal(t, one == nil, other == nil, "%v, and here %v", one, other)
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				r := &filesystem.WriteRequest{FilePath: rapid.SampledFrom(names).Draw(t, "path")}
				for range rapid.IntRange(0, 6).Draw(t, "parts") {
					r.Content += part.Draw(t, "part")
				}
				both(want.Write(ctx, r), f.Write(ctx, r))
			},
			"edit": func(t *rapid.T) {
				r := &filesystem.EditRequest{
					FilePath: path.Draw(t, "path"), OldString: part.Draw(t, "old"),
					NewString: "+" + part.Draw(t, "new"), ReplaceAll: rapid.Bool().Draw(t, "all"),
				}
				both(want.Edit(ctx, r), f.Edit(ctx, r))
			},
			"read": func(t *rapid.T) {
				r := &filesystem.ReadRequest{FilePath: path.Draw(t, "path"), Offset: rapid.IntRange(-1, 5).Draw(t, "offset"), Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
				one, err := want.Read(ctx, r)
				other, err2 := f.Read(ctx, r)
				both(err, err2)
				require.Equal(t, one, other)
			},
			"ls": func(t *rapid.T) {
				r := &filesystem.LsInfoRequest{Path: dir.Draw(t, "dir")}
				one, err := want.LsInfo(ctx, r)
				other, err2 := f.LsInfo(ctx, r)
				both(err, err2)
				require.ElementsMatch(t, undated(one), undated(other))
				for _, info := range other {
					require.NotEmpty(t, info.ModifiedAt, info.Path)
				}
			},
			"glob": func(t *rapid.T) {
				r := &filesystem.GlobInfoRequest{Path: dir.Draw(t, "dir"), Pattern: rapid.SampledFrom([]string{"*.md", "**/*.md", "/d/*", "*/*", "[", "**"}).Draw(t, "pattern")}
				one, err := want.GlobInfo(ctx, r)
				other, err2 := f.GlobInfo(ctx, r)
				if len(one)+len(other) > 0 { // Eino looks at a pattern with files alone
					both(err, err2)
				}
				require.ElementsMatch(t, undated(one), undated(other))
			},
			"grep": func(t *rapid.T) {
				r := &filesystem.GrepRequest{
					Pattern: rapid.SampledFrom([]string{"tea", "^green$", "e.*e", "a\ng", "("}).Draw(t, "pattern"), Path: dir.Draw(t, "dir"),
					Glob: rapid.SampledFrom([]string{"", "*.md", "**/*.txt"}).Draw(t, "glob"), FileType: rapid.SampledFrom([]string{"", "", "md", "go"}).Draw(t, "type"),
					CaseInsensitive: rapid.Bool().Draw(t, "case"), EnableMultiline: rapid.Bool().Draw(t, "multiline"), AfterLines: rapid.IntRange(0, 1).Draw(t, "after"),
				}
				one, err := want.GrepRaw(ctx, r)
				other, err2 := f.GrepRaw(ctx, r)
				both(err, err2)
				require.ElementsMatch(t, one, other)
			},
		})
	})
}

// undated are infos without their times.
func undated(infos []filesystem.FileInfo) []filesystem.FileInfo {
	out := []filesystem.FileInfo{}
	for _, info := range infos {
		info.ModifiedAt = ""
		out = append(out, info)
	}
	return out
}

func TestTimesAreThoseOfTheStore(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		f, ctx := on(t, db), as("ann", "")
		start := clock.Now()
		write(ctx, t, f, "/d/old.md", "1")
		later := clock.Advance(1000 * 1000 * 1000)
		write(ctx, t, f, "/d/new.md", "2")
		infos, err := f.LsInfo(ctx, &filesystem.LsInfoRequest{Path: "/d"})
		require.NoError(t, err)
		require.Equal(t, []filesystem.FileInfo{
			{Path: "new.md", Size: 1, ModifiedAt: later.Format("2006-01-02T15:04:05Z")}, {Path: "old.md", Size: 1, ModifiedAt: start.Format("2006-01-02T15:04:05Z")},
		}, infos)
		infos, err = f.LsInfo(ctx, &filesystem.LsInfoRequest{Path: "/"})
		require.NoError(t, err)
		require.Equal(t, []filesystem.FileInfo{{Path: "d", IsDir: true, ModifiedAt: later.Format("2006-01-02T15:04:05Z")}}, infos)
	})
}

func TestEachScopeHasItsOwnTree(t *testing.T) {
	f := on(t, testkit.SQLite(t))
	ann, bob := as("ann", "s1"), as("bob", "s1")
	write(ann, t, f, "/notes.md", "of ann")
	gone(bob, t, f, "/notes.md")
	require.Equal(t, "of ann", read(as("ann", "s2"), t, f, "notes.md"))
	for _, at := range []string{"/../notes.md", "/../../memories/notes.md", "/sessions/../../memories/x"} {
		gone(bob, t, f, at)
	}
	found, err := f.GrepRaw(bob, &filesystem.GrepRequest{Pattern: "."})
	require.NoError(t, err)
	require.Empty(t, found)

	sessions := f.PerSession()
	write(as("ann", "s1"), t, sessions, "/tmp/result", "of s1")
	require.Equal(t, "of s1", read(as("ann", "s1"), t, sessions, "/tmp/result"))
	for _, session := range []string{"s2", "s1/tmp", "../s1", "."} {
		gone(as("ann", session), t, sessions, "/tmp/result")
		gone(as("ann", session), t, sessions, "/result")
		gone(as("ann", session), t, sessions, "/notes.md")
	}
	gone(as("bob", "s1"), t, sessions, "/tmp/result")
	_, err = sessions.Read(as("ann", ""), &filesystem.ReadRequest{FilePath: "/tmp/result"})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestRefusals(t *testing.T) {
	f, ctx := on(t, testkit.SQLite(t)), as("ann", "s")
	_, err := folder.New(nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = folder.New(&files.Config{Records: testkit.SQLite(t)})
	require.ErrorContains(t, err, "no Config.Scope")
	nobody := context.Background()
	for name, call := range map[string]func() error{
		"ls":      func() error { _, err := f.LsInfo(nobody, &filesystem.LsInfoRequest{}); return err },
		"read":    func() error { _, err := f.Read(nobody, &filesystem.ReadRequest{FilePath: "/a"}); return err },
		"grep":    func() error { _, err := f.GrepRaw(nobody, &filesystem.GrepRequest{Pattern: "a"}); return err },
		"glob":    func() error { _, err := f.GlobInfo(nobody, &filesystem.GlobInfoRequest{Pattern: "*"}); return err },
		"write":   func() error { return f.Write(nobody, &filesystem.WriteRequest{FilePath: "/a"}) },
		"edit":    func() error { return f.Edit(nobody, &filesystem.EditRequest{FilePath: "/a", OldString: "a"}) },
		"history": func() error { _, err := f.History(nobody, "/a"); return err },
	} {
		require.ErrorIs(t, call(), backends.ErrNoScope, name)
	}

	write(ctx, t, f, "/d/a", "tea tea")
	for text, err := range map[string]error{
		"is no path here":          f.Write(ctx, &filesystem.WriteRequest{FilePath: "/.hidden"}),
		"exists already":           f.Write(ctx, &filesystem.WriteRequest{FilePath: "/d/a/b"}),
		"itself stays as it is":    f.Write(ctx, &filesystem.WriteRequest{FilePath: "/"}),
		"not to be remembered":     f.Write(backends.Incognito(ctx), &filesystem.WriteRequest{FilePath: "/b", Content: "x"}),
		"there is no file /none":   f.Edit(ctx, &filesystem.EditRequest{FilePath: "/none", OldString: "a"}),
		"the old text is empty":    f.Edit(ctx, &filesystem.EditRequest{FilePath: "/d/a", NewString: "b"}),
		"or equal":                 f.Edit(ctx, &filesystem.EditRequest{FilePath: "/d/a", OldString: "tea", NewString: "tea"}),
		"does not occur in /d/a":   f.Edit(ctx, &filesystem.EditRequest{FilePath: "/d/a", OldString: "milk"}),
		"occurs 2 times in /d/a":   f.Edit(ctx, &filesystem.EditRequest{FilePath: "/d/a", OldString: "tea"}),
		"program's":                f.Write(ctx, &filesystem.WriteRequest{FilePath: "/core/none"}),
		"has a secret or personal": f.Write(ctx, &filesystem.WriteRequest{FilePath: "/sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"}),
	} {
		require.ErrorContains(t, err, text)
	}
	gone(ctx, t, f, "/b")

	_, isShell := any(f).(filesystem.Shell)
	require.False(t, isShell, "nothing is executed")
	_, isShell = any(f).(filesystem.StreamingShell)
	require.False(t, isShell)
	tools := func(cfg *middle.MiddlewareConfig) error { _, err := middle.New(ctx, cfg); return err }
	require.NoError(t, tools(&middle.MiddlewareConfig{Backend: f}))
}

// Two agents edit one file at the same time, and no edit is lost.
func TestEditsAtTheSameTimeAllStand(t *testing.T) {
	db := testkit.SQLite(t)
	f, ctx := on(t, db), as("ann", "s")
	write(ctx, t, f, "/list", "0000000000")
	var all sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		all.Go(func() {
			errs[i] = f.Edit(ctx, &filesystem.EditRequest{FilePath: "/list", OldString: "0", NewString: "1"})
		})
	}
	all.Wait()
	for _, err := range errs {
		require.ErrorContains(t, err, "occurs")
	}
	write(ctx, t, f, "/list", "abcdefghij")
	for i := range errs {
		all.Go(func() {
			errs[i] = f.Edit(ctx, &filesystem.EditRequest{FilePath: "/list", OldString: string(rune('a' + i)), NewString: fmt.Sprint(i)})
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, "0123456789", read(ctx, t, f, "/list"))
	past, err := f.History(ctx, "/list")
	require.NoError(t, err)
	require.Len(t, past, 12)
}
