// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
)

// plan is how a context is to be compacted.
type plan struct {
	limit    int
	memories int
	trigger  float64
	model    string // how the model answers; "" when there is none
	name     string // of the steps
	steps    func(m model.BaseChatModel) []compaction.Step
	reme     *compaction.Params // instead of steps
	complete bool               // the steps are all that there are
	fails    int                // one in so many writes to the archive fails; 0: none
}

// usage measures a context by the plan.
func (p *plan) usage(messages []*schema.Message) budget.Usage {
	b, err := p.budget().WithDefaults()
	if err != nil {
		panic(err)
	}
	return b.Usage(messages)
}

func (p *plan) budget() budget.Budget {
	return budget.Budget{Window: p.limit + max(p.memories, 0), Answer: -1, Tools: -1, Memories: p.memories, Counter: budget.Estimate}
}

func (p *plan) config(m model.BaseChatModel) (*compaction.Config, error) {
	if p.reme == nil {
		return &compaction.Config{Budget: p.budget(), Steps: p.steps(m), Trigger: p.trigger}, nil
	}
	params := *p.reme
	params.Model, params.Budget = m, p.budget()
	return compaction.ReMe(params)
}

// single are the steps alone.
var single = map[string]func(m model.BaseChatModel) compaction.Step{
	"DropDerived":  func(model.BaseChatModel) compaction.Step { return compaction.DropDerived{} },
	"OffloadTools": func(model.BaseChatModel) compaction.Step { return compaction.OffloadTools{} },
	"OffloadSome": func(model.BaseChatModel) compaction.Step {
		return compaction.OffloadTools{Over: 50, KeepRecent: 2, Preview: 40}
	},
	"OffloadMessages": func(model.BaseChatModel) compaction.Step {
		return compaction.OffloadMessages{Over: 100, KeepRecent: 1, Preview: 20}
	},
	"ArchiveRounds":   func(model.BaseChatModel) compaction.Step { return compaction.ArchiveRounds{} },
	"ArchiveCurrent":  func(model.BaseChatModel) compaction.Step { return compaction.ArchiveCurrent{} },
	"SummarizeRounds": func(m model.BaseChatModel) compaction.Step { return compaction.SummarizeRounds{Model: m} },
	"SummarizeGroups": func(m model.BaseChatModel) compaction.Step {
		return compaction.SummarizeRounds{Model: m, GroupTokens: 300}
	},
	"SummarizeCurrent": func(m model.BaseChatModel) compaction.Step {
		return compaction.SummarizeCurrent{Model: m}
	},
}

var singleNames = []string{
	"DropDerived", "OffloadTools", "OffloadSome", "OffloadMessages", "ArchiveRounds", "ArchiveCurrent",
	"SummarizeRounds", "SummarizeGroups", "SummarizeCurrent",
}

// drawPlan draws a plan for a context: often one that halves it, at times one that
// it fits, at times one that nothing fits.
func drawPlan(t *rapid.T, messages []*schema.Message) *plan {
	all := 0
	for _, m := range messages {
		all += budget.Estimate.Message(m)
	}
	p := &plan{trigger: 1, model: "good"}
	p.limit = max(1, all*rapid.IntRange(1, 110).Draw(t, "percent")/100)
	p.memories = rapid.SampledFrom([]int{-1, 30}).Draw(t, "memories")
	if rapid.IntRange(0, 4).Draw(t, "trigger") == 4 && p.limit > 10 {
		p.trigger = 0.8
	}
	if rapid.IntRange(0, 5).Draw(t, "archive") == 5 {
		p.fails = rapid.IntRange(1, 3).Draw(t, "fails")
	}
	p.name = rapid.SampledFrom([]string{"free", "default", "single", "several", "compact", "compress", "auto"}).Draw(t, "steps")
	if p.name != "free" {
		p.model = rapid.SampledFrom([]string{"good", "long", "chatty", "empty", "broken", "moody"}).Draw(t, "model")
	}
	p.drawSteps(t)
	return p
}

func (p *plan) drawSteps(t *rapid.T) {
	switch p.name {
	case "free":
		p.model, p.complete = "", true
		p.steps = func(model.BaseChatModel) []compaction.Step { return compaction.Free() }
	case "default":
		p.complete = true
		p.steps = compaction.Default
	case "single", "several":
		names := rapid.Permutation(singleNames).Draw(t, "order")
		n := 1
		if p.name == "several" {
			n = rapid.IntRange(2, len(names)).Draw(t, "many")
		}
		p.steps = func(m model.BaseChatModel) (out []compaction.Step) {
			for _, name := range names[:n] {
				out = append(out, single[name](m))
			}
			return out
		}
	default:
		p.trigger = 1
		params := compaction.DefaultParams()
		params.WorkingSummaryMode, params.MaxTotalTokens = compaction.Mode(p.name), p.limit
		params.MaxToolMessageTokens = rapid.SampledFrom([]int{2000, 200, 20}).Draw(t, "large")
		params.GroupTokenThreshold = rapid.SampledFrom([]int{0, 300}).Draw(t, "group")
		params.KeepRecentCount = rapid.IntRange(0, 10).Draw(t, "recent")
		params.PreviewCharLength = rapid.SampledFrom([]int{0, 60}).Draw(t, "preview")
		p.reme = &params
	}
}
