// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// Config configures a [Handler]. [New] copies it.
type Config struct {
	Memory access.Memory // The memory to serve. Required. It stays the caller's to close.
	// Guard finds the key of a request. Optional. Defaults to a guard without keys, which serves
	// only this machine.
	Guard *access.Guard
	// Store lists people, their sessions, and failed learning. Optional. Without it these answer
	// 404.
	Store store.Store
	// Reflector drafts suggestions for tidying a memory, which wait for approval. Optional. Defaults
	// to the one that tidies Memory in the background; without any there are no suggestions.
	Reflector *reflection.Reflector
	Notes     *Notes // The notes of the last replies. Optional.
	Usage     *Usage // What memory costs. Optional. It stays the caller's to close.
	// Flows are ReMe's endpoints. Optional. Without them they answer 404.
	Flows *flows.Flows
	// Profile is the typed document about each user, a *profile.Profile, for clients of mem0.
	// Optional. Without it they are told that profiles are off.
	Profile interface {
		Document(ctx context.Context, s backends.Scope) (map[string]any, error)
	}
	// AlwaysOK answers a failure of ReMe's endpoints with 200 and success false, as ReMe does,
	// unless key, body or rate are wrong. Optional. Defaults to status codes.
	AlwaysOK bool

	MaxBody int64         // Optional. Of a request, in bytes; imports may have any size. Defaults to 4 MiB.
	Timeout time.Duration // Optional. Of one request. Defaults to 30 s; requests that call a model, imports and exports have 10 min.

	NoPage bool           // Leave out the page at "/".
	Log    *slog.Logger   // Optional. Gets failures inside the server. Defaults to slog.Default().
	Clock  backends.Clock // Optional. Defaults to backends.SystemClock.
}

// Handler serves memory over HTTP. It is safe for concurrent use. Close it: it may have running
// jobs.
type Handler struct {
	cfg      Config // without Memory and Store, which the door holds
	door     *access.Door
	mux      *http.ServeMux
	paced    http.Handler // mux, with a pace for clients
	routes   []*route
	stored   bool     // there is a Store
	features []string // our own features that the configuration turns on
	jobs     jobs
	plans    *plans                 // nil: the backend has none
	streams  map[bool]chan struct{} // reading ones or, under true, writing ones, which hold some megabytes each
	origin   *http.CrossOriginProtection
}

// New returns a handler, or backends.ErrInvalid.
func New(cfg *Config) (*Handler, error) {
	if cfg == nil || cfg.Memory == nil {
		return nil, fmt.Errorf("%w: rest: Config.Memory is required", backends.ErrInvalid)
	}
	h := &Handler{cfg: *cfg, door: access.NewDoor(cfg.Memory, cfg.Store), mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(), jobs: jobs{byID: map[string]*job{}}}
	h.streams = map[bool]chan struct{}{false: make(chan struct{}, exports), true: make(chan struct{}, imports)}
	h.paced = access.Paced(h.mux)
	h.jobs.life = work.NewService(context.Background(), errClosing, nil)
	c := &h.cfg
	c.MaxBody, c.Timeout = cmp.Or(c.MaxBody, 4<<20), cmp.Or(c.Timeout, 30*time.Second)
	c.Log, c.Clock = cmp.Or(c.Log, slog.Default()), work.Clock(c.Clock)
	if c.Guard == nil {
		c.Guard, _ = access.New(nil) // an empty list of keys is valid
	}
	h.plans = newPlans(cfg.Reflector, cfg.Memory)
	cfg.Memory.ForgetsAlso(h.places()...)
	h.stored = c.Store != nil
	h.memoryRoutes()
	h.peopleRoutes()
	h.planRoutes()
	h.sessionRoutes()
	h.jobRoutes()
	h.remeRoutes()
	h.mem0Routes()
	h.amsRoutes()
	h.pageRoutes()
	h.mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, errorBody{Code: "not_found", Error: "this server does not offer " + r.Method + " " + r.URL.Path + ": /openapi.json lists what it does"})
	})
	c.Memory, c.Store = nil, nil
	return h, h.document()
}

// places are the stores of people's data in this package.
func (h *Handler) places() []backends.Place {
	out := []backends.Place{{Name: "results of jobs", Forget: h.jobs.forget}}
	if h.plans != nil {
		out = append(out, backends.Place{Name: "suggestions that wait", Forget: h.plans.forget})
	}
	if h.cfg.Notes != nil {
		out = append(out, backends.Place{Name: "notes that were shown", Forget: h.cfg.Notes.forget})
	}
	if h.cfg.Flows != nil {
		out = append(out, h.cfg.Flows.Place())
	}
	return out
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-store")
	head.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	if err := h.origin.Check(r); err != nil {
		write(w, http.StatusForbidden, errorBody{Code: "denied", Error: "requests from pages of other origins are refused"})
		return
	}
	h.paced.ServeHTTP(w, r)
}
