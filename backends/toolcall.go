// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"time"

	"github.com/cloudwego/eino/components/model"
)

// ToolCall is one finished call of a tool.
type ToolCall struct {
	// ID makes a repeated record harmless: a call with a known ID is recorded once.
	// Optional. Defaults to a new one.
	ID        string
	Tool      string        // Required. The tool's name.
	Arguments string        // the arguments as the model wrote them: JSON mostly
	Result    string        // the result; with an error the part that had come by then
	Error     string        // why it failed; empty: it succeeded
	Time      time.Time     // when the call began. Optional. Defaults to now.
	Took      time.Duration // how long it took
	Tokens    int           // of arguments and result. Optional. Defaults to an estimate.
}

// RecordCallsRequest asks a [ToolRecorder] to keep calls.
type RecordCallsRequest struct {
	Scope Scope // Required. Names the workspace.
	Calls []ToolCall
}

// ToolRecorder is implemented by backends that learn how tools behave from their
// calls, as ReMe's tool memory does.
type ToolRecorder interface {
	// RecordCalls takes calls of one workspace. An agent waits for it, so slow work runs
	// after it returns, in the backend's own goroutine. Flush and the backend's Close
	// wait for that work. Many goroutines and processes may call it: every accepted call
	// is stored or its loss reported, and each ID is kept once. A scope without a
	// workspace is [ErrNoScope].
	RecordCalls(ctx context.Context, r *RecordCallsRequest) error
	// Flush waits until every accepted call is stored or has failed. It returns the
	// failures.
	Flush(ctx context.Context) error
}

// ToolGuide is implemented by backends that know how to use tools best.
type ToolGuide interface {
	// GuideTools returns m with the experience of the scope's workspace in the tool
	// descriptions of each call. A failed lookup leaves the call as it is. Each call asks
	// scope anew.
	GuideTools(m model.ToolCallingChatModel, scope func(context.Context) (Scope, error)) model.ToolCallingChatModel
}

// OutcomeRequest reports to a [Judge] how a turn went.
type OutcomeRequest struct {
	Scope Scope   // Required. Names the session of the turn, and the workspace that is to learn from it.
	Turn  string  // Optional. The turn's id. Defaults to the session's newest turn.
	Score float64 // 1 is full success, 0 failure
	Note  string  // Optional. Praise or blame in words; the model that learns sees it.
}

// Judge is implemented by backends that learn from how turns went, as ReMe's task
// memory does.
type Judge interface {
	// RecordOutcome learns from a turn in the log. A repeat of the same outcome changes
	// nothing. An unknown turn is [ErrNotFound].
	RecordOutcome(ctx context.Context, r *OutcomeRequest) (*AddResponse, error)
}
