// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"time"

	"github.com/einomem/einomem/backends/reme/flow"
)

// Settings are what can be set without code. Each field's key is its name in
// snake_case behind that of its section: Task.SuccessThreshold is
// task.success_threshold. It is plain data: copy it with [Settings.Clone].
type Settings struct {
	Language flow.Language // of prompts and formatted answers: en, zh, or nothing for that of the material. Defaults to nothing.
	Task     Task
	Personal Personal
	Tool     Tool
	Limits   flow.Limits // of requests and model calls; numbers above 0. A timeout is written "90s", or as a number of seconds.
	Prompts  Prompts     // instead of those that come with the packages
}

// Task is about what trajectories teach.
type Task struct {
	SuccessThreshold    float64 // score from which on an attempt is a success. Defaults to 1.
	SimpleThreshold     float64 // the same where experience is extracted in one pass. Defaults to 0.9.
	ValidationThreshold float64 // the judge's score from which on an experience is kept, above 0 to 1. Defaults to 0.5.
	Duplicate           float64 // likeness from which on two experiences are one, above 0 to 1. Defaults to 0.9.

	Segment          bool    // whether long trajectories are divided by a model first. Defaults to false.
	Similar          bool    // whether attempts at tasks that are alike are compared, too. Defaults to false.
	SimilarAbove     float64 // likeness above which they are, above 0 to 1. Defaults to 0.3.
	SimilarSequences int     // how many of each side are looked at, at most. Defaults to 5.
	SimilarPairs     int     // how many pairs are compared, at most. Defaults to 3.

	TopK       int  // memories that a retrieval returns where the request does not say. Defaults to 5.
	BuildQuery bool // whether a model makes the query of the messages. Defaults to true.
	Rerank     bool // whether a model orders what was found. Defaults to false.
	Rewrite    bool // whether a model rewrites it for the task at hand. Defaults to false.

	ForgetAfter int     // uses after which a memory may be forgotten. Defaults to 5.
	ForgetShare float64 // share of helpful uses up to which it then is, 0 to 1, itself included. Defaults to 0.5.
	Attempts    int     // tries of one task with what the failures taught. Defaults to 3.
}

// Personal is about what is learnt of people.
type Personal struct {
	MinInfo     int                // least worth of a message, 0 to 3. Defaults to 2.
	TopK        int                // memories that a retrieval returns where the request does not say. Defaults to 5.
	Compare     int                // older memories that new statements are compared with. Defaults to 50.
	TimeWeight  float64            // factor of memories of the time that is asked for, at least 1. Defaults to 2.
	TypeWeights map[string]float64 // factors by the type of the observation, not below 0; 1 for those not named. Defaults to none.
	InWorkspace bool               // whether they are kept in the workspace, as ReMe does, and not with the user. Defaults to false.
}

// Tool is about what calls of tools teach.
type Tool struct {
	History      int           // calls of a tool that are read, the newest. Defaults to 100.
	Window       int           // of these, calls that statistics and guidelines look at. Defaults to 20.
	RefreshAfter int           // new calls after which a guideline is written anew. Defaults to 5.
	Judge        bool          // whether a model judges each call. Defaults to true.
	Keep         time.Duration // how long calls are kept after the last of their month; written "90d", "36h". Defaults to 90 days.
}

const day = 24 * time.Hour

// Default returns the settings that hold where nothing is set.
func Default() *Settings {
	s := &Settings{
		Task: Task{
			SuccessThreshold: 1, SimpleThreshold: 0.9, ValidationThreshold: 0.5, Duplicate: 0.9,
			SimilarAbove: 0.3, SimilarSequences: 5, SimilarPairs: 3,
			TopK: 5, BuildQuery: true, ForgetAfter: 5, ForgetShare: 0.5, Attempts: 3,
		},
		Personal: Personal{MinInfo: 2, TopK: 5, Compare: 50, TimeWeight: 2},
		Tool:     Tool{History: 100, Window: 20, RefreshAfter: 5, Judge: true, Keep: 90 * day},
	}
	if models, err := flow.New(&flow.Config{Name: "settings"}); err == nil {
		s.Limits = models.Limits()
	}
	return s
}
