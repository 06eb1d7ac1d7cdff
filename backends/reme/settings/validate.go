// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
)

// Validate returns what cannot work, all of it, by keys. Each is ErrInvalid.
func (s *Settings) Validate() error {
	var c checks
	c.failed("language", s.Language.Validate())
	c.task(&s.Task)
	c.personal(&s.Personal)
	c.tool(&s.Tool)
	c.atLeast("limits.calls", s.Limits.Calls, 1)
	c.atLeast("limits.tokens", s.Limits.Tokens, 1)
	c.atLeast("limits.prompt", s.Limits.Prompt, task.MinPrompt)
	c.atLeast("limits.concurrency", s.Limits.Concurrency, 1)
	c.positive("limits.timeout", s.Limits.Timeout)
	c.failed("prompts", s.Prompts.Validate())
	return errors.Join(c.found...)
}

func (c *checks) task(t *Task) {
	c.threshold("task.success_threshold", t.SuccessThreshold)
	c.threshold("task.simple_threshold", t.SimpleThreshold)
	c.number("task.validation_threshold", t.ValidationThreshold, math.SmallestNonzeroFloat64, 1)
	c.number("task.duplicate", t.Duplicate, math.SmallestNonzeroFloat64, 1)
	c.number("task.duplicate_words", t.DuplicateWords, math.SmallestNonzeroFloat64, 1)
	c.number("task.similar_above", t.SimilarAbove, math.SmallestNonzeroFloat64, 0.999)
	c.whole("task.top_k", t.TopK, task.MaxTopK)
	c.atLeast("task.forget_after", t.ForgetAfter, 1)
	c.number("task.forget_share", t.ForgetShare, 0, 1)
	c.atLeast("task.attempts", t.Attempts, 1)
}

func (c *checks) personal(p *Personal) {
	c.number("personal.min_score", float64(p.MinScore), 1, 3)
	c.whole("personal.top_k", p.TopK, task.MaxTopK) // of any search
	c.atLeast("personal.max_known", p.MaxKnown, 1)
	c.number("personal.time_weight", p.TimeWeight, 1, math.MaxFloat64)
	for name, weight := range p.TypeWeights {
		c.number("personal.type_weights."+name, weight, 0, math.MaxFloat64)
	}
}

func (c *checks) tool(t *Tool) {
	c.whole("tool.history", t.History, 10_000)
	c.atLeast("tool.window", t.Window, 1)
	if t.Window > t.History {
		c.failed("tool.window", fmt.Errorf("%w: %d calls are more than tool.history, %d", backends.ErrInvalid, t.Window, t.History))
	}
	c.atLeast("tool.refresh_after", t.RefreshAfter, 1)
	if c.positive("tool.keep", t.Keep); t.Keep > maxKeep {
		c.failed("tool.keep", fmt.Errorf("%w: %v is more than %v", backends.ErrInvalid, t.Keep, maxKeep))
	}
	c.whole("tool.max_arguments", t.MaxArguments, 64<<10)
	c.whole("tool.max_result", t.MaxResult, 64<<10)
	c.whole("tool.max_description", t.MaxDescription, 1<<20)
}

// maxKeep is how long package tool keeps calls at most.
const maxKeep = 5 * 366 * day

// checks collects what is wrong.
type checks struct{ found []error }

func (c *checks) failed(key string, err error) {
	if err != nil {
		c.found = append(c.found, fmt.Errorf("%s: %w", key, err))
	}
}

// threshold is of a score of any scale. The packages take 0 for nothing said.
func (c *checks) threshold(key string, x float64) {
	if c.number(key, x, -math.MaxFloat64, math.MaxFloat64); x == 0 {
		c.failed(key, fmt.Errorf("%w: 0 says nothing; a number just above it lets nearly everything pass", backends.ErrInvalid))
	}
}

func (c *checks) number(key string, x, from, to float64) {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		c.failed(key, fmt.Errorf("%w: %v is no number", backends.ErrInvalid, x))
	case x < from || x > to:
		c.failed(key, fmt.Errorf("%w: %v is not %s", backends.ErrInvalid, x, between(from, to)))
	}
}

func between(from, to float64) string {
	switch {
	case to == math.MaxFloat64:
		return fmt.Sprintf("at least %v", from)
	case from == math.SmallestNonzeroFloat64:
		return fmt.Sprintf("above 0 to %v", to)
	}
	return fmt.Sprintf("from %v to %v", from, to)
}

func (c *checks) atLeast(key string, n, least int) {
	if n < least {
		c.failed(key, fmt.Errorf("%w: %d is not at least %d", backends.ErrInvalid, n, least))
	}
}

func (c *checks) whole(key string, n, most int) { c.number(key, float64(n), 1, float64(most)) }

func (c *checks) positive(key string, d time.Duration) {
	if d <= 0 {
		c.failed(key, fmt.Errorf("%w: %v is not above 0", backends.ErrInvalid, d))
	}
}
