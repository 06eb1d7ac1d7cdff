// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed page/*
var pageFiles embed.FS

// pageTypes are the content types of the page's files. The host's table is not asked: it differs
// from host to host.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// pageRoutes serves the page at "/" and its files at "/page/". It holds nothing of anyone: what
// it shows it asks for under /api/v1, with the key that the reader enters.
func (h *Handler) pageRoutes() {
	if h.cfg.NoPage {
		return
	}
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, f := range files {
		body, err := pageFiles.ReadFile("page/" + f.Name())
		if err != nil {
			panic(err) // likewise
		}
		pattern := "GET /page/" + f.Name()
		if f.Name() == "index.html" {
			pattern = "GET /{$}"
		}
		sum := sha256.Sum256(body)
		tag, kind := `"`+hex.EncodeToString(sum[:12])+`"`, pageTypes[path.Ext(f.Name())]
		h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			head := w.Header()
			head.Set("Content-Type", kind)
			head.Set("ETag", tag)
			head.Set("Cache-Control", "no-cache") // ask each time; the tag makes it cheap
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
		})
	}
}
