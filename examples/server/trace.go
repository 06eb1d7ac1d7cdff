// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/schema"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// traces sends a span for each search, each add and each call of a model to the collector that
// OTEL_EXPORTER_OTLP_ENDPOINT names, if it does. Spans have no text of anybody.
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

// spans makes a span of what Eino reports.
func spans(tracer trace.Tracer) callbacks.Handler {
	end := func(ctx context.Context, err error) context.Context {
		span := trace.SpanFromContext(ctx)
		if err != nil {
			span.SetStatus(codes.Error, "failed")
		}
		span.End()
		return ctx
	}
	start := func(ctx context.Context, info *callbacks.RunInfo) context.Context {
		if info == nil {
			info = &callbacks.RunInfo{}
		}
		ctx, _ = tracer.Start(ctx, string(info.Component)+" "+info.Type, trace.WithAttributes(attribute.String("name", info.Name)))
		return ctx
	}
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			return start(ctx, info)
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			return end(ctx, nil)
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context { return end(ctx, err) }).
		OnEndWithStreamOutputFn(func(ctx context.Context, _ *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
			out.Close()
			return end(ctx, nil)
		}).
		OnStartWithStreamInputFn(func(ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput]) context.Context {
			in.Close()
			return start(ctx, info)
		}).Build()
}
