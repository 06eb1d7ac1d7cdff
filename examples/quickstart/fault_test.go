// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to look into the file, and to lock it
)

func openSQL(t *testing.T, db string) *sql.DB {
	t.Helper()
	file, err := sql.Open("sqlite", db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	return file
}

// kill starts a turn, kills it some time later, and reports whether it had come to
// its end.
func kill(t *testing.T, after time.Duration, args ...string) bool {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() == nil
}

// Whenever the process is killed, the file is whole, and what was acknowledged
// (an answer, and success) is remembered.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "memory.db")
	begun := time.Now()
	said(t, "-db", db, "-say", "My token number 0 is X0X.")
	turn := time.Since(begun)
	acknowledged := []int{0}
	for i := 1; i <= 30; i++ {
		after := time.Duration(rand.Float64() * 1.3 * float64(turn))
		if kill(t, after, "-db", db, "-session", fmt.Sprint(i%3), "-say", fmt.Sprintf("My token number %d is X%dX.", i, i)) {
			acknowledged = append(acknowledged, i)
		}
	}
	var whole string
	require.NoError(t, openSQL(t, db).QueryRow("PRAGMA integrity_check").Scan(&whole))
	assert.Equal(t, "ok", whole)
	t.Logf("%d of 31 turns were acknowledged", len(acknowledged))
	for _, i := range acknowledged[max(0, len(acknowledged)-6):] {
		assert.Contains(t, said(t, "-db", db, "-session", "after", "-say", fmt.Sprintf("What is my token number %d?", i)), fmt.Sprintf("X%dX", i))
	}
}

// A file that cannot be used is left as it is; the error names it, and what to do.
func TestAFileThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(t *testing.T, db string)
		says []string
	}{
		"a folder":          {func(t *testing.T, db string) { require.NoError(t, os.Mkdir(db, 0o700)) }, []string{"not a regular file"}},
		"not a database":    {func(t *testing.T, db string) { write(t, db, strings.Repeat("garbage ", 1000)) }, []string{"choose another path"}},
		"of another origin": {func(t *testing.T, db string) { execute(t, db, "CREATE TABLE notes (a)") }, []string{"another application", "choose another path"}},
		"truncated": {func(t *testing.T, db string) {
			said(t, "-db", db, "-say", "hi")
			require.NoError(t, os.Truncate(db, 5000))
		}, []string{"damaged", "backup"}},
		"locked": {func(t *testing.T, db string) {
			said(t, "-db", db, "-say", "hi")
			execute(t, db, "BEGIN EXCLUSIVE") // until the test ends
		}, []string{"another process", "retry"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "memory.db")
			tt.make(t, db)
			before, _ := os.ReadFile(db)
			r := start(t, nil, "-db", db, "-say", "hi")
			assert.Equal(t, 1, r.code)
			assert.Empty(t, r.stdout)
			for _, says := range append(tt.says, db) {
				assert.Contains(t, r.stderr, says)
			}
			after, _ := os.ReadFile(db)
			assert.True(t, bytes.Equal(before, after), "the file was changed")
		})
	}
}

// What can be answered and not stored is no success, and the reason is told once.
func TestAnAnswerThatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "memory.db")
	said(t, "-db", db, "-say", "I like tea.")
	execute(t, db, "CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END")
	r := start(t, nil, "-db", db, "-session", "s2", "-say", "What do I like?")
	assert.Equal(t, 1, r.code)
	assert.Equal(t, "You told me: \"I like tea.\"\n", r.stdout)
	_, told, _ := strings.Cut(r.stderr, "quickstart: ")
	assert.Equal(t, 1, strings.Count(told, "no room"), r.stderr)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func execute(t *testing.T, db, statement string) {
	t.Helper()
	file := openSQL(t, db)
	file.SetMaxOpenConns(1)
	_, err := file.Exec(statement)
	require.NoError(t, err)
}

func TestWhatIsSaidMayBeAnything(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	db := filepath.Join(t.TempDir(), "memory.db")
	turn := func(user, text string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		require.Zero(t, run(t.Context(), []string{"-db", db, "-user=" + user, "-say", text}, &stdout, &stderr), stderr.String())
		require.NotContains(t, stderr.String(), "WARN")
		return stdout.String()
	}
	turn("broken", "I like \xff\xfe tea.")
	assert.Contains(t, turn("broken", "What do I like\xff?"), "tea")
	turn("long", "I like cake. "+strings.Repeat("And more of it. ", 1<<16)) // 1 MB
	assert.Contains(t, turn("long", "What is my cat called?"), "don't know")
	turn("marks", "My motto is </memories> <b>{user}</b> %s %41.")
	assert.Contains(t, turn("marks", "What is my motto?"), "{user}")
}

func TestAnAnswerThatCannotBePrinted(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	closed, w := io.Pipe()
	require.NoError(t, closed.Close())
	var stderr bytes.Buffer
	assert.Equal(t, 1, run(t.Context(), []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-say", "hi"}, w, &stderr))
	assert.Contains(t, stderr.String(), "closed pipe")
}
