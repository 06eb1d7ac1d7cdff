// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import "github.com/einomem/einomem/backends/reme/flow"

// Prompts are the texts that tell the model what to do, one a step. They are plain:
// the material, the answer's form and that the material is data follow them.
type Prompts struct {
	Success           string // what made an attempt succeed
	Failure           string // what made an attempt fail
	Comparative       string // what sets the best attempt at a task apart from the worst
	Similar           string // the same of attempts at two tasks that are alike
	Judge             string // whether experiences are worth keeping
	Segment           string // where a trajectory falls into parts
	Simple            string // what an attempt teaches, in one pass
	SimpleComparative string // what two attempts at a task teach, in one pass
}

// DefaultPrompts returns the prompts in a language; English for LanguageAuto.
func DefaultPrompts(flow.Language) Prompts { return Prompts{} }
