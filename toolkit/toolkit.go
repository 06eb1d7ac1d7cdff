// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolkit is memory in the hands of an agent: tools that a model calls
// to look things up and to note them down.
//
//	tools, err := toolkit.New(ctx, &toolkit.Config{
//		Backend:   backend,
//		ToolSetup: backends.ToolSetup{Scope: func(ctx context.Context) (backends.Scope, error) { return currentUser(ctx) }},
//	})
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		…
//		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
//	})
//
// Package middleware makes these tools for the programs that use it: there the mode decides whether
// an agent gets them.
//
// # The tools
//
// search_memory(keywords, limit) runs one search for each keyword, several at a time, and shows
// each memory found once, in the order of the keywords, as "- [id] text (said day)". If one keyword
// fails, the hits of the others are shown all the same, with the failure below them.
//
// add_memory(thinking, content) notes something down. The thinking stays unstored: models choose
// better notes when they say why. Each entry of the content goes to the backend as a message of the
// assistant, with [backends.AuthorAgent] as the author, and becomes a memory of its own. A memory
// that the backend knows already is stored once. More than 64 KiB is refused, the most that
// read_working_memory returns: a memory is a few sentences.
//
// update_memory(id, content) and delete_memory(id) are off unless asked for, and need a backend
// that is a [backends.Manager]. So is forget_memory(ids), which erases facts and the words of the
// turns behind them: see [backends.DeleteRequest].
//
// The tools of working memory come with package window: see archive.Archives.Tools and
// core.Blocks.Tools.
//
// Config.ToolNames gives the tools of long-term memory other names, in all that a model
// reads of them.
//
// An interrupted run repeats a call after its resumption; the second call changes nothing.
// Config.Confirm may interrupt a call, and is asked again then.
//
// # Whose memory
//
// A tool keeps no user. Each call looks up the scope with Config.Scope, and there alone. It
// ignores arguments that name a user, an agent or a partition, and an id of another partition
// counts as unknown. One set of tools serves any number of agents, users and goroutines.
//
// # Failure
//
// In Eino an error of a tool ends the agent's run. So every error, of unreadable arguments too,
// becomes text that says how the model can go on, and failures of memory go to Config.OnError. A
// cancelled context alone stays an error.
package toolkit

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/work"
)

// The tools' own names. Config.ToolNames may give the tools of long-term memory others.
const (
	SearchMemory = "search_memory"
	AddMemory    = "add_memory"
	UpdateMemory = "update_memory"
	DeleteMemory = "delete_memory"
	ForgetMemory = "forget_memory"
)

// longTerm are the tools of long-term memory.
var longTerm = []string{SearchMemory, AddMemory, UpdateMemory, DeleteMemory, ForgetMemory}

// MaxLimit is the most memories that one keyword of search_memory can bring.
const MaxLimit = 50

// Config says which tools there are and what they work on. It is copied by [New].
type Config struct {
	Backend backends.Backend // Searched by search_memory, and learns by add_memory. Required. Stays the caller's.

	// ToolSetup connects the tools with the program, as it does for all tools of an agent. Its Scope
	// is required, and runs at each call. A private call of add_memory or update_memory is refused.
	// Confirm is asked before a tool changes or deletes a memory, or supersedes one by add_memory.
	// If it declines, memory stays as it is, and the model reads that. Timeout spares add_memory,
	// which may ask a model. OnError hears nothing of a model's own mistake, such as an id that it
	// made up.
	backends.ToolSetup

	// Search answers search_memory. Optional. Defaults to the Backend's; a middleware passes its
	// own, which covers turns that wait to be learnt from, and leaves out poor hits.
	Search func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error)

	Limit  int  // Optional. The limit of a search_memory that lacks one. Defaults to 10; 1 to MaxLimit.
	Update bool // Optional. Also update_memory. Needs a Backend that is a backends.Manager.
	Delete bool // Optional. Also delete_memory. Needs a Backend that is a backends.Manager.
	Forget bool // Optional. Also forget_memory. Needs a Backend that is a backends.Manager.

	// ToolNames has other names for the tools of Backend, by their own, such as SearchMemory:
	// "recall". Schemas, texts and the stages of OnError have them. A name has 1 to 64 letters,
	// digits, "_" and "-", as models' interfaces take it, and belongs to one tool alone. Optional.
	ToolNames map[string]string

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.
}

// New returns the tools of the configuration, in the order of the constants. The slice is clipped,
// so that a program that appends to it leaves other agents' tools alone.
//
// It returns ErrInvalid if the backend or the scope is missing, the limit is out of range, the
// language is unknown, or the backend cannot serve a tool that is asked for.
func New(_ context.Context, cfg *Config) ([]tool.BaseTool, error) {
	k, err := newKit(cfg)
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	k.define()
	tools, err := k.kit.Tools()
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	return tools, nil
}

// kit is shared by the tools of one New. Once they are made it is immutable.
type kit struct {
	Config
	kit     agenttool.Kit
	text    *phrases
	manager backends.Manager // nil if the backend is another type
}

func newKit(cfg *Config) (*kit, error) {
	switch {
	case cfg == nil || cfg.Backend == nil:
		return nil, fmt.Errorf("no Config.Backend: %w: pass one, such as one of mem0.New", backends.ErrInvalid)
	case cfg.Limit < 0 || cfg.Limit > MaxLimit:
		return nil, fmt.Errorf("Config.Limit %d: %w: 1 to %d, or 0 for the default", cfg.Limit, backends.ErrInvalid, MaxLimit)
	}
	k := &kit{Config: *cfg, text: &english}
	k.ToolNames = maps.Clone(cfg.ToolNames)
	if cfg.Language == backends.Chinese {
		k.text = &chinese
	}
	work.Default(&k.Limit, 10)
	work.Default(&k.Search, k.Backend.Search)
	work.Default(&k.Turn, func(context.Context) string { return "" })
	work.Default(&k.Zone, func(context.Context) *time.Location { return time.UTC })
	k.Clock, k.IDs = work.Clock(k.Clock), work.IDs(k.IDs)
	k.kit = agenttool.Kit{ToolSetup: k.ToolSetup, Texts: k.text.tools, Advice: k.text.advice, Names: k.ToolNames, Judged: true}
	if err := k.kit.Init(); err != nil {
		return nil, fmt.Errorf("Config: %w", err)
	}
	if err := k.checkNames(); err != nil {
		return nil, fmt.Errorf("Config.ToolNames: %w", err)
	}
	k.manager, _ = k.Backend.(backends.Manager)
	if (k.Update || k.Delete || k.Forget) && k.manager == nil {
		return nil, fmt.Errorf("update_memory, delete_memory and forget_memory: %w: backend %T is no backends.Manager; leave Config.Update, Config.Delete and Config.Forget off", backends.ErrInvalid, k.Backend)
	}
	return k, nil
}

// toolName matches the names that models' interfaces take for tools: OpenAI's ^[a-zA-Z0-9_-]{1,64}$
// for function names, and the same or more elsewhere.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkNames checks Config.ToolNames.
func (k *kit) checkNames() error {
	for name, other := range k.ToolNames {
		if !slices.Contains(longTerm, name) {
			return fmt.Errorf("%q: %w: there is no such tool; there are %s", name, backends.ErrInvalid, strings.Join(longTerm, ", "))
		}
		if !toolName.MatchString(other) {
			return fmt.Errorf("%q: %w: a name is of 1 to 64 letters, digits, \"_\" and \"-\"", other, backends.ErrInvalid)
		}
	}
	taken := map[string]bool{}
	for name := range k.text.tools {
		if taken[k.kit.Name(name)] {
			return fmt.Errorf("%q: %w: two tools have that name", k.kit.Name(name), backends.ErrInvalid)
		}
		taken[k.kit.Name(name)] = true
	}
	return nil
}
