// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/keeper"
)

// DefaultTarget is the name of a user who has none.
const DefaultTarget = "user"

// Config configures [Flows]. It is copied by [New].
type Config struct {
	Keeper *keeper.Keeper // Required. Keeps and finds the memories.
	// Models is what is asked. Required; it may be without a model, then only
	// [Flows.Verbatim] learns. Its tools hold those of [AnswerTools].
	Models *flow.Models

	Language flow.Language // Optional. Of the prompts and of answers. Defaults to that of the material.
	Prompts  *Prompts      // Optional. Empty fields are those of [DefaultPrompts].
	Author   string        // Optional. The Origin.Author of what a model wrote down. Defaults to "model".

	// InWorkspace keeps personal memories in the workspace, as ReMe does, where the
	// target's name tells them apart. Optional. Defaults to the partition of the user,
	// else of the agent.
	InWorkspace bool
	// Location is the zone in which "yesterday" is meant and days begin. Optional.
	// Defaults to UTC.
	Location *time.Location

	// TypeWeights weigh memories by Metadata["observation_type"], else
	// Metadata["memory_type"]; types that it does not name have 1. Optional. Defaults
	// to [DefaultTypeWeights].
	TypeWeights map[string]float64
	// TimeWeight weighs memories of the time that a query names; at least 1.
	// Optional. Defaults to 2.
	TimeWeight float64
	// MaxKnown is how many known memories new observations are compared with.
	// Optional. Defaults to 50.
	MaxKnown int
	// MinScore is the score, 1 to 3, from which on what was said is looked at closer:
	// see [Prompts]. Optional. Defaults to 2.
	MinScore int

	Clock backends.Clock // Optional. Defaults to the Keeper's.
	// IDs makes the ids of memories. Optional. Defaults to ids that follow from what a
	// memory says, so that two processes that learn it at the same time store it once.
	IDs backends.IDSource
}

// DefaultTypeWeights returns the weights of ReMe 0.2.
func DefaultTypeWeights() map[string]float64 {
	return map[string]float64{"conversation": 0.5, "observation": 1, "obs_customized": 1.2, "insight": 2}
}

// Flows learns about people and finds what is known about them. It is safe for
// concurrent use.
type Flows struct{ config Config }

// New returns the flows. A configuration that cannot work is ErrInvalid.
func New(cfg *Config) (*Flows, error) {
	if cfg == nil || cfg.Keeper == nil || cfg.Models == nil {
		return nil, fmt.Errorf("personal: %w: Config.Keeper and Config.Models are required", backends.ErrInvalid)
	}
	c := *cfg
	if c.Author == "" {
		c.Author = "model"
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	if c.TypeWeights == nil {
		c.TypeWeights = DefaultTypeWeights()
	}
	c.TypeWeights = maps.Clone(c.TypeWeights)
	if c.TimeWeight == 0 {
		c.TimeWeight = 2
	}
	if c.MaxKnown == 0 {
		c.MaxKnown = 50
	}
	if c.MinScore == 0 {
		c.MinScore = 2
	}
	if c.Clock == nil {
		c.Clock = c.Keeper.Now
	}
	if c.Prompts == nil {
		c.Prompts = &Prompts{}
	}
	own := *c.Prompts
	c.Prompts = &own
	return &Flows{config: c}, c.validate()
}

func (c *Config) validate() error {
	if err := c.Language.Validate(); err != nil {
		return fmt.Errorf("personal: %w", err)
	}
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("personal: %w: "+format, append([]any{backends.ErrInvalid}, args...)...)
	}
	switch {
	case !(c.TimeWeight >= 1) || math.IsInf(c.TimeWeight, 0):
		return invalid("TimeWeight %v: at least 1, which is none", c.TimeWeight)
	case c.MaxKnown < 0:
		return invalid("MaxKnown %d: above 0, or 0 for 50", c.MaxKnown)
	case c.MinScore < 1 || c.MinScore > 3:
		return invalid("MinScore %d: 1 to 3, or 0 for 2", c.MinScore)
	}
	for name, w := range c.TypeWeights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return invalid("the weight %v of type %q: a number of at least 0", w, name)
		}
	}
	return nil
}

// place is where the memories of a request are: whose they are, and about whom.
type place struct {
	scope     backends.Scope
	partition backends.Partition
	target    string
}

// maxTarget is the longest name of a target, in bytes.
const maxTarget = 512

// place returns the place that a request names. A scope that is zero is the
// context's.
func (f *Flows) place(ctx context.Context, s backends.Scope, target string) (place, error) {
	if s.IsZero() {
		s, _ = backends.ScopeFrom(ctx)
	}
	s, err := s.Normalize()
	if err != nil {
		return place{}, fmt.Errorf("personal: %w", err)
	}
	if len(target) > maxTarget || !utf8.ValidString(target) {
		return place{}, fmt.Errorf("personal: %w: the target's name is UTF-8 of at most %d bytes", backends.ErrInvalid, maxTarget)
	}
	at := place{scope: s, target: target}
	if f.config.InWorkspace {
		at.partition, err = s.Partition(backends.PartitionWorkspace)
	} else {
		at.partition, err = s.Speaker()
	}
	if err != nil {
		return place{}, fmt.Errorf("personal: %w", err)
	}
	at.scope.Namespace = at.partition.Namespace
	return at, nil
}

// about reports whether a memory is a personal one about the target. Outside of a
// workspace the partition is one person's, whatever the name.
func (f *Flows) about(at *place, m *backends.Memory) bool {
	return m.Kind == backends.KindPersonal && (!f.config.InWorkspace || m.Metadata[metaTarget] == at.target)
}

// The keys of Metadata.
const (
	metaTarget   = "target"           // the name of whom it is about
	metaKeywords = "keywords"         // as WhenToUse
	metaType     = "observation_type" // one of the types below
	metaScore    = "info_score"       // 2 or 3, what it was taught by
	metaEvent    = "event_time"       // when it happens, as ParsePeriod reads it
	metaTimeInfo = "time_info"        // when it happens, in the words of the model
)

// The observation types.
const (
	typePlain  = "personal_info"
	typeTimed  = "personal_info_with_time"
	typeStated = "personal_statement" // stored as it was said
)
