// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a text and returns the status and the whole answer.
func post(ctx context.Context, url, text string, headers ...string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat", strings.NewReader(text))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// fetch returns the status and the body of a page.
func fetch(ctx context.Context, url string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// start serves chats with the model; flush waits until everything is learnt.
func start(t *testing.T, chat model.ToolCallingChatModel) (url string, flush func() error) {
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
	srv := httptest.NewServer(newServer(mem, chat, http.NotFoundHandler()))
	t.Cleanup(srv.Close)
	return srv.URL, func() error { return mem.Flush(ctx) }
}

func TestUsersInParallelNeverSeeEachOthersFacts(t *testing.T) {
	url, flush := start(t, &demomodel.Model{})
	facts := map[string]string{"ann": "peanuts", "bob": "cats", "ann:bob": "milk", "../ann": "pollen"}
	var group errgroup.Group
	expect := func(user, session, said, want string) {
		group.Go(func() error {
			_, answer, err := post(t.Context(), url, said, "X-User", user, "X-Session", session)
			if err == nil && answer != want {
				err = fmt.Errorf("%s got %q, not %q", user, answer, want)
			}
			return err
		})
	}
	for user, fact := range facts {
		expect(user, "s1", "I am allergic to "+fact+".", "Noted.")
	}
	require.NoError(t, group.Wait())
	require.NoError(t, flush())
	for user, fact := range facts {
		for i := range 3 {
			expect(user, fmt.Sprint("s", i+2), "What am I allergic to?", `You told me: "I am allergic to `+fact+`."`)
		}
	}
	expect("eve", "s1", "What am I allergic to?", "I don't know: you have not told me.")
	require.NoError(t, group.Wait())
}

func TestRequestsThatAreRefused(t *testing.T) {
	url, _ := start(t, &demomodel.Model{})
	for name, tt := range map[string]struct {
		headers []string
		text    string
		status  int
	}{
		"no user":              {nil, "hi", 401},
		"empty user":           {[]string{"X-User", ""}, "hi", 401},
		"two users":            {[]string{"X-User", "ann", "X-User", "bob"}, "hi", 401},
		"user in the body":     {nil, "X-User: ann", 401},
		"everybody":            {[]string{"X-User", "*"}, "hi", 400},
		"session of all":       {[]string{"X-User", "ann", "X-Session", "*"}, "hi", 400},
		"user that is no text": {[]string{"X-User", "\xff"}, "hi", 400},
		"no text":              {[]string{"X-User", "ann"}, " ", 400},
		"too long":             {[]string{"X-User", "ann"}, strings.Repeat("x", maxRequest+1), 400},
	} {
		status, out, err := post(t.Context(), url, tt.text, tt.headers...)
		require.NoError(t, err)
		assert.Equal(t, tt.status, status, "%s: %s", name, out)
	}
	resp, err := http.Get(url + "/chat")
	require.NoError(t, err)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	assert.Equal(t, http.StatusNotFound, resp.StatusCode)
}

// broken is a model that fails, at once or after the first piece of its answer.
type broken struct {
	demomodel.Model
	first string
}

func (b *broken) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	if b.first == "" {
		return nil, errors.New("secret detail")
	}
	reader, writer := schema.Pipe[*schema.Message](2)
	writer.Send(schema.AssistantMessage(b.first, nil), nil)
	writer.Send(nil, errors.New("secret detail"))
	writer.Close()
	return reader, nil
}

func (b *broken) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return b, nil }

func TestAFailingModelIsNotExplainedToClients(t *testing.T) {
	url, _ := start(t, &broken{})
	status, out, err := post(t.Context(), url, "hi", "X-User", "ann")
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadGateway, status)
	assert.NotContains(t, out, "secret")

	url, _ = start(t, &broken{first: "The answer is"})
	_, out, err = post(t.Context(), url, "hi", "X-User", "ann")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a part is not taken for the answer")
	assert.Equal(t, "The answer is", out)
}

// What is said in one run of the program, the next session and the next run know.
func TestStoppingTheServerLosesNothing(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	db := filepath.Join(t.TempDir(), "memory.db")
	for _, turns := range [][]string{
		{"s1", "My bike is red.", "Noted.", "s2", "What colour is my bike?", `You told me: "My bike is red."`},
		{"s3", "What colour is my bike?", `You told me: "My bike is red."`},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		reader, writer := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-db", db}, writer, io.Discard)
			writer.Close()
		}()
		line, err := bufio.NewReader(reader).ReadString('\n')
		require.NoError(t, err)
		url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
		for i := 0; i < len(turns); i += 3 {
			status, answer, err := post(t.Context(), url, turns[i+1], "X-User", "ann", "X-Session", turns[i])
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, turns[i+2], answer)
		}
		// What the page shows of the last answer.
		status, notes, err := fetch(t.Context(), url+"/api/v1/notes?user_id=ann")
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, notes, `"query":"What colour is my bike?"`)
		assert.Contains(t, notes, "My bike is red.")
		cancel() // as a signal does
		require.NoError(t, <-ended)
	}
}

func TestCommandLines(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for _, args := range [][]string{
		{"-db", filepath.Join(t.TempDir(), "no", "such", "memory.db")}, {"-db", filepath.Join(t.TempDir(), "memory.db"), "-addr", "nowhere:-1"},
		{"-colour"}, {"argument"}, {"-db", ""},
	} {
		var stdout bytes.Buffer
		require.Error(t, run(t.Context(), args, &stdout, io.Discard), args)
		assert.Empty(t, stdout.String(), args)
	}
	var stderr bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-h"}, io.Discard, &stderr))
	assert.Contains(t, stderr.String(), "-addr")
}

func TestServersShareARedis(t *testing.T) {
	at := "redis://" + miniredis.RunT(t).Addr()
	p := backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "ann"}
	for i := range 2 {
		db, err := open(t.Context(), at)
		require.NoError(t, err)
		found, err := db.Get(t.Context(), p, "m")
		require.NoError(t, err)
		require.Len(t, found, i)
		_, err = db.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "m", Kind: backends.KindFact, Text: "tea"}})}})
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	_, err := open(t.Context(), "ftp://nowhere")
	require.Error(t, err)
}
