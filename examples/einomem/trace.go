// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/einomem/einomem/internal/build"
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
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "einomem"), attribute.String("service.version", build.Version()))))
	listen(spans(provider.Tracer("github.com/einomem/einomem")))
	s.closers = append(s.closers, provider.Shutdown)
	return nil
}

// spans makes a span of each event of Eino. Streams are unused here.
func spans(tracer trace.Tracer) callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			name := string(info.Component) + " " + info.Type
			attributes := []attribute.KeyValue{attribute.String("name", info.Name)}
			if c, ok := in.(*model.CallbackInput); ok && c.Config != nil {
				attributes = append(attributes, attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", c.Config.Model))
			} else if c, ok := in.(*embedding.CallbackInput); ok && c.Config != nil {
				attributes = append(attributes, attribute.String("gen_ai.operation.name", "embeddings"), attribute.String("gen_ai.request.model", c.Config.Model))
			}
			ctx, _ = tracer.Start(ctx, name, trace.WithAttributes(attributes...))
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			span := trace.SpanFromContext(ctx)
			if c, ok := out.(*model.CallbackOutput); ok && c.TokenUsage != nil {
				span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", c.TokenUsage.PromptTokens), attribute.Int("gen_ai.usage.output_tokens", c.TokenUsage.CompletionTokens))
			} else if c, ok := out.(*embedding.CallbackOutput); ok && c.TokenUsage != nil {
				span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", c.TokenUsage.PromptTokens))
			}
			span.End()
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, _ error) context.Context {
			span := trace.SpanFromContext(ctx)
			span.SetStatus(codes.Error, "failed")
			span.End()
			return ctx
		}).Build()
}
