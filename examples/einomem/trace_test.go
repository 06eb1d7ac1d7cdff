// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestASearchIsASpanWithoutItsText(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	listen(spans(provider.Tracer("test"))) // stays, and records nothing that other tests look at
	url, _, _ := start(t)
	status, out := post(t, url+"/api/v1/search", `{"scope":{"user_id":"ann"},"query":"heron"}`)
	require.Equal(t, http.StatusOK, status, out)
	names := map[string]bool{}
	for _, s := range recorder.Ended() {
		names[s.Name()] = true
		for _, a := range s.Attributes() {
			require.NotContains(t, a.Value.String(), "heron")
		}
	}
	require.Contains(t, names, "Memory Mem0")
}
