// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package rest serves memory over HTTP: an http.Handler to mount anywhere.
//
//	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend})
//	handler, err := rest.New(&rest.Config{Memory: mem, Store: db})
//	err = http.ListenAndServe("127.0.0.1:8080", handler)
//
// # Endpoints
//
// /openapi.json describes them all. Under /api/v1 are those of this project; the others are
// for clients that exist: of a mem0 server and of the mem0 platform (mem0.go), and of
// agent-memory-server (ams.go).
//
// What may take long answers 202 with a job where the request has "Prefer: respond-async",
// and server-sent events where it has "Accept: text/event-stream".
//
// # Who may do what
//
// Without keys, requests from this machine alone are served: see package access for the rest.
// A scope that the key does not open is 403, whether it holds something or not. In a workspace a
// key acts as its person, and needs Admin for what concerns all of it. Bodies are
// JSON and bounded. There is no CORS, and what a page of another origin sends is refused. Writes are on
// the audit log of the guard. No path of a request reaches the file system.
//
// The handler sets no deadlines on connections. Give the http.Server a ReadTimeout and an
// IdleTimeout.
package rest
