// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/rest"
)

type requestID struct{}

// requestIDs adds the id of the request to log records under its context.
type requestIDs struct{ slog.Handler }

func (h requestIDs) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(requestID{}).(string); ok {
		r.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h requestIDs) WithAttrs(a []slog.Attr) slog.Handler { return requestIDs{h.Handler.WithAttrs(a)} }
func (h requestIDs) WithGroup(name string) slog.Handler   { return requestIDs{h.Handler.WithGroup(name)} }

// observe gives each request an id, logs it, and counts it.
func (s *service) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := backends.NewID()
		w.Header().Set("X-Request-Id", id)
		r = r.WithContext(context.WithValue(r.Context(), requestID{}, id))
		answer, began := &answered{ResponseWriter: w, status: http.StatusOK}, time.Now()
		defer func() { s.count(r, answer.status, time.Since(began)) }()
		next.ServeHTTP(answer, r)
	})
}

// count logs a request that was answered, and puts it into the metrics.
func (s *service) count(r *http.Request, status int, took time.Duration) {
	route := r.Pattern[strings.LastIndex(r.Pattern, " ")+1:] // of the innermost mux, without its method
	s.log.DebugContext(r.Context(), "request", "method", r.Method, "route", route, "status", status, "took", took)
	method, scheme, failed := "_OTHER", "http", "" // clients can make up any number of methods
	if slices.Contains(methods, r.Method) {
		method = r.Method
	}
	if r.TLS != nil {
		scheme = "https"
	}
	if status >= http.StatusInternalServerError {
		failed = strconv.Itoa(status)
	}
	requests.WithLabelValues(method, scheme, route, strconv.Itoa(status), failed).Observe(took.Seconds())
}

// answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (w *answered) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *answered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// methods are the ones that a metric tells apart.
var methods = strings.Fields("GET HEAD POST PUT PATCH DELETE CONNECT OPTIONS TRACE")

// The metrics for Prometheus, where OpenTelemetry has conventions by its names. The backlog is as of the last look.
var (
	requests = promauto.NewHistogramVec(prometheus.HistogramOpts{Name: "http_server_request_duration_seconds", Help: "Requests by endpoint and status.",
		Buckets: []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 30}},
		[]string{"http_request_method", "url_scheme", "http_route", "http_response_status_code", "error_type"})
	failures = promauto.NewCounterVec(prometheus.CounterOpts{Name: "einomem_failures_total", Help: "Failures of memory by stage."}, []string{"stage"})
	learnt   = promauto.NewCounterVec(prometheus.CounterOpts{Name: "einomem_learnt_total", Help: "What became of what was learnt."}, []string{"outcome"})
	tokens   = histogram("gen_ai_client_token_usage", "Tokens of calls of models and embedders by memory.", 1, 4, 14,
		"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type")
	asked = histogram("gen_ai_client_operation_duration_seconds", "Calls of models and embedders by memory.", .01, 2, 14,
		"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "error_type")
	searches   = histogram("einomem_search_duration_seconds", "Searches, and whether a part of them failed.", .001, 3, 10, "degraded")
	notes      = histogram("einomem_note_tokens", "Notes that models were shown, and their estimated tokens.", 16, 2, 8)
	messages   = gauge("einomem_backlog_messages", "Messages that were not learnt from.")
	overBudget = gauge("einomem_backlog_over_budget_messages", "Of these, the ones that wait for the next day's budget.")
	lag        = gauge("einomem_learning_lag_seconds", "The age of the oldest message that was not learnt from.")
	failing    = gauge("einomem_backlog_failing_sessions", "Sessions whose last try to learn failed.")
	parked     = gauge("einomem_backlog_parked", "Stretches of logs that could not be learnt from.")
)

func gauge(name, help string) prometheus.Gauge {
	return promauto.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func histogram(name, help string, first, factor float64, n int, labels ...string) *prometheus.HistogramVec {
	return promauto.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(first, factor, n)}, labels)
}

// observe puts an event into the metrics, under the names of OpenTelemetry's conventions for generative AI.
func observe(_ context.Context, e rest.Event) {
	switch e.Operation {
	case "search":
		searches.WithLabelValues(cmp.Or(e.Degraded, "no")).Observe(e.Took.Seconds())
	case "note":
		notes.WithLabelValues().Observe(float64(e.Input))
	default:
		failed := ""
		if e.Err != nil {
			failed = "_OTHER"
		}
		asked.WithLabelValues(e.Operation, e.Provider, e.Model, failed).Observe(e.Took.Seconds())
		for kind, n := range map[string]int{"input": e.Input, "output": e.Output} {
			if n > 0 {
				tokens.WithLabelValues(e.Operation, e.Provider, e.Model, kind).Observe(float64(n))
			}
		}
	}
}

func onError(_ context.Context, stage string, _ error) { failures.WithLabelValues(stage).Inc() }

// onNote keeps a note for the page, and logs how much was shown of whom. Its text stays out of the
// log.
func (s *service) onNote(ctx context.Context, n hooks.Note) {
	s.log.InfoContext(ctx, "shown", "user", n.Scope.UserID, "memories", len(n.Hits))
	s.notes.Record(ctx, n)
	s.usage.Note(ctx, n)
	if s.shows != nil && n.Text != "" {
		fmt.Fprintln(s.shows, n.Text)
	}
}

func (s *service) onLearned(ctx context.Context, r *backends.AddResponse) {
	s.log.InfoContext(ctx, "learnt", "items", len(r.Items))
	for _, i := range r.Items {
		learnt.WithLabelValues(string(i.Outcome)).Inc()
	}
}

// metrics answers admin keys that open everything. It looks at the backlog now.
func (s *service) metrics(w http.ResponseWriter, r *http.Request) {
	key, err := s.guard.Key(r)
	if err == nil {
		_, err = key.OpenAll("", access.Read)
	}
	if err != nil {
		http.Error(w, "this needs a key with admin, for everything", http.StatusForbidden)
		return
	}
	if h, err := s.mem.Working().Health(r.Context()); err == nil {
		messages.Set(float64(h.Messages))
		failing.Set(float64(h.Failing))
		parked.Set(float64(h.Parked))
		overBudget.Set(float64(h.OverBudget))
		lag.Set(0)
		if !h.Oldest.IsZero() {
			lag.Set(max(0, time.Since(h.Oldest).Seconds()))
		}
	}
	promhttp.Handler().ServeHTTP(w, r)
}

// listeners get Eino's events. Eino takes handlers of a process only before its first event, so one
// handler is there from the start and passes events on to those that come later.
var listeners = listening()

func listen(h callbacks.Handler) {
	for {
		old := listeners.Load()
		if more := append(slices.Clone(*old), h); listeners.CompareAndSwap(old, &more) {
			return
		}
	}
}

func listening() *atomic.Pointer[[]callbacks.Handler] {
	to := &atomic.Pointer[[]callbacks.Handler]{}
	to.Store(&[]callbacks.Handler{})
	each := func(ctx context.Context, tell func(context.Context, callbacks.Handler) context.Context) context.Context {
		for _, h := range *to.Load() {
			ctx = tell(ctx, h)
		}
		return ctx
	}
	callbacks.AppendGlobalHandlers(callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, of *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			return each(ctx, func(ctx context.Context, h callbacks.Handler) context.Context { return h.OnStart(ctx, of, in) })
		}).
		OnEndFn(func(ctx context.Context, of *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			return each(ctx, func(ctx context.Context, h callbacks.Handler) context.Context { return h.OnEnd(ctx, of, out) })
		}).
		OnErrorFn(func(ctx context.Context, of *callbacks.RunInfo, err error) context.Context {
			return each(ctx, func(ctx context.Context, h callbacks.Handler) context.Context { return h.OnError(ctx, of, err) })
		}).Build())
	return to
}
