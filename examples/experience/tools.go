// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"

	"github.com/einomem/einomem/examples/experience/internal/cellar"
)

type visitKey struct{}

// withVisit says in which cellar the tools of a run are used.
func withVisit(ctx context.Context, v *cellar.Visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

var errNowhere = errors.New("there is no cellar here")

// in calls f with the visit of the run.
func in(ctx context.Context, f func(*cellar.Visit) (string, error)) (string, error) {
	v, _ := ctx.Value(visitKey{}).(*cellar.Visit)
	if v == nil {
		return "", errNowhere
	}
	return f(v)
}

type bare struct{}

type toward struct {
	Direction string `json:"direction" jsonschema:"required" jsonschema_description:"north, east, south or west"`
}

type within struct {
	Radius int `json:"radius" jsonschema:"required" jsonschema_description:"how far to scan, in cells, from 1 to 5"`
}

type coloured struct {
	Colour string `json:"colour" jsonschema:"required" jsonschema_description:"the colour of the door"`
}

// tools returns what the agent can do in a cellar. The descriptions do not say what
// the rules of its family are.
func tools() ([]tool.BaseTool, error) {
	var out []tool.BaseTool
	var errs []error
	add := func(t tool.BaseTool, err error) { out, errs = append(out, t), append(errs, err) }
	add(utils.InferTool("look", "Tells what is next to you.", func(ctx context.Context, _ bare) (string, error) {
		return in(ctx, (*cellar.Visit).Look)
	}))
	add(utils.InferTool("move", "Goes one cell, and tells what is next to you there.", func(ctx context.Context, a toward) (string, error) {
		return in(ctx, func(v *cellar.Visit) (string, error) { return v.Move(a.Direction) })
	}))
	add(utils.InferTool("inspect", "Tells whether the ground next to you holds.", func(ctx context.Context, a toward) (string, error) {
		return in(ctx, func(v *cellar.Visit) (string, error) { return v.Inspect(a.Direction) })
	}))
	add(utils.InferTool("scan", "Tells where the key, the door and the exit are, as far as they are near enough.", func(ctx context.Context, a within) (string, error) {
		return in(ctx, func(v *cellar.Visit) (string, error) { return v.Scan(a.Radius) })
	}))
	add(utils.InferTool("open_door", "Opens the door next to you with the key that you have.", func(ctx context.Context, a coloured) (string, error) {
		return in(ctx, func(v *cellar.Visit) (string, error) { return v.Open(a.Colour) })
	}))
	return out, errors.Join(errs...)
}

// answered makes an answer of a tool's error, which would end the run: the model is
// to see it and go on.
func answered(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		out, err := next(ctx, in)
		if err != nil && ctx.Err() == nil {
			return &compose.ToolOutput{Result: fmt.Sprintf("error: %v", err)}, nil
		}
		return out, err
	}
}
