// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"time"

	"github.com/cloudwego/eino/components/model"
)

// ToolCall is one call of a tool, as it ended.
type ToolCall struct {
	// ID makes a repeated record harmless: a call with an ID that is known is not
	// recorded again. Optional. Defaults to a new one.
	ID        string
	Tool      string        // Required. The tool's name.
	Arguments string        // what it was called with, as the model wrote it: JSON mostly
	Result    string        // what it returned; with an error what had come by then
	Error     string        // why it failed; empty: it did not
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
	// RecordCalls takes calls of one workspace. It stands in the way of an agent:
	// what may take long is done after it returned, in the backend's own goroutine,
	// and awaited by Flush and by the backend's Close. Many goroutines and processes
	// may call it: no call that was taken is lost without a word, and none of an ID is
	// kept twice. A scope without a workspace is [ErrNoScope].
	RecordCalls(ctx context.Context, r *RecordCallsRequest) error
	// Flush waits until every call taken so far is stored, or has failed: then it
	// returns the failure.
	Flush(ctx context.Context) error
}

// ToolGuide is implemented by backends that know how tools are best used.
type ToolGuide interface {
	// GuideTools returns m with the experience of the scope's workspace in the
	// descriptions of the tools that each call offers. What cannot be looked up leaves
	// the call as it is. scope is asked in each call.
	GuideTools(m model.ToolCallingChatModel, scope func(context.Context) (Scope, error)) model.ToolCallingChatModel
}

// OutcomeRequest reports to a [Judge] how a turn went.
type OutcomeRequest struct {
	Scope Scope   // Required. Names the session of the turn, and the workspace that is to learn from it.
	Turn  string  // Optional. The turn's id. Defaults to the session's newest turn.
	Score float64 // 1 is full success, 0 failure
	Note  string  // Optional. What was good or wrong, in words; the model that learns sees it.
}

// Judge is implemented by backends that learn from how turns went, as ReMe's task
// memory does.
type Judge interface {
	// RecordOutcome learns from a turn that is in the log. A repeat of the same
	// outcome does nothing. A turn that is not there is [ErrNotFound].
	RecordOutcome(ctx context.Context, r *OutcomeRequest) (*AddResponse, error)
}
