// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// SSEHandler serves clients of the protocol of 2024-11-05, such as ReMe's own demonstrations, as
// Handler does: with a stream of events, and a session that ends with the stream. Serve it at /sse
// and /sse/.
func (s *Server) SSEHandler() http.Handler {
	all := &streams{server: s.mcp}
	return s.guarded(func(w http.ResponseWriter, r *http.Request) {
		owner := r.Context().Value(connectionKey{}).(*connection).String()
		switch r.Method {
		case http.MethodPost:
			all.receive(w, r, owner)
		case http.MethodGet:
			all.send(w, r, owner)
		default:
			w.Header().Set("Allow", "GET, POST")
			http.Error(w, "GET begins a session", http.StatusMethodNotAllowed)
		}
	})
}

// streams are the sessions of an SSEHandler. The SDK's own handler lets every key write to a
// session whose id it knows.
type streams struct {
	server *sdk.Server
	open   sync.Map // of *stream, by the ids of sessions
}

type stream struct {
	*sdk.SSEServerTransport
	owner string // the key and the scope that began it
}

// send begins a session, and sends its events until the client leaves.
func (all *streams) send(w http.ResponseWriter, r *http.Request, owner string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	id, query := rand.Text(), r.URL.Query() // messages name the scope as the stream does
	query.Set("sessionid", id)
	at := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
	t := &sdk.SSEServerTransport{Endpoint: at.String(), Response: w}
	all.open.Store(id, &stream{t, owner})
	defer all.open.Delete(id)
	session, err := all.server.Connect(r.Context(), t, nil)
	if err != nil {
		return // the client has left
	}
	stop := context.AfterFunc(r.Context(), func() { _ = session.Close() })
	defer stop()
	_ = session.Wait()
}

// receive takes a message of a session.
func (all *streams) receive(w http.ResponseWriter, r *http.Request, owner string) {
	open, _ := all.open.Load(r.URL.Query().Get("sessionid"))
	if x, ok := open.(*stream); ok && x.owner == owner {
		x.ServeHTTP(w, r)
		return
	}
	http.Error(w, "there is no such session of this key and scope", http.StatusNotFound)
}
