// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
)

// Rule is a reason for operations.
type Rule string

// The rules. Those that need no model are marked with an asterisk; Contradictions, Stale and
// Lessons find more with one.
const (
	Duplicates     Rule = "duplicates"     // * what says the same is merged
	Contradictions Rule = "contradictions" // * the later of two statements about one attribute takes the place of the other
	Insights       Rule = "insights"       // what several memories show is added; an insight whose evidence fell is retracted *
	Stale          Rule = "stale"          // * what was of use for a time that is over, or was not used for long, expires
	Lessons        Rule = "lessons"        // * of a workspace: lessons that agree, disagree, or never helped
	Profile        Rule = "profile"        // facts fill the fields of Config.Profile
	Block          Rule = "block"          // a core block is written anew by what is known
	Promotion      Rule = "promotion"      // * facts that prove useful are copied to a workspace, as Config.Share says
)

// Config configures a [Reflector]. It is copied by [New].
type Config struct {
	// Backend is whose memories are looked at: what mem0.New or reme.New returned, or
	// backends.Join of those. Required. It stays the caller's to close.
	Backend backends.Backend
	// Model sees what rules alone do not. Optional. It is asked once for 50 memories, at
	// most: similar ones are shown together.
	Model        model.BaseChatModel
	ModelTimeout time.Duration // Of one call. Optional. Defaults to 60 s.
	// Prompt replaces what the model is told about what to look for in statements about
	// people. Optional. Defaults to prompts in English and Chinese.
	Prompt   string
	Language backends.Language // Of the prompts. Optional. Defaults to that of the memories.

	// Rules are those of requests that name none. Optional. Defaults to all that can work:
	// Promotion needs Share, Profile a Profile, Block a Block, and the last two a Model.
	Rules []Rule
	// Duplicate is the cosine, above 0 to 1, from which on two statements with nearly the same
	// words are duplicates without a model. Optional. Defaults to 0.97.
	Duplicate float64
	// Unused is how long a memory is kept that no model was shown, where uses are counted: see
	// mem0.Config.CountUses. Below 0 such memories stay. Optional. Defaults to 180 days.
	Unused time.Duration
	// Profile is a *profile.Profile, whose fields facts are to fill. Optional.
	Profile fields.Typed
	// Block is the name of one of the core blocks of Blocks, which the model writes anew. Blocks is
	// a *core.Blocks. Optional.
	Block  string
	Blocks interface {
		Record(ctx context.Context, s backends.Scope, name string) (r *store.Record, limit int, err error)
	}
	// Share says which facts of a person may be copied to the workspace that a request's
	// scope names as well. Optional. Without it nothing is.
	Share func(m *backends.Memory) bool
}

// Reflector drafts plans, applies them and takes them back. It is safe for concurrent use.
type Reflector struct {
	Config
	model *ask.Model // nil without a model
}

// New returns a reflector. A configuration that cannot work is ErrInvalid.
func New(cfg *Config) (*Reflector, error) {
	if cfg == nil || cfg.Backend == nil {
		return nil, fmt.Errorf("reflect: %w: Config.Backend is required: what mem0.New or reme.New returned", backends.ErrInvalid)
	}
	r := &Reflector{Config: *cfg}
	r.Duplicate, r.Unused = cmp.Or(cfg.Duplicate, 0.97), cmp.Or(cfg.Unused, 180*24*time.Hour)
	if !(r.Duplicate > 0 && r.Duplicate <= 1) {
		return nil, fmt.Errorf("reflect: Config.Duplicate %v: %w: above 0, at most 1", cfg.Duplicate, backends.ErrInvalid)
	}
	if len(keepers(cfg.Backend)) == 0 {
		return nil, fmt.Errorf("reflect: Config.Backend %T: %w: pass what mem0.New or reme.New returned, or a Join of those", cfg.Backend, backends.ErrInvalid)
	}
	if err := cfg.Language.Validate(); err != nil {
		return nil, fmt.Errorf("reflect: %w", err)
	}
	if cfg.Model != nil {
		var err error
		if r.model, err = ask.New(&ask.Config{Name: "draft", Model: cfg.Model, Timeout: cfg.ModelTimeout, Limit: "reflect.Config.ModelTimeout"}); err != nil {
			return nil, err
		}
	}
	if r.Rules = slices.Clone(cfg.Rules); len(r.Rules) == 0 {
		r.Rules = Rules()
	}
	return r, check(r.Rules)
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{Duplicates, Contradictions, Stale, Lessons, Insights, Profile, Block, Promotion}
}

func check(rules []Rule) error {
	for _, rule := range rules {
		if !slices.Contains(Rules(), rule) {
			return fmt.Errorf("reflect: rule %q: %w: use %q", rule, backends.ErrInvalid, Rules())
		}
	}
	return nil
}

// keepers returns those of the parts of a backend, that of experience first.
func keepers(b backends.Backend) (out []*keeper.Keeper) {
	for _, part := range backends.Parts(b) {
		if k, ok := part.(interface{ Keeper() *keeper.Keeper }); ok {
			out = append(out, k.Keeper())
		}
	}
	return out
}

// home returns the partition that a scope names, the user's, else the agent's, else the
// workspace, and what keeps it: of a workspace the part of the backend that learns experience.
func (r *Reflector) home(ctx context.Context, s backends.Scope) (*keeper.Keeper, backends.Scope, backends.Partition, error) {
	all := keepers(r.Backend)
	s, p, err := all[0].Resolve(ctx, s, backends.Scope.Owner)
	if err != nil {
		return nil, s, p, fmt.Errorf("reflect: whose memories, by UserID, AgentID or Workspace: %w", err)
	}
	return keeperOf(all, p), s, p, nil
}

func keeperOf(all []*keeper.Keeper, p backends.Partition) *keeper.Keeper {
	if p.Kind == backends.PartitionWorkspace {
		return all[0].For(p.Kind)
	}
	return all[len(all)-1]
}

// Request says what is looked at, and by which rules.
type Request struct {
	// Scope names whose memories: a user's, else an agent's, else a workspace's. Required,
	// where the context carries none. With a user its Workspace is where Promotion copies to.
	Scope backends.Scope `json:"scope"`
	// Since leaves out what did not change since, but for what resembles something that did.
	// Optional. Defaults to everything.
	Since time.Time `json:"since,omitzero"`
	Rules []Rule    `json:"rules,omitempty"` // Optional. Defaults to Config.Rules.
	// Calls and Tokens bound what the model may cost; what is over is not looked at by it.
	// Optional. Defaults to no limit.
	Calls  int `json:"calls,omitempty"`
	Tokens int `json:"tokens,omitempty"`
}
