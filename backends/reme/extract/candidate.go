// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import "time"

// Source says what taught a candidate.
type Source string

// The sources.
const (
	SourceSuccess     Source = "success"
	SourceFailure     Source = "failure"
	SourceComparative Source = "comparative" // of the best and the worst attempt, or of two similar ones
	SourceSimple      Source = "simple"      // of one pass, unjudged
)

// StepType says at which kind of step an experience helps.
type StepType string

// The step types.
const (
	StepReasoning   StepType = "reasoning"
	StepAction      StepType = "action"
	StepObservation StepType = "observation"
	StepDecision    StepType = "decision"
)

// Candidate is something that a trajectory may have taught: both texts are there and
// hold words.
type Candidate struct {
	WhenToUse  string         `json:"when_to_use"`          // the situation in which it helps
	Content    string         `json:"content"`              // the experience
	Tags       []string       `json:"tags,omitempty"`       // keywords
	Confidence float64        `json:"confidence,omitempty"` // the extracting model's own, 0 to 1; 0: it did not say
	StepType   StepType       `json:"step_type,omitempty"`  // empty: the model did not say
	ToolsUsed  []string       `json:"tools_used,omitempty"` // names of tools
	Source     Source         `json:"source"`
	Quality    *float64       `json:"quality,omitempty"`  // the judge's score, 0 to 1; nil: nobody judged
	Feedback   string         `json:"feedback,omitempty"` // what the judge said of it
	Extra      map[string]any `json:"extra,omitempty"`    // what else the model said, as JSON values

	// Of the trajectory that taught it; of a comparison, of the better one.
	TaskID   string    `json:"task_id,omitempty"`
	Query    string    `json:"query,omitempty"` // the task in words; of very long ones the beginning and the end, with a word on it
	Score    float64   `json:"score"`           // how well it went
	Session  string    `json:"session,omitempty"`
	Turn     string    `json:"turn,omitempty"`
	Observed time.Time `json:"observed,omitzero"`

	// Material is the part of the trajectory that taught it, as the judge is shown it.
	// It is not for storing.
	Material string `json:"-"`
}
