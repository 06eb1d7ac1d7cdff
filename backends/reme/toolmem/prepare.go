// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// Why a call is not kept, beside an illegal name.
var (
	errBlank  = errors.New("the call has neither an input nor an output")
	errFuture = errors.New("the call's time lies in the future")
)

// prepare returns a call as it is kept: complete, without secrets, and bounded. An
// error says why it cannot be kept.
func (m *Memory) prepare(c Call) (Call, error) {
	var err error
	if c.Tool, err = toolName(c.Tool); err != nil {
		return c, err
	}
	if c.Time, err = m.time(c.Time); err != nil {
		return c, err
	}
	c = c.bounded()
	if c.Input, err = plain(c.Input); err != nil {
		return c, fmt.Errorf("the input is no JSON: %w", err)
	}
	if c.blank() {
		return c, errBlank
	}
	meta, err := plain(c.Metadata)
	if err != nil {
		return c, fmt.Errorf("the metadata is no JSON: %w", err)
	}
	c.Metadata, _ = redactInput(meta, m.redact).(map[string]any)
	if size := len(readableJSON(c.Metadata)); size > m.cfg.MaxResult {
		c.Metadata = map[string]any{"left_out_bytes": size}
	}
	if c.Tokens == 0 {
		count := m.cfg.Models.Counter()
		c.Tokens = count.Text(readable(c.Input)) + count.Text(c.Output)
	}
	if c.ID == "" {
		c.ID = m.cfg.IDs()
	}
	if store.ValidateID("call", c.ID) != nil {
		c.ID = keeper.HashID("call", c.ID)
	}
	c.Tokens, c.Took, c.Failed = max(c.Tokens, -1), max(c.Took, 0), c.failed()
	return m.clean(c), nil
}

// clean takes secrets out, computes the hash of what is left, and then shortens it: so
// repeats are known whatever was left out of them, and no hash is one of a secret.
func (m *Memory) clean(c Call) Call {
	c.Input = redactInput(c.Input, m.redact)
	c.Output, c.Error = m.redact(c.Output), m.redact(c.Error)
	c.Summary, c.Evaluation = clip(m.redact(c.Summary), m.cfg.MaxResult), clip(m.redact(c.Evaluation), m.cfg.MaxResult)
	if c.Hash == "" || store.ValidateID("hash", c.Hash) != nil {
		c.Hash = Hash(c.Input, c.Output)
	}
	c.Judge = clip(m.redact(c.Judge), maxName)
	if c.Score != nil {
		score := binary(*c.Score) // NaN is 0
		c.Score = &score
	}
	c.Input = clipInput(c.Input, m.cfg.MaxArguments)
	c.Output, c.Error = clip(c.Output, m.cfg.MaxResult), clip(c.Error, m.cfg.MaxResult)
	return c
}

func (m *Memory) time(t time.Time) (time.Time, error) {
	now := m.cfg.Clock()
	switch {
	case t.IsZero():
		return now, nil
	case t.After(now.Add(skew)):
		return t, errFuture
	case t.Before(now.Add(-m.cfg.Keep)):
		return t, fmt.Errorf("the call is older than the %v for which calls are kept: see Config.Keep", m.cfg.Keep)
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// bound is the most of a text that is looked at at all, in bytes: of a longer one the
// beginning, the end and the length. It is more than twice what is kept, so that a
// secret that it cuts in two is never seen.
const bound = 4 * maxTexts

// bounded returns the call with its texts bounded, and sharing no memory with longer
// ones: it may wait in a queue.
func (c Call) bounded() Call {
	c.Output, c.Error = clip(c.Output, bound), clip(c.Error, bound)
	c.Summary, c.Evaluation = clip(c.Summary, bound), clip(c.Evaluation, bound)
	switch x := c.Input.(type) {
	case string:
		c.Input = clip(x, bound)
	case map[string]any, []any:
		if heavy(x) {
			c.Input = lighter(x)
		}
	}
	if heavy(c.Metadata) {
		if size := len(readableJSON(c.Metadata)); size > 0 { // else it is no JSON
			c.Metadata = map[string]any{"left_out_bytes": size}
		}
	}
	return c
}

// heavy reports whether the texts of an object are longer than what is looked at.
func heavy(v any) bool {
	room := bound
	var weigh func(any)
	weigh = func(v any) {
		if room--; room < 0 {
			return // also in what contains itself
		}
		switch x := v.(type) {
		case string:
			room -= len(x)
		case []any:
			for i := 0; i < len(x) && room >= 0; i++ {
				weigh(x[i])
			}
		case map[string]any:
			for k, e := range x {
				if room -= len(k); room < 0 {
					return
				}
				weigh(e)
			}
		}
	}
	weigh(v)
	return room < 0
}

// lighter returns an object with its longest texts bounded, or where that is not enough
// as a bounded text without the values of fields that are called like secrets. What
// cannot be written stays: it is told of when it is recorded.
func lighter(v any) any {
	p, err := plain(v)
	if err != nil {
		return v
	}
	if p = clipLeaves(p, bound/2); !heavy(p) {
		return p
	}
	return clip(readableJSON(redactInput(p, func(s string) string { return s })), bound)
}

// maxLeaf is what is kept of a text inside an input that is too large, in bytes.
const maxLeaf = 256

// clipInput keeps an input within so many bytes of JSON: first long texts in it are
// shortened; if that is not enough, it becomes a shortened text as a whole.
func clipInput(v any, limit int) any {
	if s, ok := v.(string); ok {
		return clip(s, limit)
	}
	if size(v) <= limit {
		return v
	}
	if short := clipLeaves(v, min(maxLeaf, max(limit/4, 16))); size(short) <= limit {
		return short
	}
	return clip(readableJSON(v), limit)
}

func size(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(raw)
}

func clipLeaves(v any, limit int) any {
	switch x := v.(type) {
	case string:
		return clip(x, limit)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = clipLeaves(e, limit)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = clipLeaves(e, limit)
		}
		return out
	}
	return v
}
