// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

// Window shows a model as much of a session as its context holds. Package window makes one. Its
// methods are safe for concurrent use.
type Window interface {
	// History returns the earlier messages of the scope's session, to go in front of the new ones.
	History(ctx context.Context, s Scope) ([]*schema.Message, error)
	// Fitted returns messages as they fit the model's context. Its error says that even the
	// smallest form is too large, and comes with that form. The window reports other failures
	// itself, and shows what it can.
	Fitted(ctx context.Context, s Scope, messages []*schema.Message) ([]*schema.Message, error)
	// Restore returns messages with each placeholder replaced by its original.
	Restore(ctx context.Context, s Scope, messages []*schema.Message) ([]*schema.Message, error)
	// Tools returns the tools by which an agent reads the messages that left its context.
	Tools(ctx context.Context, setup *ToolSetup) ([]tool.BaseTool, error)
}

// Reflection tidies memory in the background. Package reflection makes one.
type Reflection interface {
	// After tells that a turn of the scope ended. It returns at once.
	After(s Scope)
	// Close ends the work under way; every operation ends whole.
	Close(ctx context.Context) error
}

// Profile is a typed document about each user, which facts fill: a *profile.Profile.
type Profile interface {
	Fields() []string // The names of its fields, in their order.
}

// ToolSetup connects the tools of an agent with the program around them. Functions must be
// safe for concurrent use.
type ToolSetup struct {
	Scope   func(ctx context.Context) (Scope, error)           // Returns the scope of a call. Required.
	Begin   func(ctx context.Context, s Scope) context.Context // Returns the context for the writes of a call, as store.Begin does. Optional.
	Private func(ctx context.Context) bool                     // Reports a turn that memory must not keep. Optional. Defaults to IsIncognito.
	Turn    func(ctx context.Context) string                   // Returns the id of the turn in which a call is made, the origin of what it writes. Optional.
	Zone    func(ctx context.Context) *time.Location           // Returns the zone of the days that a call shows. Optional. Defaults to time.UTC.
	Confirm Confirm                                            // Asked before a tool changes memory. Optional.
	OnError func(ctx context.Context, stage string, err error) // Gets failures, under the tool's name. Optional.

	Language Language      // Of descriptions and results. Optional. Defaults to English.
	Timeout  time.Duration // Of a call that asks neither Confirm nor a model. Optional. Defaults to 10 s; unlimited below 0.
}
