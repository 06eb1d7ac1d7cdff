// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// Config configures a [Memory]. It is copied by [New].
type Config struct {
	Keeper   *keeper.Keeper // Required. Keeps the guidelines.
	Sessions store.Sessions // Optional. Keeps the calls. Defaults to the keeper's store.
	// Models writes guidelines, and judges calls if Judge is set. It needs the tools
	// of [AnswerTools]. Optional. Without a model both are done by rules.
	Models *flow.Models
	// Judge has a model judge the calls that are recorded. Optional. Defaults to
	// rules: 0 for an error, also one in words that begin the result, and for a result
	// that says nothing, 1 for every other.
	Judge bool

	// RefreshAfter is how many new calls make a guideline due again, and a first one
	// due at all. Optional. Defaults to 10.
	RefreshAfter int
	Window       int           // Optional. The newest calls that statistics and guidelines are about. Defaults to 20.
	History      int           // Optional. The newest calls that are read at most. Defaults to 100; at most 10,000.
	Keep         time.Duration // Optional. Calls are kept so long after the last one of their month. Defaults to 90 days.

	// MaxArguments and MaxResult bound what is kept of a call, in bytes: beginning and
	// end, with a count of what was left out. Optional. Default to 2 KiB and 4 KiB; at
	// most 64 KiB.
	MaxArguments, MaxResult int
	// MaxDescription bounds what [Memory.Describe] adds to a description, in tokens.
	// Optional. Defaults to 300.
	MaxDescription int

	// Redact takes secrets out of every text before it is stored or shown to a model,
	// after the keeper's own. Of inputs and metadata that are objects, values of fields
	// called like secrets are taken out whatever it does. It must be safe for concurrent use. Optional. Defaults to
	// [RedactSecrets].
	Redact func(string) string

	Language flow.Language // Optional. Of prompts and statistics. Defaults to that of the calls.
	Prompts  *Prompts      // Optional. Empty fields have the defaults of the language.
	// OnError is told what [Memory.Describe] and [Memory.GuideTools] could not look up:
	// they go on without. Optional.
	OnError func(context.Context, error)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.
}

// maxTexts is the most of MaxArguments and MaxResult; see bound.
const maxTexts = 64 << 10

// maxKeep is the longest Keep: older months are looked for one by one.
const maxKeep = 5 * 366 * 24 * time.Hour

func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Keeper == nil {
		return Config{}, fmt.Errorf("toolmem: %w: Config.Keeper is required", backends.ErrInvalid)
	}
	out := *c
	for _, n := range []struct {
		name           string
		value          *int
		fallback, most int
	}{
		{"RefreshAfter", &out.RefreshAfter, 10, 1 << 30},
		{"History", &out.History, 100, 10_000},
		{"Window", &out.Window, 20, 10_000},
		{"MaxArguments", &out.MaxArguments, 2 << 10, maxTexts},
		{"MaxResult", &out.MaxResult, 4 << 10, maxTexts},
		{"MaxDescription", &out.MaxDescription, 300, 1 << 20},
	} {
		if *n.value == 0 {
			*n.value = n.fallback
		}
		if *n.value < 0 || *n.value > n.most {
			return out, fmt.Errorf("toolmem: %s %d: %w: from 1 to %d, or 0 for %d", n.name, *n.value, backends.ErrInvalid, n.most, n.fallback)
		}
	}
	out.History = max(out.History, out.Window)
	return out, out.fill()
}

func (c *Config) fill() error {
	if c.Keep == 0 {
		c.Keep = 90 * 24 * time.Hour
	}
	if c.Keep < 0 || c.Keep > maxKeep {
		return fmt.Errorf("toolmem: Keep %v: %w: above 0 and at most %v", c.Keep, backends.ErrInvalid, maxKeep)
	}
	if err := c.Language.Validate(); err != nil {
		return fmt.Errorf("toolmem: %w", err)
	}
	if c.Sessions == nil {
		c.Sessions = c.Keeper.Store()
	}
	if c.Models == nil {
		none, err := flow.New(&flow.Config{Name: "toolmem"})
		if err != nil {
			return err
		}
		c.Models = none
	}
	if c.Judge && !c.Models.HasModel() {
		return fmt.Errorf("toolmem: Judge: %w", flow.ErrNoModel)
	}
	if c.Redact == nil {
		c.Redact = RedactSecrets
	}
	if c.OnError == nil {
		c.OnError = func(context.Context, error) {}
	}
	if c.Clock == nil {
		c.Clock = backends.SystemClock
	}
	if c.IDs == nil {
		c.IDs = backends.NewID
	}
	return nil
}
