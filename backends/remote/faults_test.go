// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
)

func text(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestErrorsNameTheCauseAndTheWayOut(t *testing.T) {
	const private = "what Ann said"
	for name, c := range map[string]struct {
		answer    http.HandlerFunc
		sentinels []error
		says      string
	}{
		"401":       {text(401, "application/json", `{"detail":"Invalid key `+key+`"}`), []error{backends.ErrDenied, backends.ErrUnavailable}, "Invalid key [API key]"},
		"403":       {text(403, "application/json", `{"detail":"set APIKey"}`), []error{backends.ErrDenied, backends.ErrUnavailable}, "set APIKey"},
		"404":       {text(404, "application/json", `{"detail":"Not Found"}`), []error{backends.ErrUnavailable}, "check BaseURL"},
		"422":       {text(422, "application/json", `{"detail":[{"loc":["body"],"msg":"bad","input":"`+private+`"}]}`), []error{backends.ErrInvalid}, "Unprocessable Entity"},
		"400":       {text(400, "application/json", `{"error":"too long"}`), []error{backends.ErrInvalid}, "too long"},
		"413":       {text(413, "text/html", `<h1>large</h1>`), []error{backends.ErrInvalid}, "413"},
		"429":       {text(429, "application/json", `{}`), []error{backends.ErrUnavailable}, "429"},
		"500":       {text(500, "text/plain", `Internal Server Error`), []error{backends.ErrUnavailable}, "Internal Server Error"},
		"html":      {text(200, "text/html", `<html>welcome</html>`), []error{backends.ErrUnavailable}, "check BaseURL"},
		"truncated": {text(200, "application/json", `{"results": [{"id": "1"`), []error{backends.ErrUnavailable}, "check BaseURL"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			for range 17 {
				_, _ = w.Write([]byte(strings.Repeat(" ", 1<<20)))
			}
		}, []error{backends.ErrUnavailable}, "at most 16777216 bytes"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"results": []}`))
		}, []error{backends.ErrUnavailable}, "EOF"},
		"silence": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has gone
			<-r.Context().Done()
		}, []error{backends.ErrUnavailable}, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(c.answer)
			defer srv.Close()
			cfg := config(srv.URL, nil)
			if name == "silence" {
				cfg.Timeout = 10 * time.Millisecond
			}
			b := must(remote.NewMem0(cfg))(t)
			_, searching := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: private})
			_, adding := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said(private)})
			for _, err := range []error{searching, adding} {
				for _, s := range c.sentinels {
					require.ErrorIs(t, err, s)
				}
				require.NotErrorIs(t, err, backends.ErrNotFound)
				require.ErrorContains(t, err, c.says)
				require.NotContains(t, err.Error(), key)
				require.NotContains(t, err.Error(), private)
			}
		})
	}
}

func TestNothingListensIsUnavailable(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	b := must(remote.NewMem0(config(srv.URL+"/base", nil)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

// down returns an address where nothing listens, or where nobody answers.
func down(t *testing.T, hangs bool) string {
	if !hangs {
		srv := httptest.NewServer(http.NotFoundHandler())
		srv.Close()
		return srv.URL
	}
	held := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	t.Cleanup(func() { close(held); srv.Close() })
	return srv.URL
}

func TestAServerThatIsDownHidesNothingOfTheLog(t *testing.T) {
	for name, open := range map[string]func(*remote.Config) (backends.Backend, error){
		"mem0":    func(c *remote.Config) (backends.Backend, error) { return remote.NewMem0(c) },
		"einomem": func(c *remote.Config) (backends.Backend, error) { return remote.NewEinomem(c) },
	} {
		for says, hangs := range map[string]bool{"connection refused": false, "no answer within": true} {
			b := must(open(&remote.Config{BaseURL: down(t, hangs)}))(t) // it retries
			r := &backends.SearchRequest{Scope: ann, Query: "Where does Ann live?", Beside: []backends.Memory{
				{ID: "1", Kind: backends.KindEpisode, Text: "Ann lives in Oslo.", Scope: ann},
			}}
			for n := range 20 { // the first search takes the time; of the others those that probe
				ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
				found, err := b.Search(ctx, r)
				cancel()
				require.NoError(t, err, "%s, %d", name, n)
				require.Len(t, found.Hits, 1)
				require.ErrorIs(t, found.Degraded, backends.ErrUnavailable)
				require.ErrorContains(t, found.Degraded, says, name)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
			_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("Ann sails."), Author: backends.AuthorAgent})
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, says, name)
			r.Beside = nil
			_, err = b.Search(ctx, r)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, says, name)
			cancel()
		}
	}
}

// Page 404s of a proxy do not mean that a memory is not there.
func TestNotFoundIsTheServersWord(t *testing.T) {
	for contentType, body := range map[string]string{"text/html": "<h1>404</h1>", "application/json": `{"code":"not_found","error":"not found"}`} {
		srv := httptest.NewServer(text(404, contentType, body))
		b := must(remote.NewEinomem(config(srv.URL, nil)))(t)
		_, err := b.Get(t.Context(), &backends.GetRequest{Scope: ann, ID: "1"})
		require.Equal(t, contentType == "application/json", errors.Is(err, backends.ErrNotFound), "%v", err)
		srv.Close()
	}
}

// roundTrip answers without a network, so that waits take no time.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), r.Context().Err() }

func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		retryAfter string
		learns     bool
		requests   int
		waits      time.Duration // at least
		fails      bool
	}{
		"a search after a 500":             {500, "", false, 2, 500 * time.Millisecond, false},
		"not before Retry-After":           {429, "7", false, 2, 7 * time.Second, false},
		"not where it ends after the call": {503, "60", false, 1, 0, true},
		"learning is not repeated":         {500, "", true, 1, 0, true},
		"unless it was refused":            {429, "3", true, 2, 3 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				cfg := config("http://memory", nil)
				cfg.MaxRetries = 3
				cfg.HTTPClient = &http.Client{Transport: roundTrip(func(*http.Request) *http.Response {
					w := httptest.NewRecorder()
					if requests++; requests == 1 {
						w.Header().Set("Retry-After", c.retryAfter)
						w.WriteHeader(c.status)
					} else {
						_, _ = w.WriteString(`{"results": []}`)
					}
					return w.Result()
				})}
				b := must(remote.NewMem0(cfg))(t)
				began := time.Now()
				var err error
				if c.learns {
					_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said("x")})
				} else {
					_, err = b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x"})
				}
				require.Equal(t, c.fails, err != nil, "%v", err)
				require.Equal(t, c.requests, requests)
				require.GreaterOrEqual(t, time.Since(began), c.waits)
			})
		})
	}
}

func TestNothingGoesToAnotherHost(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("unexpected request %s", r.URL) }))
	defer elsewhere.Close()
	here := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer here.Close()
	b := must(remote.NewMem0(config(here.URL, nil)))(t)
	_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "status 307")
}

func TestScopesAndConfigsAreChecked(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("unexpected request %s", r.URL) }))
	defer srv.Close()
	m := must(remote.NewMem0(config(srv.URL, nil)))(t)
	r := must(remote.NewReMe(config(srv.URL, nil)))(t)
	a := must(remote.NewAgentMemoryServer(config(srv.URL, nil)))(t)
	for _, b := range []backends.Backend{m, r, a, vectorsOf(t, &place{}, nil)} {
		for s, want := range map[backends.Scope]error{
			{}: backends.ErrNoScope, {SessionID: "s"}: backends.ErrNoScope,
			{UserID: "*"}: backends.ErrInvalid, {UserID: "a\x00"}: backends.ErrInvalid, {UserID: " "}: backends.ErrInvalid,
		} {
			_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "x"})
			require.ErrorIs(t, err, want, "%T %+v", b, s)
			_, err = b.Add(t.Context(), &backends.AddRequest{Scope: s, Messages: said("x")})
			require.ErrorIs(t, err, want, "%T %+v", b, s)
		}
		for _, bad := range []*backends.SearchRequest{nil, {Scope: ann, Query: "x", TopK: -1}, {Scope: ann, Query: "x", AsOf: time.Unix(1, 0)}} {
			_, err := b.Search(t.Context(), bad)
			require.ErrorIs(t, err, backends.ErrInvalid)
		}
		_, err := b.Add(t.Context(), nil)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.Empty(t, must(b.Add(t.Context(), &backends.AddRequest{Scope: ann}))(t).Items)
		require.NoError(t, b.Close(t.Context()))
	}
	for _, url := range []string{"", "memory:8000", "ftp://memory", "http://user:password@memory", "http://memory?key=x"} {
		_, err := remote.NewMem0(&remote.Config{BaseURL: url})
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.NotContains(t, fmt.Sprint(err), "password")
	}
	_, err := remote.NewVectors(&remote.VectorsConfig{})
	require.ErrorIs(t, err, backends.ErrInvalid)
}
