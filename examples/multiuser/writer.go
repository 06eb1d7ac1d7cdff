// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// writer is how an answer reaches the client.
type writer interface {
	piece(text string)
	done()
	failed()
}

const sorry = "the assistant cannot answer now"

// whole sends {"text": …} once the answer is complete.
type whole struct {
	w    http.ResponseWriter
	text strings.Builder
}

func (o *whole) piece(text string) { o.text.WriteString(text) }

func (o *whole) done() {
	o.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(o.w).Encode(map[string]string{"text": o.text.String()})
}

func (o *whole) failed() { http.Error(o.w, sorry, http.StatusBadGateway) }

// pieces sends server-sent events: data with {"text": …} for each piece, then an
// event done or error.
type pieces struct {
	w       http.ResponseWriter
	started bool
}

func (o *pieces) piece(text string) {
	if text != "" {
		o.event("", map[string]string{"text": text})
	}
}

func (o *pieces) done()   { o.event("done", map[string]string{}) }
func (o *pieces) failed() { o.event("error", map[string]string{"error": sorry}) }

func (o *pieces) event(name string, data map[string]string) {
	if !o.started {
		o.started = true
		o.w.Header().Set("Content-Type", "text/event-stream")
		o.w.Header().Set("Cache-Control", "no-cache")
	}
	if name != "" {
		fmt.Fprintf(o.w, "event: %s\n", name)
	}
	raw, _ := json.Marshal(data) // strings always marshal
	fmt.Fprintf(o.w, "data: %s\n\n", raw)
	_ = http.NewResponseController(o.w).Flush()
}
