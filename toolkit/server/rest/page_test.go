// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/toolkit/server/access"
)

// fetch returns the answer to a GET without a key, and its body.
func (s *server) fetch(path string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.url+path, nil)
	require.NoError(s.t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, string(b)
}

func TestThePageIsServedToThoseWithoutAKey(t *testing.T) {
	s := newServer(t, []access.Key{{Name: "shop", Hash: access.Hash("secret"), Users: []string{"ann"}}}, nil)
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/page/app.js": "text/javascript; charset=utf-8",
		"/page/style.css": "text/css; charset=utf-8", "/page/icon.svg": "image/svg+xml",
	} {
		t.Run(path, func(t *testing.T) {
			res, body := s.fetch(path)
			require.Equal(t, http.StatusOK, res.StatusCode)
			require.NotEmpty(t, body)
			require.Equal(t, kind, res.Header.Get("Content-Type"))
			require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
			policy := res.Header.Get("Content-Security-Policy")
			require.Contains(t, policy, "default-src 'none'; script-src 'self'; style-src 'self'")
			require.NotContains(t, policy, "unsafe")
		})
	}
}

func TestTheFilesOfThePageAreAllThereIs(t *testing.T) {
	s := newServer(t, nil, nil)
	for _, path := range []string{"/page/", "/page/none.js", "/page/index.html", "/page/..%2fpage.go", "/index.html", "/favicon.ico"} {
		res, _ := s.fetch(path)
		require.Equal(t, http.StatusNotFound, res.StatusCode, path)
	}
	files, err := pageFiles.ReadDir("page")
	require.NoError(t, err)
	for _, f := range files {
		body, err := pageFiles.ReadFile("page/" + f.Name())
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?:src|href)="(page/[^"]+)"|from '\./([^']+)'`).FindAllStringSubmatch(string(body), -1) {
			res, _ := s.fetch("/page/" + strings.TrimPrefix(m[1], "page/") + m[2])
			require.Equal(t, http.StatusOK, res.StatusCode, "%s asks for %s", f.Name(), m[0])
		}
	}
}

// What the policy would refuse, and what would make markup of a memory's text.
func TestThePageHasNoInlineScriptOrStyleAndParsesNoMarkup(t *testing.T) {
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|style="|<script>|<style|javascript:|\son\w+="|https?://`)
	files, err := pageFiles.ReadDir("page")
	require.NoError(t, err)
	for _, f := range files {
		body, err := pageFiles.ReadFile("page/" + f.Name())
		require.NoError(t, err)
		for i, line := range strings.Split(string(body), "\n") {
			if !strings.Contains(line, "http://www.w3.org/2000/svg") {
				require.False(t, bad.MatchString(line), "%s:%d: %s", f.Name(), i+1, line)
			}
			require.LessOrEqual(t, len([]rune(line)), 140, "%s:%d", f.Name(), i+1)
		}
	}
}

func TestNoPage(t *testing.T) {
	s := newServer(t, nil, func(c *Config) { c.NoPage = true })
	for _, path := range []string{"/", "/page/app.js"} {
		res, _ := s.fetch(path)
		require.Equal(t, http.StatusNotFound, res.StatusCode, path)
	}
	res, _ := s.fetch("/api/v1/me")
	require.Equal(t, http.StatusOK, res.StatusCode)
}
