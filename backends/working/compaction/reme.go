// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"cmp"
	"fmt"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Mode is a way in which ReMe 0.2 makes working memory smaller.
type Mode string

// The modes.
const (
	// ModeCompact offloads large tool messages. It calls no model, and leaves the words of users
	// and assistants as they are.
	ModeCompact Mode = "compact"
	// ModeCompress summarises everything older than the recent messages.
	ModeCompress Mode = "compress"
	// ModeAuto compacts. If more than CompactRatioThreshold is left, it compresses the rest.
	ModeAuto Mode = "auto"
)

// Params are the parameters of ReMe's summary_working_memory, with the same meaning, and as JSON
// with the same names. Begin with [DefaultParams]: zero is a value of its own.
type Params struct {
	// WorkingSummaryMode is the mode. Default ModeAuto.
	WorkingSummaryMode Mode `json:"working_summary_mode,omitempty" jsonschema:"auto, compact or compress. Defaults to auto"`
	// CompactRatioThreshold is the share of the context's tokens that may be left after
	// compaction; above it a compression follows. ModeAuto only. Above 0. Default 0.75.
	CompactRatioThreshold float64 `json:"compact_ratio_threshold,omitempty" jsonschema:"of auto: what share may stay as it is. Defaults to 0.75"`
	// MaxTotalTokens is how many tokens the older messages may have: all except the system's and
	// the recent ones. Above it the steps run. Above 0. Default 20000.
	MaxTotalTokens int `json:"max_total_tokens,omitempty" jsonschema:"up to which nothing is done. Defaults to 20000"`
	// MaxToolMessageTokens is the size in tokens above which a tool message is offloaded. Above
	// 0. Default 2000.
	MaxToolMessageTokens int `json:"max_tool_message_tokens,omitempty" jsonschema:"above which a result is offloaded. Defaults to 2000"`
	// GroupTokenThreshold is how many tokens of messages one summary is made of; 0 or less: one
	// group. Default 0.
	GroupTokenThreshold int `json:"group_token_threshold,omitempty" jsonschema:"of one summary. Defaults to one for all"`
	// KeepRecentCount is how many of the newest messages stay as they are; the system's do not
	// count. See [ReMe] for the exception. At least 0. Default 10.
	KeepRecentCount int `json:"keep_recent_count,omitempty" jsonschema:"how many of the newest messages stay. Defaults to 10"`
	// PreviewCharLength is how many characters of an offloaded message stay readable. At least
	// 0. Default 0.
	PreviewCharLength int `json:"preview_char_length,omitempty" jsonschema:"characters of an offloaded result that stay. Defaults to 0"`

	// Model writes the summaries. ModeCompress and ModeAuto require it.
	Model model.BaseChatModel `json:"-"`
	// Budget is the budget of the agent's model. Its Limit must be at least MaxTotalTokens.
	// Optional: if Window is 0, MaxTotalTokens is the limit.
	Budget Budget `json:"-"`
	// SummaryWindow is how many tokens Model takes at once. Optional. Defaults to Budget's
	// limit, or to 128000 if Window is 0.
	SummaryWindow int `json:"-"`
	// Language of placeholders and summaries. Optional. LanguageAuto follows the last
	// user message.
	Language backends.Language `json:"-"`
}

// DefaultParams returns ReMe's defaults.
func DefaultParams() Params {
	return Params{
		WorkingSummaryMode: ModeAuto, CompactRatioThreshold: 0.75,
		MaxTotalTokens: 20_000, MaxToolMessageTokens: 2_000, KeepRecentCount: 10,
	}
}

func (p *Params) validate() error {
	mode := p.WorkingSummaryMode
	for _, f := range []struct {
		ok    bool
		name  string
		value any
		want  string
	}{
		{mode == ModeCompact || mode == ModeCompress || mode == ModeAuto, "WorkingSummaryMode", mode, "use compact, compress or auto"},
		{p.CompactRatioThreshold > 0, "CompactRatioThreshold", p.CompactRatioThreshold, "it must be above 0"},
		{p.MaxTotalTokens > 0, "MaxTotalTokens", p.MaxTotalTokens, "it must be above 0"},
		{p.MaxToolMessageTokens > 0, "MaxToolMessageTokens", p.MaxToolMessageTokens, "it must be above 0"},
		{p.KeepRecentCount >= 0, "KeepRecentCount", p.KeepRecentCount, "it must not be negative"},
		{p.SummaryWindow >= 0, "SummaryWindow", p.SummaryWindow, "it must not be negative"},
		{p.PreviewCharLength >= 0, "PreviewCharLength", p.PreviewCharLength, "it must not be negative"},
		{p.Model != nil || mode == ModeCompact, "Model", "nil", "the modes compress and auto need one; compact does not"},
	} {
		if !f.ok {
			return fmt.Errorf("compaction: %w: %s %v: %s", backends.ErrInvalid, f.name, f.value, f.want)
		}
	}
	return nil
}

// ReMe returns a configuration that works as ReMe's summary_working_memory does, or ErrInvalid.
// It differs from ReMe where that has defects:
//
//   - Cuts fall between exchanges: a result keeps its call. So more messages than
//     KeepRecentCount may stay, and the last user message and the newest exchange always do.
//   - Recent messages are protected. A tool message above MaxToolMessageTokens is offloaded
//     even among them, oldest first, while the whole context is above MaxTotalTokens: one huge
//     new result is the usual case.
//   - ModeAuto compresses the compacted messages instead of the originals.
//   - A summary is used only when it is smaller than its originals. It is a message of the
//     role user and stands right after the system's.
//   - Originals are stored under immutable names that code makes. Messages that could not be
//     stored stay in place.
//   - [ArchiveRounds] and [ArchiveCurrent] follow where ModeCompress and ModeAuto leave more
//     than the budget's limit, as after a failure of the model. After ModeCompact the error
//     says by how much the context is too large.
func ReMe(p Params) (*Config, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	b := p.Budget
	if b.Window == 0 {
		p.SummaryWindow = cmp.Or(p.SummaryWindow, 128_000)
		b = Budget{Window: p.MaxTotalTokens, Answer: -1, Tools: -1, Memories: -1, Counter: b.Counter}
	}
	whole, err := b.WithDefaults()
	if err != nil {
		return nil, fmt.Errorf("compaction: %w", err)
	}
	limit := whole.Limit()
	if p.MaxTotalTokens > limit {
		return nil, fmt.Errorf("compaction: %w: MaxTotalTokens %d is more than the %d that Budget leaves for the conversation", backends.ErrInvalid, p.MaxTotalTokens, limit)
	}
	return &Config{Budget: b, Trigger: float64(p.MaxTotalTokens) / float64(limit), Language: p.Language, Steps: p.steps()}, nil
}

// steps returns the steps of a mode.
func (p *Params) steps() []Step {
	old := func(c *draft) bool { return c.oldTokens(p.KeepRecentCount) > p.MaxTotalTokens }
	offload := OffloadTools{Over: p.MaxToolMessageTokens, Preview: cmp.Or(p.PreviewCharLength, -1)}
	offloadOld := offload
	offloadOld.KeepRecent, offloadOld.all = p.KeepRecentCount, true
	compact := []Step{conditional{offloadOld, old}, offload}
	if p.WorkingSummaryMode == ModeCompact {
		return compact
	}
	with := SummarizeRounds{
		Model: p.Model, GroupTokens: max(p.GroupTokenThreshold, 0), SummaryWindow: p.SummaryWindow,
		KeepRecent: cmp.Or(p.KeepRecentCount, -1), all: true,
	}
	left := func(c *draft) bool {
		return old(c) && (p.WorkingSummaryMode == ModeCompress || float64(c.total) > p.CompactRatioThreshold*float64(c.initial))
	}
	full := func(c *draft) bool { return c.overLimit() > 0 }
	compress := []Step{
		conditional{with, left}, conditional{SummarizeCurrent(with), left},
		conditional{ArchiveRounds{}, full}, conditional{ArchiveCurrent{}, full},
	}
	if p.WorkingSummaryMode == ModeCompress {
		return compress
	}
	return append(compact, compress...)
}

// oldTokens counts the messages older than the newest n, apart from the system's.
func (c *draft) oldTokens(n int) int {
	sum := 0
	for i := range c.recentFrom(n) {
		if c.messages[i].Role != schema.System {
			sum += c.tokens[i]
		}
	}
	return sum
}

// conditional is a step that runs only where a condition holds.
type conditional struct {
	Step
	when func(c *draft) bool
}

func (s conditional) build(c *Config) (*step, error) {
	ready, err := s.Step.build(c)
	if err != nil {
		return nil, err
	}
	ready.when = s.when
	return ready, nil
}
