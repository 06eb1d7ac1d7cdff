// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/demomodel"
)

// program is the built example: each call of it is a process of its own.
var program string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "quickstart-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "quickstart")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the example: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

type result struct {
	stdout, stderr string
	code           int
}

// start runs the program to its end, without a key unless env says otherwise.
func start(t *testing.T, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append([]string{"HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// said is the answer of a turn that must succeed.
func said(t *testing.T, args ...string) string {
	t.Helper()
	r := start(t, nil, args...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 1, strings.Count(r.stdout, "\n"), "one line: the answer and nothing else: %q", r.stdout)
	require.Equal(t, demomodel.Notice+"\n", r.stderr)
	return r.stdout
}

func TestWhatIsSaidIsKnownInTheNextProcess(t *testing.T) {
	for _, mode := range []string{"both", "static_control", "agent_control"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "memory.db")
			turn := func(user, session, text string) string {
				return said(t, "-db", db, "-mode", mode, "-user", user, "-session", session, "-say", text)
			}
			turn("ann", "s1", "I moved to Hangzhou in March and I am allergic to peanuts.")
			turn("ann", "s1", "The weather is nice today.")
			turn("bob", "s1", "I am allergic to cats.")

			answer := turn("ann", "s2", "What am I allergic to?")
			assert.Contains(t, answer, "peanuts")
			assert.NotContains(t, answer, "cats")
			assert.Contains(t, turn("ann", "s3", "When did I move to Hangzhou?"), "March")
			assert.Contains(t, turn("bob", "s2", "What am I allergic to?"), "cats")
			assert.Contains(t, turn("eve", "s2", "What am I allergic to?"), "don't know")
			assert.Contains(t, turn("ann", "s4", "What is my cat called?"), "don't know")

			turn("wei", "s1", "我对花生过敏，住在杭州。")
			assert.Contains(t, turn("wei", "s2", "我住在哪里？"), "杭州")
			assert.Contains(t, turn("wei", "s2", "我对什么过敏？"), "花生")
			assert.Contains(t, turn("eve", "s2", "我住在哪里？"), "不知道")
		})
	}
}

func TestWhatIsSaidLaterWins(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "memory.db")
	said(t, "-db", db, "-say", "I live in Beijing.")
	said(t, "-db", db, "-say", "I moved to Shanghai.")
	// Both were said on one day: what decides is the order of the two.
	assert.Contains(t, said(t, "-db", db, "-session", "s2", "-say", "Where did I move to?"), "Shanghai")
	assert.Contains(t, said(t, "-db", db, "-session", "s2", "-say", "Where do I live now?"), "Shanghai", "no word of it is in the answer")
	said(t, "-db", db, "-user", "wei", "-say", "我住在北京。")
	said(t, "-db", db, "-user", "wei", "-say", "我搬到上海了。")
	assert.Contains(t, said(t, "-db", db, "-user", "wei", "-session", "s2", "-say", "我现在住在哪里？"), "上海")
}

func TestUsersNeverMeetWhateverTheirNames(t *testing.T) {
	t.Parallel()
	users := []string{"ann", "ANN", "ann:{bob}", "../../ann", `ann' OR 1=1 --`, "ann%", "安😀", "-ann"}
	db := filepath.Join(t.TempDir(), "memory.db")
	for i, u := range users {
		said(t, "-db", db, "-user="+u, "-say", fmt.Sprintf("My lucky number is %d.", 1000+i))
	}
	for i, u := range users {
		answer := said(t, "-db", db, "-user="+u, "-session", "another", "-say", "What is my lucky number?")
		for j := range users {
			assert.Equal(t, i == j, strings.Contains(answer, fmt.Sprint(1000+j)), "%q is told: %s", u, answer)
		}
	}
}

func TestACommandLineThatMakesNoSense(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "memory.db")
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"unknown flag":      {[]string{"-colour"}, "colour"},
		"argument":          {[]string{"hello"}, "hello"},
		"unknown mode":      {[]string{"-db", db, "-mode", "magic", "-say", "hi"}, "magic"},
		"unknown mode only": {[]string{"-mode", "magic"}, "magic"},
		"no file":           {[]string{"-say", "hi"}, "-db"},
		"no file either":    {[]string{"-db", ":memory:", "-say", "hi"}, "-db FILE"},
		"nothing said":      {[]string{"-db", db, "-say", "  "}, "blank"},
		"file alone":        {[]string{"-db", db}, "-say"},
		"user alone":        {[]string{"-user", "ann"}, "-say"},
		"no user":           {[]string{"-db", db, "-user", "", "-say", "hi"}, "-user"},
		"blank user":        {[]string{"-db", db, "-user", " ", "-say", "hi"}, "blank"},
		"everybody":         {[]string{"-db", db, "-user", "*", "-say", "hi"}, "'*'"},
		"control character": {[]string{"-db", db, "-user", "a\nb", "-say", "hi"}, "control"},
		"long user":         {[]string{"-db", db, "-user", strings.Repeat("u", 257), "-say", "hi"}, "256"},
		"not UTF-8":         {[]string{"-db", db, "-session", "\xff", "-say", "hi"}, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, 2, run(t.Context(), tt.args, &stdout, &stderr))
			assert.Empty(t, stdout.String())
			assert.Contains(t, stderr.String(), tt.says)
			assert.NoFileExists(t, db)
		})
	}
}

func TestTheProcessTellsBySuccess(t *testing.T) {
	t.Parallel()
	r := start(t, nil, "-h")
	assert.Zero(t, r.code)
	assert.Contains(t, r.stderr, "-session")
	r = start(t, nil, "-colour")
	assert.Equal(t, 2, r.code)
	assert.Empty(t, r.stdout)
}

func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "memory.db")
	results := make(chan result)
	for i := range 4 {
		go func() {
			results <- start(t, nil, "-db", db, "-session", fmt.Sprint(i), "-say", fmt.Sprintf("My friend number %d lives in Rome.", i))
		}()
	}
	for range 4 {
		r := <-results
		assert.Zero(t, r.code, r.stderr)
	}
	for i := range 4 {
		assert.Contains(t, said(t, "-db", db, "-say", fmt.Sprintf("Where does my friend number %d live?", i)), fmt.Sprintf("number %d", i))
	}
}

func TestAFileThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	r := start(t, nil, "-db", filepath.Join(t.TempDir(), "no", "such", "folder", "memory.db"), "-say", "hi")
	assert.Equal(t, 1, r.code)
	assert.Empty(t, r.stdout)
	assert.Contains(t, r.stderr, "memory.db")
}

func TestTheTourShowsMemoryAtWork(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"both", "static_control", "agent_control"} {
		tmp := t.TempDir()
		r := start(t, []string{"TMPDIR=" + tmp}, "-mode", mode)
		require.Zero(t, r.code, r.stderr)
		assert.Equal(t, demomodel.Notice+"\n", r.stderr, "said once")
		for _, want := range []string{
			"remembered of ann", `assistant: You told me: "I am allergic to peanuts."`, "You told me: \"My sister lives in Berlin.\"", "旺财。”", "bob: What am I allergic to?\nassistant: I don't know",
		} {
			assert.Contains(t, r.stdout, want, mode)
		}
		assert.Equal(t, mode != "agent_control", strings.Contains(r.stdout, "<memories>"), "the note, where there is one")
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		assert.Empty(t, left, "nothing is left behind")
	}
}
