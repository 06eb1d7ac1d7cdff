// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/demomodel"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type chat struct {
	*httptest.Server
	mem *middleware.MemoryMiddleware
}

func newChat(t *testing.T, m model.ToolCallingChatModel) *chat {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	file, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "memory.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, file.Close()) })
	backend, err := mem0.New(ctx, &mem0.Config{Store: file})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, backend.Close(ctx)) })
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, mem.Close(ctx)) })
	srv := httptest.NewServer(newServer(mem, m))
	t.Cleanup(srv.Close)
	return &chat{Server: srv, mem: mem}
}

func post(ctx context.Context, c *http.Client, url, body string, headers ...string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// say is a turn that succeeds.
func (c *chat) say(ctx context.Context, user, session, text string) (string, error) {
	body, _ := json.Marshal(map[string]string{"text": text})
	status, raw, err := post(ctx, c.Client(), c.URL, string(body), "X-User", user, "X-Session", session)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, raw)
	}
	if err != nil {
		return "", err
	}
	var out struct{ Text string }
	err = json.Unmarshal([]byte(raw), &out)
	return out.Text, err
}

func TestUsersInParallelNeverSeeEachOthersFacts(t *testing.T) {
	c := newChat(t, demomodel.New(nil))
	facts := map[string]string{"ann": "peanuts", "bob": "cats", "ann:bob": "milk", "../ann": "pollen"}
	var group errgroup.Group
	for user, fact := range facts {
		group.Go(func() error {
			_, err := c.say(t.Context(), user, "s1", "I am allergic to "+fact+".")
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.NoError(t, c.mem.Flush(t.Context()))
	for user, fact := range facts {
		for i := range 3 {
			group.Go(func() error {
				answer, err := c.say(t.Context(), user, fmt.Sprintf("s%d", i+2), "What am I allergic to?")
				if err != nil {
					return err
				}
				if want := `You told me: "I am allergic to ` + fact + `."`; answer != want {
					return fmt.Errorf("%s was told %q, not %q", user, answer, want)
				}
				return nil
			})
		}
	}
	require.NoError(t, group.Wait())
	answer, err := c.say(t.Context(), "eve", "s1", "What am I allergic to?")
	require.NoError(t, err)
	assert.Contains(t, answer, "don't know")
}

func TestWhoIsNotKnownIsNotServed(t *testing.T) {
	c := newChat(t, demomodel.New(nil))
	const body = `{"text":"What am I allergic to?"}`
	for name, tt := range map[string]struct {
		headers []string
		body    string
		status  int
	}{
		"no user":              {nil, body, 401},
		"empty user":           {[]string{"X-User", ""}, body, 401},
		"two users":            {[]string{"X-User", "ann", "X-User", "bob"}, body, 401},
		"user in the body":     {nil, `{"text":"hi","user":"ann","X-User":"ann"}`, 401},
		"everybody":            {[]string{"X-User", "*"}, body, 400},
		"session of all":       {[]string{"X-User", "ann", "X-Session", "*"}, body, 400},
		"user that is no text": {[]string{"X-User", "\xff"}, body, 400},
		"no JSON":              {[]string{"X-User", "ann"}, "hello", 400},
		"no text":              {[]string{"X-User", "ann"}, `{"text":" "}`, 400},
		"too long":             {[]string{"X-User", "ann"}, `{"text":"` + strings.Repeat("x", maxRequest) + `"}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, err := post(t.Context(), c.Client(), c.URL, tt.body, tt.headers...)
			require.NoError(t, err)
			assert.Equal(t, tt.status, status, out)
		})
	}
	resp, err := c.Client().Get(c.URL + "/chat")
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}

func TestAnswersCanBeStreamed(t *testing.T) {
	c := newChat(t, demomodel.New(nil))
	_, err := c.say(t.Context(), "ann", "s1", "I am allergic to peanuts.")
	require.NoError(t, err)
	require.NoError(t, c.mem.Flush(t.Context()))
	status, raw, err := post(t.Context(), c.Client(), c.URL, `{"text":"What am I allergic to?"}`, "X-User", "ann", "Accept", "text/event-stream")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	answer, n := "", 0
	for line := range strings.Lines(raw) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var p struct{ Text string }
			require.NoError(t, json.Unmarshal([]byte(data), &p))
			answer += p.Text
			n++
		}
	}
	assert.Equal(t, `You told me: "I am allergic to peanuts."`, answer)
	assert.Greater(t, n, 3, "in pieces")
	assert.True(t, strings.HasSuffix(raw, "event: done\ndata: {}\n\n"))
}

func TestAFailingModelIsNotExplainedToClients(t *testing.T) {
	c := newChat(t, testkit.New(testkit.Fail(errors.New("secret detail"))))
	status, out, err := post(t.Context(), c.Client(), c.URL, `{"text":"hi"}`, "X-User", "ann")
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadGateway, status)
	assert.NotContains(t, out, "secret")
	_, out, err = post(t.Context(), c.Client(), c.URL, `{"text":"hi"}`, "X-User", "ann", "Accept", "text/event-stream")
	require.NoError(t, err)
	assert.Contains(t, out, "event: error")
	assert.NotContains(t, out, "secret")
}

// launch runs the program in the background; stop ends it as a signal would, and
// returns its exit code.
func launch(t *testing.T, db string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"-addr", "127.0.0.1:0", "-db", db}, writer, io.Discard)
		writer.Close()
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), func() int { cancel(); return <-code }
}

func TestStoppingTheServerLosesNothing(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	db := filepath.Join(t.TempDir(), "memory.db")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	url, stop := launch(t, db)
	status, out, err := post(t.Context(), client, url, `{"text":"I am allergic to peanuts."}`, "X-User", "ann")
	require.NoError(t, err)
	require.Equal(t, 200, status, out)
	require.Zero(t, stop())

	url, stop = launch(t, db)
	_, out, err = post(t.Context(), client, url, `{"text":"What am I allergic to?"}`, "X-User", "ann", "X-Session", "tomorrow")
	require.NoError(t, err)
	assert.Contains(t, out, "peanuts")
	require.Zero(t, stop())
}

func TestTheNextSessionKnowsAtOnce(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url, stop := launch(t, filepath.Join(t.TempDir(), "memory.db"))
	_, _, err := post(t.Context(), client, url, `{"text":"My bike is red."}`, "X-User", "ann")
	require.NoError(t, err)
	_, out, err := post(t.Context(), client, url, `{"text":"What colour is my bike?"}`, "X-User", "ann", "X-Session", "next")
	require.NoError(t, err)
	assert.Contains(t, out, "red")
	_, out, err = post(t.Context(), client, url, `{"text":"What colour is my bike?"}`, "X-User", "bob")
	require.NoError(t, err)
	assert.NotContains(t, out, "red")
	require.Zero(t, stop())
}

func TestACommandLineThatMakesNoSense(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for want, args := range map[int][][]string{
		0: {{"-h"}},
		1: {{"-db", filepath.Join(t.TempDir(), "no", "such", "memory.db")}, {"-db", filepath.Join(t.TempDir(), "memory.db"), "-addr", "nowhere:-1"}},
		2: {{"-colour"}, {"argument"}, {"-db", ""}},
	} {
		for _, a := range args {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, want, run(t.Context(), a, &stdout, &stderr), a)
			assert.NotEmpty(t, stderr.String(), a)
			assert.Empty(t, stdout.String(), a)
		}
	}
}
