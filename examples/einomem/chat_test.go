// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	"github.com/einomem/einomem/toolkit/server/access"
)

// say sends a text and returns the status and the whole answer.
func say(ctx context.Context, url, text string, headers ...string) (int, string, error) {
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

// startChat serves chats with the model; flush waits until everything is learnt.
func startChat(t *testing.T, chat model.ToolCallingChatModel) (url string, flush func() error) {
	idle := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, idle) })
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
	guard, err := access.New(&access.Config{})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("POST /chat", &chatServer{mem: mem, guard: guard, model: chat})
	mux.Handle("/", http.NotFoundHandler())
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL, func() error { return mem.Flush(ctx) }
}

func TestUsersInParallelNeverSeeEachOthersFacts(t *testing.T) {
	url, flush := startChat(t, &demomodel.Model{})
	facts := map[string]string{"ann": "peanuts", "bob": "cats", "ann:bob": "milk", "../ann": "pollen"}
	var group errgroup.Group
	expect := func(user, session, said, want string) {
		group.Go(func() error {
			_, answer, err := say(t.Context(), url, said, "X-User", user, "X-Session", session)
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
	url, _ := startChat(t, &demomodel.Model{})
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
		status, out, err := say(t.Context(), url, tt.text, tt.headers...)
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
	t.Run("at once", func(t *testing.T) {
		url, _ := startChat(t, &broken{})
		status, out, err := say(t.Context(), url, "hi", "X-User", "ann")
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadGateway, status)
		assert.NotContains(t, out, "secret")
	})
	// By now the other server is closed: it may learn later, which would look like a leak here.
	t.Run("in its answer", func(t *testing.T) {
		url, _ := startChat(t, &broken{first: "The answer is"})
		_, out, err := say(t.Context(), url, "hi", "X-User", "ann")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a part is not taken for the answer")
		assert.Equal(t, "The answer is", out)
	})
}

// What is said in one run of the program, the next session and the next run know.
func TestStoppingTheServerLosesNothing(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	for _, turns := range [][]string{
		{"s1", "My bike is red.", "Noted.", "s2", "What colour is my bike?", `You told me: "My bike is red."`},
		{"s3", "What colour is my bike?", `You told me: "My bike is red."`},
	} {
		url, _, stop := startCommand(t, "chat", "-store", db)
		for i := 0; i < len(turns); i += 3 {
			status, answer, err := say(t.Context(), url, turns[i+1], "X-User", "ann", "X-Session", turns[i])
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, turns[i+2], answer)
		}
		// What the page shows of the last answer.
		status, notes := get(t, url+"/api/v1/notes?user_id=ann")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, notes, `"query":"What colour is my bike?"`)
		assert.Contains(t, notes, "My bike is red.")
		require.NoError(t, stop()) // as a signal does
	}
}

func TestServersShareARedis(t *testing.T) {
	at := "redis://" + miniredis.RunT(t).Addr()
	p := backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "ann"}
	for i := range 2 {
		db, err := open(t.Context(), at, true)
		require.NoError(t, err)
		found, err := db.Get(t.Context(), p, "m")
		require.NoError(t, err)
		require.Len(t, found, i)
		_, err = db.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "m", Kind: backends.KindFact, Text: "tea"}})}})
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	_, err := open(t.Context(), "ftp://nowhere", true)
	require.Error(t, err)
}
