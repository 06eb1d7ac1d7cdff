// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
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

	"github.com/einomem/einomem/examples/demomodel"
)

// With REDIS_EXAMPLE in its environment the test is the program.
func TestMain(m *testing.M) {
	if os.Getenv("REDIS_EXAMPLE") != "" {
		main()
		os.Exit(0)
	}
	_ = os.Unsetenv("OPENAI_API_KEY")
	os.Exit(m.Run())
}

// program runs the program.
func program(t *testing.T, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	if err := run(t.Context(), args, &out, &errs); err != nil {
		fmt.Fprintf(&errs, "redis: %v\n", err)
		code = 1
	}
	return out.String(), errs.String(), code
}

// onServers runs f on an imitation, and on a real server where there is one.
func onServers(t *testing.T, f func(t *testing.T, url string)) {
	t.Run("miniredis", func(t *testing.T) { f(t, "redis://"+miniredis.RunT(t).Addr()) })
	t.Run("server", func(t *testing.T) {
		bin, err := exec.LookPath(cmp.Or(os.Getenv("REDIS_SERVER"), "redis-server"))
		if err != nil {
			t.Skip("no redis-server: ", err)
		}
		dir, err := os.MkdirTemp("", "redis") // the path of a socket has to be short
		require.NoError(t, err)
		socket := filepath.Join(dir, "s")
		server := exec.Command(bin, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
		require.NoError(t, server.Start())
		t.Cleanup(func() {
			_ = server.Process.Kill()
			_ = server.Wait()
			_ = os.RemoveAll(dir)
		})
		require.Eventually(t, func() bool { _, err := os.Stat(socket); return err == nil }, time.Minute, 10*time.Millisecond)
		f(t, "unix://"+socket)
	})
}

// The commands of the README, each a process of its own, two of them at once.
func TestTheCommandsOfTheReadme(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		command := func(args ...string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-redis", url}, args...)...)
			cmd.Env = append(os.Environ(), "REDIS_EXAMPLE=1")
			return cmd
		}
		phone := command("-user", "ann", "-session", "phone", "-say", "I am allergic to peanuts.")
		require.NoError(t, phone.Start())
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"-user", "ann", "-session", "desk", "-say", "我的狗叫旺财。"}, "好的，记住了。\n"},
			{nil, ""}, // until the phone has its answer
			{[]string{"-user", "ann", "-say", "What am I allergic to?"}, "You told me: \"I am allergic to peanuts.\"\n"},
			{[]string{"-user", "ann", "-say", "我的狗叫什么名字？"}, "你告诉过我：“我的狗叫旺财。”\n"},
			{[]string{"-user", "bob", "-say", "What am I allergic to?"}, "I don't know: you have not told me.\n"},
			{[]string{"-user", "ann", "-forget"}, "forgot ann: memories 8, sessions 3, messages 8\n"},
			{[]string{"-user", "ann", "-say", "What am I allergic to?"}, "I don't know: you have not told me.\n"},
			{[]string{"-user", "bob", "-forget"}, "forgot bob: memories 2, sessions 1, messages 2\n"},
		} {
			if c.args == nil {
				require.NoError(t, phone.Wait())
				continue
			}
			out, err := command(c.args...).Output()
			require.NoError(t, err)
			assert.Equal(t, c.want, string(out))
		}
	})
}

// Processes learn of one user at a time, in sessions of their own and in one that
// they share, and none of it is lost.
func TestProcessesAtTheSameTime(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		const n = 6
		done := make(chan error)
		for i := range n {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-redis", url, "-user", "ann", "-session", fmt.Sprint(i/2), "-say", fmt.Sprintf("My friend number %d lives in Rome.", i))
			cmd.Env = append(os.Environ(), "REDIS_EXAMPLE=1")
			go func() { done <- cmd.Run() }()
		}
		for range n {
			assert.NoError(t, <-done)
		}
		for i := range n {
			answer, stderr, _ := program(t, "-redis", url, "-user", "ann", "-session", "after", "-say", fmt.Sprintf("Where does my friend number %d live?", i))
			assert.Equal(t, fmt.Sprintf("You told me: \"My friend number %d lives in Rome.\"\n", i), answer)
			assert.Equal(t, demomodel.Notice+"\n", stderr)
		}
	})
}

func TestHealth(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		program(t, "-redis", url, "-say", "I like tea.")
		stdout, stderr, code := program(t, "-redis", url, "-health")
		require.Zero(t, code, stderr)
		assert.Regexp(t, `^ping \S+s; not learnt yet: messages 0, sessions 0; failing: 0 ; given up: 0\n`, stdout)
	})
}

func TestServersThatCannotBeUsed(t *testing.T) {
	gone, locked := miniredis.RunT(t), miniredis.RunT(t)
	locked.RequireAuth("secret")
	addr := gone.Addr()
	gone.Close()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"-redis", "redis://:secret@" + addr, "-say", "hi"}, addr},
		{[]string{"-redis", "redis://:secret@" + addr, "-user", "ann", "-forget"}, "cannot be reached"},
		{[]string{"-redis", "redis://:secret@" + addr, "-health"}, "cannot be reached"},
		{[]string{"-redis", "redis://:wrong-secret@" + locked.Addr(), "-say", "hi"}, "password"},
		{[]string{"-redis", "http://localhost", "-say", "hi"}, "redis://localhost:6379/0"},
	} {
		stdout, stderr, code := program(t, tt.args...)
		assert.Equal(t, 1, code, tt.args)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.says)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		assert.NotContains(t, stderr, "secret")
	}
	t.Setenv("REDIS_URL", "redis://:secret@"+locked.Addr())
	stdout, stderr, code := program(t, "-say", "I like tea.")
	assert.Zero(t, code, stderr)
	assert.Equal(t, "Noted.\n", stdout)
}

func TestACommandLineThatMakesNoSense(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://127.0.0.1:1") // nothing is asked
	for says, args := range map[string][]string{
		"colour":           {"-colour"},
		"-say TEXT":        {"hello"},
		"give one of":      {"-say", "  "},
		"lists the flags":  nil,
		"'*'":              {"-user", "*", "-say", "hi"},
		"-user NAME":       {"-forget"},
		"one of":           {"-health", "-say", "hi"},
		"-forget":          {"-user", "ann", "-forget", "-say", "hi"},
		"NAME -forget":     {"-user", "ann"},
		"-health; redis -": {"-user", "ann", "-forget", "-health"},
	} {
		stdout, stderr, code := program(t, args...)
		assert.Equal(t, 1, code, args)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, says)
	}
	_, stderr, code := program(t, "-h")
	assert.Zero(t, code)
	assert.Contains(t, stderr, "-health")
}
