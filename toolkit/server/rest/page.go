// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"embed"
	"net/http"
	"path"
)

//go:embed page/*
var pageFiles embed.FS

// pageTypes are the content types of the page's files, because the host's table differs from host
// to host.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// pageRoutes serves the page at "/" and its files at "/page/". The page itself is the same for
// everyone: it asks for its contents under /api/v1, with the key that the reader enters.
func (h *Handler) pageRoutes() {
	if h.cfg.NoPage {
		return
	}
	files, _ := pageFiles.ReadDir("page") // all of its files are embedded
	for _, f := range files {
		body, _ := pageFiles.ReadFile("page/" + f.Name())
		pattern := "GET /page/" + f.Name()
		if f.Name() == "index.html" {
			pattern = "GET /{$}"
		}
		h.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", pageTypes[path.Ext(f.Name())])
			_, _ = w.Write(body)
		})
	}
}
