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
// /openapi.json describes them all. The endpoints under /api/v1 are this project's; the others are
// for existing clients: of a mem0 server and of the mem0 platform (mem0.go), and of
// agent-memory-server (ams.go).
//
// Long requests answer 202 with a job if they have "Prefer: respond-async", and server-sent events
// if they have "Accept: text/event-stream".
//
// # Keys and limits
//
// Without keys only requests from this machine are served: see package access for the rest. A scope
// that is closed to the key is 403, whatever it holds. In a workspace a key acts as its person, and
// needs Admin for the whole of it. Bodies are JSON and bounded. There is no CORS, and requests from
// pages of other origins are refused. Writes are on the audit log of the guard. Paths of requests
// never reach the file system.
//
// The handler leaves the deadlines of connections to the program. Give the http.Server a
// ReadTimeout and an IdleTimeout.
package rest
