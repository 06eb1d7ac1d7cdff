// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
)

// Rule is a reason for operations.
type Rule string

// The rules. An asterisk marks the ones that work without a model; Contradictions, Stale and
// Lessons find more with one.
const (
	Duplicates     Rule = "duplicates"     // * equal statements are merged
	Contradictions Rule = "contradictions" // * the later of two statements about one attribute replaces the other
	Insights       Rule = "insights"       // a conclusion of several memories is added; an insight whose evidence fell is retracted *
	Stale          Rule = "stale"          // * a memory of use for a past time, or unused for long, expires
	Lessons        Rule = "lessons"        // * of a workspace: lessons that agree, disagree, or never helped
	Profile        Rule = "profile"        // facts fill the fields of Config.Profile
	Block          Rule = "block"          // the model writes a core block anew
	Promotion      Rule = "promotion"      // * useful facts are copied to a workspace, as Config.Share says
)

// Config configures a [Reflector]. [New] copies it.
type Config struct {
	// Backend holds the memories: the result of mem0.New or reme.New, or backends.Join of those.
	// Required. It stays the caller's to close.
	Backend backends.Backend
	// Model finds more than the rules alone. Optional. One call shows it at most 50 memories,
	// similar ones together.
	Model        model.BaseChatModel
	ModelTimeout time.Duration     // Of one call. Optional. Defaults to 60 s.
	Language     backends.Language // Of the prompts. Optional. Defaults to the language of the memories.

	// Rules are the default rules of a request. Optional. Defaults to all that can work: Promotion
	// needs Share, Profile a Profile, Block a Block, and the last two a Model.
	Rules []Rule
	// Profile is a *profile.Profile, whose fields facts fill. Optional.
	Profile backends.Profile
	// Block is the name of one of the core blocks of Blocks, which the model writes anew. Blocks is
	// a *core.Blocks. Optional.
	Block  string
	Blocks store.Blocks
	// Share says which facts of a person may be copied to the workspace of a request's scope.
	// Optional. By default all facts stay private.
	Share func(m *backends.Memory) bool
}

// Reflector drafts plans, applies them and takes them back. It is safe for concurrent use.
type Reflector struct {
	Config
	model *ask.Model // nil if the configuration has none
}

// New returns a reflector. An unusable configuration is ErrInvalid.
func New(cfg *Config) (*Reflector, error) {
	if cfg == nil || cfg.Backend == nil {
		return nil, fmt.Errorf("reflection: %w: Config.Backend is required: pass the result of mem0.New or reme.New", backends.ErrInvalid)
	}
	r := &Reflector{Config: *cfg}
	if len(keepers(cfg.Backend)) == 0 {
		return nil, fmt.Errorf("reflection: Config.Backend %T: %w: pass the result of mem0.New or reme.New, or a Join of both", cfg.Backend, backends.ErrInvalid)
	}
	if err := cfg.Language.Validate(); err != nil {
		return nil, fmt.Errorf("reflection: %w", err)
	}
	if cfg.Model != nil {
		var err error
		if r.model, err = ask.New(&ask.Config{Name: "draft", Model: cfg.Model, Timeout: cfg.ModelTimeout, Limit: "reflection.Config.ModelTimeout"}); err != nil {
			return nil, err
		}
	}
	if r.Rules = slices.Clone(cfg.Rules); len(r.Rules) == 0 {
		r.Rules = allRules
	}
	return r, check(r.Rules)
}

// allRules are the rules in the order of a draft.
var allRules = []Rule{Duplicates, Contradictions, Stale, Lessons, Insights, Profile, Block, Promotion}

func check(rules []Rule) error {
	for _, rule := range rules {
		if !slices.Contains(allRules, rule) {
			return fmt.Errorf("reflection: rule %q: %w: use %q", rule, backends.ErrInvalid, allRules)
		}
	}
	return nil
}

// keepers returns the keepers of a backend's parts, the one of experience first.
func keepers(b backends.Backend) (out []*keeper.Keeper) {
	for _, part := range backends.Parts(b) {
		if k := keeper.Of(part); k != nil {
			out = append(out, k)
		}
	}
	return out
}

// home returns the partition that a scope names, the user's, else the agent's, else the workspace,
// and its keeper: for a workspace, the part of the backend that learns experience.
func (r *Reflector) home(ctx context.Context, s backends.Scope) (*keeper.Keeper, backends.Scope, backends.Partition, error) {
	all := keepers(r.Backend)
	s, p, err := all[0].Resolve(ctx, s, backends.Scope.Owner)
	if err != nil {
		return nil, s, p, fmt.Errorf("reflection: name the owner of the memories by UserID, AgentID or Workspace: %w", err)
	}
	return keeperOf(all, p), s, p, nil
}

func keeperOf(all []*keeper.Keeper, p backends.Partition) *keeper.Keeper {
	if p.Kind == backends.PartitionWorkspace {
		return all[0].For(p.Kind)
	}
	return all[len(all)-1]
}

// Request names the memories and the rules of a draft.
type Request struct {
	// Scope names the owner of the memories: a user, else an agent, else a workspace. Required,
	// unless the context has one. With a user its Workspace is the target of Promotion.
	Scope backends.Scope `json:"scope"`
	// Since limits a draft to memories that changed since, and others similar to them. Optional.
	// Defaults to all.
	Since time.Time `json:"since,omitzero"`
	Rules []Rule    `json:"rules,omitempty"` // Optional. Defaults to Config.Rules.
	// Calls and Tokens bound the model's cost; the model skips memories beyond it. Optional.
	// Unbounded by default.
	Calls  int `json:"calls,omitempty"`
	Tokens int `json:"tokens,omitempty"`
}
