// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"time"

	"github.com/einomem/einomem/backends"
)

// Settings are what can be set without code. Each field's key is its name in
// snake_case behind that of its section: Task.SuccessThreshold is
// task.success_threshold. It is plain data: copy it with [Settings.Clone].
type Settings struct {
	Language backends.Language // of prompts and formatted answers: en, zh, or nothing for that of the material. Defaults to nothing.
	Task     Task
	Personal Personal
	Tool     Tool
	Limits   Limits  // of requests and model calls; numbers above 0. A timeout is written "90s", or as a number of seconds.
	Prompts  Prompts // instead of those that come with the packages
}

// Task is about what trajectories teach.
type Task struct {
	SuccessThreshold    float64 // score, not 0, from which on an attempt is a success. Defaults to 1.
	SimpleThreshold     float64 // the same where experience is extracted in one pass. Defaults to 0.9.
	ValidationThreshold float64 // the judge's score from which on an experience is kept, above 0 to 1. Defaults to 0.5.
	Duplicate           float64 // cosine from which on two experiences may be one, above 0 to 1. Defaults to 0.9.
	DuplicateWords      float64 // the same of their words, where there is no embedder. Defaults to 0.55.

	Similar      bool    // whether attempts at tasks that are similar are compared, too. Defaults to false.
	SimilarAbove float64 // similarity above which they are, above 0 and below 1. Defaults to 0.3.

	TopK    int  // memories that a retrieval returns where the request does not say. Defaults to 5.
	Rerank  bool // whether a model orders what was found. Defaults to false.
	Rewrite bool // whether a model rewrites it for the task at hand. Defaults to false.

	ForgetAfter  int     // uses after which a memory may be forgotten. Defaults to 5.
	ForgetShare  float64 // share of helpful uses up to which it then is, 0 to 1, itself included. Defaults to 0.5.
	ForgetStrict bool    // whether the share itself is left out, as in ReMe's code. Defaults to false.
	Attempts     int     // tries of one task with what the failures taught. Defaults to 3.
}

// Personal is about what is learnt of people.
type Personal struct {
	MinScore    int                // score, 1 to 3, from which on a statement is kept. Defaults to 2.
	TopK        int                // memories that a retrieval returns where the request does not say. Defaults to 5.
	MaxKnown    int                // known memories that the model is shown. Defaults to 50.
	TimeWeight  float64            // factor of memories of the time that is asked for, at least 1. Defaults to 2.
	TypeWeights map[string]float64 // factors by the type of the observation, not below 0, over reme.DefaultTypeWeights. Defaults to none.
	InWorkspace bool               // whether they are kept in the workspace, as ReMe does, and not with the user. Defaults to false.
}

// Tool is about what calls of tools teach.
type Tool struct {
	History      int           // calls of a tool that are read, the newest; at most 10,000. Defaults to 100.
	Window       int           // of these, calls that statistics and guidelines look at. Defaults to 20.
	RefreshAfter int           // new calls after which a guideline is written anew. Defaults to 10.
	Judge        bool          // whether a model judges each call, and not rules. Defaults to false.
	Keep         time.Duration // how long calls are kept after the last of their month; written "90d", "36h". Defaults to 90 days.

	MaxArguments   int // characters of a call's arguments that are kept. Defaults to 2048.
	MaxResult      int // characters of its result. Defaults to 4096.
	MaxDescription int // tokens that a guideline adds to a tool's description. Defaults to 300.
}

// Limits bound what requests and model calls may cost.
type Limits struct {
	Calls       int           // model calls of one request, repeats included. Defaults to 64.
	Tokens      int           // tokens of one request, of prompts and answers. Defaults to 400,000.
	Prompt      int           // tokens of the material of one prompt: more is divided or shortened. At least 512. Defaults to 12,000.
	Concurrency int           // model calls at the same time, of all requests together. Defaults to 4.
	Timeout     time.Duration // of one model call. Defaults to a minute.
}

const day = 24 * time.Hour

// Default returns the settings that hold where nothing is set.
func Default() *Settings {
	return &Settings{
		Limits: Limits{Calls: 64, Tokens: 400_000, Prompt: 12_000, Concurrency: 4, Timeout: time.Minute},
		Task: Task{
			SuccessThreshold: 1, SimpleThreshold: 0.9, ValidationThreshold: 0.5, Duplicate: 0.9, DuplicateWords: 0.55,
			SimilarAbove: 0.3,
			TopK:         5, ForgetAfter: 5, ForgetShare: 0.5, Attempts: 3,
		},
		Personal: Personal{MinScore: 2, TopK: 5, MaxKnown: 50, TimeWeight: 2},
		Tool: Tool{
			History: 100, Window: 20, RefreshAfter: 10, Keep: 90 * day,
			MaxArguments: 2 << 10, MaxResult: 4 << 10, MaxDescription: 300,
		},
	}
}
