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

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/demomodel"
	"github.com/einomem/einomem/internal/testredis"
)

// program is the built example: each call of it is a process of its own.
var program string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redis-example-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "redis")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the example: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// onServers runs f on an imitation and on a real server.
func onServers(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		f(t, "redis://"+miniredis.RunT(t).Addr())
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		f(t, testredis.Need(t).Start(t).URL())
	})
}

type result struct {
	stdout, stderr string
	code           int
}

// start runs the program to its end.
func start(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + t.TempDir()}
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
	r := start(t, args...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 1, strings.Count(r.stdout, "\n"), "one line: the answer and nothing else: %q", r.stdout)
	require.Equal(t, demomodel.Notice+"\n", r.stderr)
	return r.stdout
}

func TestWhatIsSaidIsKnownInTheNextProcess(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		for _, mode := range []string{"both", "static_control", "agent_control"} {
			say := func(user, session, text string) string {
				return said(t, "-redis", url, "-mode", mode, "-user", user+"-"+mode, "-session", session, "-say", text)
			}
			say("ann", "s1", "I am allergic to peanuts.")
			say("ann", "s1", "我的狗叫旺财。")
			assert.Contains(t, say("ann", "s2", "What am I allergic to?"), "peanuts", mode)
			assert.Contains(t, say("ann", "s2", "我的狗叫什么名字？"), "旺财", mode)
			assert.NotContains(t, say("bob", "s1", "What am I allergic to?"), "peanuts", mode)
			assert.NotContains(t, say("bob", "s1", "我的狗叫什么名字？"), "旺财", mode)
		}
	})
}

// Six processes learn of one user at a time, in sessions of their own and in one that
// they share, and none of it is lost.
func TestProcessesThatTalkAtTheSameTime(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		const n = 6
		results := make(chan result)
		for i := range n {
			go func() {
				results <- start(t, "-redis", url, "-user", "ann", "-session", fmt.Sprint(i/2), "-say", fmt.Sprintf("My friend number %d lives in Rome.", i))
			}()
		}
		for range n {
			r := <-results
			assert.Zero(t, r.code, r.stderr)
			assert.Equal(t, "Noted.\n", r.stdout)
		}
		for i := range n {
			answer := said(t, "-redis", url, "-user", "ann", "-session", "after", "-say", fmt.Sprintf("Where does my friend number %d live?", i))
			assert.Contains(t, answer, fmt.Sprintf("number %d lives in Rome", i))
		}
		forgotten := start(t, "-redis", url, "-user", "ann", "-forget")
		assert.Contains(t, forgotten.stdout, "sessions 4", "three while talking, and one after: %s", forgotten.stderr)
	})
}

func TestAUserIsForgottenAndNobodyElse(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		for _, user := range []string{"ann", "bob"} {
			said(t, "-redis", url, "-user", user, "-say", "I like tea.")
		}
		r := start(t, "-redis", url, "-user", "ann", "-forget")
		assert.Zero(t, r.code, r.stderr)
		assert.Equal(t, "forgot ann: memories 2, sessions 1, messages 2\n", r.stdout)
		assert.Contains(t, said(t, "-redis", url, "-user", "ann", "-say", "What do I like?"), "don't know")
		assert.Contains(t, said(t, "-redis", url, "-user", "bob", "-say", "What do I like?"), "tea")
	})
}

func TestHealthTellsWhatWaits(t *testing.T) {
	t.Parallel()
	url := testredis.Need(t).Start(t).URL()
	said(t, "-redis", url, "-user", "ann", "-say", "I like tea.")
	r := start(t, "-redis", url, "-health")
	assert.Zero(t, r.code, r.stderr)
	assert.Regexp(t, `^ping \S+s; not learnt yet: messages 0, sessions 0\n`, r.stdout)
}

func TestTheTourShowsWhatProcessesShare(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		r := start(t, "-redis", url)
		require.Zero(t, r.code, r.stderr)
		assert.Equal(t, demomodel.Notice+"\n", r.stderr, "said once")
		for _, want := range []string{"You told me: \"I am allergic to peanuts.\"", "旺财。”", "I don't know", "forgot ann-", "sessions 4"} {
			assert.Contains(t, r.stdout, want)
		}
	})
}

func TestAServerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	gone := miniredis.RunT(t)
	addr := gone.Addr()
	url := "redis://:secret@" + addr
	gone.Close()
	for name, args := range map[string][]string{"say": {"-say", "hi"}, "forget": {"-user", "ann", "-forget"}, "health": {"-health"}, "tour": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, append([]string{"-redis", url}, args...)...)
			assert.Equal(t, 1, r.code)
			assert.Empty(t, r.stdout)
			assert.Equal(t, 1, strings.Count(r.stderr, "\n"), r.stderr)
			assert.Contains(t, r.stderr, "cannot be reached")
			assert.Contains(t, r.stderr, addr)
			assert.NotContains(t, r.stderr, "secret")
		})
	}
}

func TestAServerThatWantsAPassword(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	srv.RequireAuth("secret")
	r := start(t, "-redis", "redis://:wrong@"+srv.Addr(), "-say", "hi")
	assert.Equal(t, 1, r.code)
	assert.Empty(t, r.stdout)
	assert.Contains(t, r.stderr, "password")
	assert.NotContains(t, r.stderr, "wrong@")
	said(t, "-redis", "redis://:secret@"+srv.Addr(), "-say", "hi")
}

func TestACommandLineThatMakesNoSense(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://127.0.0.1:1") // nothing is asked
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"unknown flag":     {[]string{"-colour"}, "colour"},
		"argument":         {[]string{"hello"}, "hello"},
		"unknown mode":     {[]string{"-mode", "magic", "-say", "hi"}, "magic"},
		"nothing said":     {[]string{"-say", "  "}, "blank"},
		"user alone":       {[]string{"-user", "ann"}, "-say"},
		"everybody":        {[]string{"-user", "*", "-say", "hi"}, "'*'"},
		"nobody forgotten": {[]string{"-forget"}, "-user NAME"},
		"said and healthy": {[]string{"-health", "-say", "hi"}, "exclude"},
		"said and forgot":  {[]string{"-user", "ann", "-forget", "-say", "hi"}, "exclude"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, 2, run(t.Context(), tt.args, &stdout, &stderr))
			assert.Empty(t, stdout.String())
			assert.Contains(t, stderr.String(), tt.says)
		})
	}
}

func TestTheEnvironmentNamesTheServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("REDIS_URL", "redis://"+miniredis.RunT(t).Addr())
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-say", "I like tea."}, &stdout, &stderr), stderr.String())
	require.Zero(t, run(t.Context(), []string{"-session", "s2", "-say", "What do I like?"}, &stdout, &stderr), stderr.String())
	assert.Equal(t, "Noted.\nYou told me: \"I like tea.\"\n", stdout.String())
	assert.Equal(t, 1, run(t.Context(), []string{"-redis", "http://localhost", "-say", "hi"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "redis://localhost:6379/0")
}
