// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/cloudwego/eino/callbacks"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// traces sends a span for each search, each add and each call of a model to the collector that
// OTEL_EXPORTER_OTLP_ENDPOINT names, if it does. Spans leave out all texts.
func (s *service) traces(ctx context.Context) error {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "einomem"))))
	callbacks.AppendGlobalHandlers(spans(provider.Tracer("github.com/einomem/einomem")))
	s.closers = append(s.closers, provider.Shutdown)
	return nil
}

// spans makes a span of each event of Eino. Streams are unused here.
func spans(tracer trace.Tracer) callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			name := string(info.Component) + " " + info.Type
			ctx, _ = tracer.Start(ctx, name, trace.WithAttributes(attribute.String("name", info.Name)))
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			trace.SpanFromContext(ctx).End()
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, _ error) context.Context {
			span := trace.SpanFromContext(ctx)
			span.SetStatus(codes.Error, "failed")
			span.End()
			return ctx
		}).Build()
}
