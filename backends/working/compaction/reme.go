// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"fmt"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
)

// Mode is one of the ways in which ReMe 0.2 makes working memory smaller.
type Mode string

// The modes.
const (
	// ModeCompact offloads large tool messages. It calls no model and never
	// touches what users and assistants said.
	ModeCompact Mode = "compact"
	// ModeCompress summarises what is older than the recent messages.
	ModeCompress Mode = "compress"
	// ModeAuto compacts, and where that left more than CompactRatioThreshold,
	// compresses what it left.
	ModeAuto Mode = "auto"
)

// Params are the parameters of ReMe's summary_working_memory, with the same names
// and meaning. Begin with [DefaultParams]: zero is a value of its own.
type Params struct {
	// WorkingSummaryMode is the mode. Default ModeAuto.
	WorkingSummaryMode Mode
	// CompactRatioThreshold is the share of the context's tokens that compaction
	// may leave without a compression after it. ModeAuto only. Above 0. Default
	// 0.75.
	CompactRatioThreshold float64
	// MaxTotalTokens is how many tokens the messages that are neither the system's
	// nor recent may have; up to it nothing is done. Above 0. Default 20000.
	MaxTotalTokens int
	// MaxToolMessageTokens is how many tokens a tool message may have without
	// being offloaded. Above 0. Default 2000.
	MaxToolMessageTokens int
	// GroupTokenThreshold is how many tokens of messages one summary is made of;
	// 0 or less: one group. Default 0.
	GroupTokenThreshold int
	// KeepRecentCount is the number of newest messages, those of the system not
	// counted, that are kept as they are: see [ReMe] for the exception. Not
	// negative. Default 10.
	KeepRecentCount int
	// PreviewCharLength is how many characters of an offloaded message stay
	// readable. Not negative. Default 0.
	PreviewCharLength int

	// Model writes the summaries of ModeCompress and ModeAuto, which need it.
	Model model.BaseChatModel
	// Budget is what the agent's model takes. Its Limit may not be below
	// MaxTotalTokens. Optional: without a Window, MaxTotalTokens is the limit.
	Budget budget.Budget
	// SummaryWindow is how many tokens Model takes at once. Optional. Defaults to
	// Budget's limit, without a Window to 128000.
	SummaryWindow int
	// Language of stand-ins and summaries. Optional. Defaults to LanguageAuto.
	Language Language
}

// usualWindow is what models take that one would have summarise.
const usualWindow = 128_000

// DefaultParams returns ReMe's defaults.
func DefaultParams() Params {
	return Params{
		WorkingSummaryMode: ModeAuto, CompactRatioThreshold: 0.75,
		MaxTotalTokens: 20_000, MaxToolMessageTokens: 2_000, KeepRecentCount: 10,
	}
}

func (p *Params) validate() error {
	wrong := func(name string, value any, want string) error {
		return fmt.Errorf("compaction: %w: %s %v: %s", backends.ErrInvalid, name, value, want)
	}
	switch p.WorkingSummaryMode {
	case ModeCompact, ModeCompress, ModeAuto:
	default:
		return wrong("WorkingSummaryMode", fmt.Sprintf("%q", p.WorkingSummaryMode), "use compact, compress or auto")
	}
	switch {
	case !(p.CompactRatioThreshold > 0):
		return wrong("CompactRatioThreshold", p.CompactRatioThreshold, "it must be above 0")
	case p.MaxTotalTokens <= 0:
		return wrong("MaxTotalTokens", p.MaxTotalTokens, "it must be above 0")
	case p.MaxToolMessageTokens <= 0:
		return wrong("MaxToolMessageTokens", p.MaxToolMessageTokens, "it must be above 0")
	case p.KeepRecentCount < 0:
		return wrong("KeepRecentCount", p.KeepRecentCount, "it must not be negative")
	case p.SummaryWindow < 0:
		return wrong("SummaryWindow", p.SummaryWindow, "it must not be negative")
	case p.PreviewCharLength < 0:
		return wrong("PreviewCharLength", p.PreviewCharLength, "it must not be negative")
	case p.Model == nil && p.WorkingSummaryMode != ModeCompact:
		return wrong("Model", "nil", "the modes compress and auto need one; compact does not")
	}
	return nil
}

// ReMe returns the configuration that does what ReMe's summary_working_memory
// does, or ErrInvalid. Its defects are left out:
//
//   - Cuts fall between exchanges: a result never loses its call. So some more
//     messages may stay than KeepRecentCount says, and the last user message and
//     what is newest always do.
//   - Recent messages are protected, but a tool message above MaxToolMessageTokens
//     is offloaded even among them, oldest first, while the context as a whole is
//     above MaxTotalTokens: one huge result just now is the usual case.
//   - ModeAuto compresses what compaction left, not the originals.
//   - A summary is used only when it is smaller than what it takes the place of.
//     It is a message of the role user and stands right after the system's.
//   - Originals are stored under immutable names that code makes; what could not
//     be stored is not replaced.
//   - Where ModeCompress and ModeAuto leave more than the budget's limit, as after
//     a failure of the model, [ArchiveRounds] and [ArchiveCurrent] follow. After
//     ModeCompact the error says by how much the context is too large.
func ReMe(p Params) (*Config, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	b := p.Budget
	if b.Window == 0 {
		if p.SummaryWindow == 0 {
			p.SummaryWindow = usualWindow
		}
		b = budget.Budget{Window: p.MaxTotalTokens, Answer: -1, Tools: -1, Memories: -1, Counter: b.Counter}
	}
	whole, err := b.WithDefaults()
	if err != nil {
		return nil, fmt.Errorf("compaction: %w", err)
	}
	limit := whole.Limit()
	if p.MaxTotalTokens > limit {
		return nil, fmt.Errorf("compaction: %w: MaxTotalTokens %d is more than the %d that Budget leaves for the conversation", backends.ErrInvalid, p.MaxTotalTokens, limit)
	}
	cfg := &Config{Budget: b, Trigger: float64(p.MaxTotalTokens) / float64(limit), Language: p.Language, Steps: []Step{remeStep{p: p}}}
	if p.WorkingSummaryMode != ModeCompact {
		cfg.Steps = append(cfg.Steps, lastResort{ArchiveRounds{}}, lastResort{ArchiveCurrent{}})
	}
	return cfg, nil
}
