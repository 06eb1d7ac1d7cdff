// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/toolkit/access"
)

type requestID struct{}

// requestIDs adds the id of the request to what is logged under its context.
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
		id := r.Header.Get("X-Request-Id")
		if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(c rune) bool { return c < '!' || c > '~' }) {
			id = backends.NewID()
		}
		w.Header().Set("X-Request-Id", id)
		r = r.WithContext(context.WithValue(r.Context(), requestID{}, id))
		answer, began := &answered{ResponseWriter: w, status: http.StatusOK}, time.Now()
		defer func() {
			took := time.Since(began)
			pattern := r.Pattern // of the innermost mux
			if pattern == "" {
				pattern = "none"
			}
			s.metrics.requests.WithLabelValues(pattern, strconv.Itoa(answer.status)).Observe(took.Seconds())
			s.log.DebugContext(r.Context(), "request", "method", r.Method, "endpoint", pattern, "status", answer.status, "took", took)
		}()
		next.ServeHTTP(answer, r)
	})
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

// Flush lets handlers stream that ask for an http.Flusher.
func (w *answered) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// metrics are what Prometheus reads.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	failures *prometheus.CounterVec
	learnt   *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "einomem_request_seconds",
			Help: "Requests by endpoint and status.", Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30}}, []string{"endpoint", "status"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "einomem_failures_total", Help: "Failures of memory by stage."}, []string{"stage"}),
		learnt:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "einomem_learnt_total", Help: "What became of what was learnt."}, []string{"outcome"}),
	}
	m.registry.MustRegister(m.requests, m.failures, m.learnt, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) failed(_ context.Context, stage string, _ error) {
	m.failures.WithLabelValues(stage).Inc()
}

func (m *metrics) learned(_ context.Context, r *backends.AddResponse) {
	for _, i := range r.Items {
		m.learnt.WithLabelValues(string(i.Outcome)).Inc()
	}
}

// backlog reads how learning goes when it is asked for.
func (m *metrics) backlog(log *working.Memory) { m.registry.MustRegister(&backlog{log}) }

var (
	backlogMessages = prometheus.NewDesc("einomem_backlog_messages", "Messages that were not learnt from.", nil, nil)
	backlogFailing  = prometheus.NewDesc("einomem_backlog_failing_sessions", "Sessions whose last try to learn failed.", nil, nil)
	backlogParked   = prometheus.NewDesc("einomem_backlog_parked", "Stretches of logs that could not be learnt from.", nil, nil)
)

type backlog struct{ log *working.Memory }

func (b *backlog) Describe(out chan<- *prometheus.Desc) {
	out <- backlogMessages
	out <- backlogFailing
	out <- backlogParked
}

func (b *backlog) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	h, err := b.log.Health(ctx)
	if h == nil || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		out <- prometheus.NewInvalidMetric(backlogMessages, err)
		return
	}
	out <- prometheus.MustNewConstMetric(backlogMessages, prometheus.GaugeValue, float64(h.Messages))
	out <- prometheus.MustNewConstMetric(backlogFailing, prometheus.GaugeValue, float64(h.Failing))
	out <- prometheus.MustNewConstMetric(backlogParked, prometheus.GaugeValue, float64(h.Parked))
}

// serve answers keys that open everything.
func (m *metrics) serve(guard *access.Guard) http.HandlerFunc {
	handler := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return func(w http.ResponseWriter, r *http.Request) {
		key, err := guard.Key(r)
		if err == nil {
			err = key.AllowAll(key.Namespace(), false)
		}
		if err != nil {
			http.Error(w, "this needs a key for everything", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}
}
