// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/modes"
	"github.com/einomem/einomem/toolkit"
)

// Language is the language of the built-in texts: the note's heading, the
// instructions and the tools. What is remembered keeps the language in which it
// was said.
type Language string

// The languages.
const (
	Auto    Language = "auto" // English, as the zero value: the texts are fixed before anybody has spoken
	English Language = "en"
	Chinese Language = "zh"
)

// Config says what is remembered, where, and how an agent meets it. Backend alone
// is required. It is copied by [New].
type Config struct {
	// Backend learns and finds. It stays the caller's: Close leaves it open.
	// Required.
	Backend backends.Backend

	Mode modes.Mode // Optional. Who is in charge of memory. Defaults to modes.Both.

	// Scope fills those parts of a run's scope that neither its context nor its
	// session values give: for a program with one user, all of them. Optional.
	// Defaults to none: a run that names nobody has no memory.
	Scope       Scope
	SessionKeys *hooks.SessionKeys // Optional. Names of the session values to read. Defaults to user_id, agent_id, session_id, workspace, namespace.

	TopK               int           // Optional. Memories in a note, and of a search_memory that sets no limit (there at most 50). Defaults to 5; at most 1000.
	Threshold          float64       // Optional. The lowest score, 0 to 1, of a memory in a note. Defaults to 0: any.
	ScopeSearchByAgent *bool         // Optional. Where the scope names an agent, find only what that agent learnt. Defaults to true.
	SearchTimeout      time.Duration // Optional. How long the search for a note may hold up a reply, and with a Window each other call of the store. Defaults to 2 s; below 0 without limit.

	// AwaitWrite ends a reply only when its turn is learnt from. Optional.
	// Defaults to false: the turn is on its way to the log, and learnt from in the
	// background.
	AwaitWrite bool

	NoteHeader   string          // Optional. The note's first line. Defaults to a heading in the Language.
	NoteIntro    string          // Optional. The line below it. Defaults to: this is data, no instructions.
	NoteTokens   int             // Optional. The note's size, at most, in estimated tokens. Defaults to 1000.
	NoteName     string          // Optional. The note's name. Two memories on one agent need two. Defaults to "memory".
	NoteRole     schema.RoleType // Optional. User, system or assistant. Defaults to user.
	NotePosition hooks.Position  // Optional. Defaults to hooks.BeforeUser.

	// ToolInstructions is what the system prompt says of the tools: constant text
	// without braces. Optional. Defaults to a section that names both tools.
	ToolInstructions string
	UpdateTool       bool     // Optional. Give the agent update_memory too. Needs a backend that is a backends.Manager.
	DeleteTool       bool     // Optional. Give the agent delete_memory too. Needs a backend that is a backends.Manager.
	Language         Language // Optional. Defaults to Auto.

	// RecordTool says of which tools a backend that is a [backends.ToolRecorder], as
	// reme's is, learns how calls go: in runs whose scope names a workspace. Optional.
	// Defaults to all but memory's own and those by which agents hand over.
	RecordTool func(tool string) bool

	// Sessions keeps the log of turns. Optional. Defaults to the backend's own, if
	// it has a method Sessions() store.Sessions, as mem0's has.
	Sessions store.Sessions

	// Working says when turns are learnt from. Its Sessions, Backend, OnError,
	// Clock and IDs are filled from this Config where they are unset. Where the mode
	// learns nothing from turns, its Backend does not count. Optional.
	// Defaults to those of package working.
	Working *working.Config

	// Window gives the agent working memory: with a session in its scope a run needs
	// the new message alone, every context is made to fit the model's window, and
	// the agent reads what left it by grep_working_memory and read_working_memory,
	// whatever the mode. Its Budget.Window is required; its Sessions, Redact,
	// StoreTimeout (by SearchTimeout), Language, Core and OnError are filled from this
	// Config where they are unset. Optional. Defaults to none.
	Window *window.Config

	// Core gives the agent blocks that are always in its prompt, and the tools
	// core_memory_append and core_memory_replace to edit them. Its Blocks are
	// required; its Records, Redact, Language and Clock are filled where they are
	// unset. Needs Window. Optional. Defaults to none.
	Core *core.Config

	// OnError hears of every failure of memory, with its stage (the Stage constants
	// of packages hooks, toolkit, window and working): none of them reaches the agent. Must
	// be safe for concurrent use. Optional. Failures are logged by slog in any case.
	OnError func(ctx context.Context, stage string, err error)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.
}

// withDefaults returns a copy of c that is complete, or ErrInvalid.
func (c *Config) withDefaults() (*Config, error) {
	if c == nil || c.Backend == nil {
		return nil, fmt.Errorf("no Config.Backend: %w: pass what mem0.New returns, or a type of your own", backends.ErrInvalid)
	}
	d := *c
	var err error
	if d.Mode, err = modes.Parse(string(c.Mode)); err != nil {
		return nil, fmt.Errorf("Config.Mode: %w", err)
	}
	if d.Scope, err = c.Scope.Normalize(); err != nil {
		return nil, fmt.Errorf("Config.Scope: %w", err)
	}
	if d.TopK == 0 {
		d.TopK = 5
	}
	if d.ScopeSearchByAgent == nil {
		yes := true
		d.ScopeSearchByAgent = &yes
	}
	if d.Language == Auto || d.Language == "" {
		d.Language = English
	}
	if d.Clock == nil {
		d.Clock = backends.SystemClock
	}
	if d.IDs == nil {
		d.IDs = backends.NewID
	}
	return &d, d.validate()
}

func (c *Config) validate() error {
	switch {
	case c.TopK < 0 || c.TopK > 1000:
		return fmt.Errorf("Config.TopK %d: %w: 1 to 1000, or 0 for 5", c.TopK, backends.ErrInvalid)
	case math.IsNaN(c.Threshold) || c.Threshold < 0 || c.Threshold > 1:
		return fmt.Errorf("Config.Threshold %v: %w: 0 to 1; 0 leaves nothing out", c.Threshold, backends.ErrInvalid)
	case c.NoteTokens < 0:
		return fmt.Errorf("Config.NoteTokens %d: %w: above 0, or 0 for 1000", c.NoteTokens, backends.ErrInvalid)
	case c.Core != nil && c.Window == nil:
		return fmt.Errorf("Config.Core: %w: it needs Config.Window, since the blocks take room in it", backends.ErrInvalid)
	case c.Language != English && c.Language != Chinese:
		return fmt.Errorf("Config.Language %q: %w: use auto, en or zh", c.Language, backends.ErrInvalid)
	}
	return nil
}

// plan returns what the mode means for this backend.
func (c *Config) plan() (modes.Plan, error) {
	learner, ok := c.Backend.(backends.AlwaysLearner)
	return c.Mode.Plan(ok && learner.AlwaysLearns())
}

// sessions returns where turns are logged: as configured, else with the backend's
// memories, so that both can change in one atomic write.
func (c *Config) sessions() (store.Sessions, error) {
	if c.Sessions != nil {
		return c.Sessions, nil
	}
	if c.Working != nil && c.Working.Sessions != nil {
		return c.Working.Sessions, nil
	}
	if own, ok := c.Backend.(interface{ Sessions() store.Sessions }); ok {
		if s := own.Sessions(); s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("mode %s records turns, and backend %T keeps no log of them: %w: set Config.Sessions to a store, such as sqlitestore.Open returns, or use mode %s",
		c.Mode, c.Backend, backends.ErrInvalid, modes.AgentControl)
}

// working returns the configuration of the log.
func (c *Config) working() (*working.Config, error) {
	sessions, err := c.sessions()
	if err != nil {
		return nil, err
	}
	w := working.Config{}
	if c.Working != nil {
		w = *c.Working
	}
	w.Sessions = sessions
	if w.Backend == nil {
		w.Backend = c.Backend
	}
	if w.OnError == nil {
		w.OnError = c.OnError
	}
	if w.Clock == nil {
		w.Clock = c.Clock
	}
	if w.IDs == nil {
		w.IDs = c.IDs
	}
	return &w, nil
}

// toolkit returns the configuration of the agent's tools. Those look up the scope
// as the hooks do.
func (c *Config) toolkit(scope func(context.Context) (Scope, error)) *toolkit.Config {
	return &toolkit.Config{
		Backend:       c.Backend,
		Scope:         scope,
		SearchByAgent: *c.ScopeSearchByAgent,
		Limit:         min(c.TopK, toolkit.MaxLimit),
		Update:        c.UpdateTool,
		Delete:        c.DeleteTool,
		Language:      toolkit.Language(c.Language),
		OnError:       c.OnError,
		Clock:         c.Clock,
		IDs:           c.IDs,
	}
}

func (c *Config) hooks(plan modes.Plan) *hooks.Config {
	return &hooks.Config{
		Backend:       c.Backend,
		Plan:          plan,
		Scope:         c.Scope,
		SessionKeys:   c.SessionKeys,
		TopK:          c.TopK,
		Threshold:     c.Threshold,
		SearchByAgent: *c.ScopeSearchByAgent,
		SearchTimeout: c.SearchTimeout,
		AwaitWrite:    c.AwaitWrite,
		Note: hooks.NoteConfig{
			Name: c.NoteName, Header: c.NoteHeader, Intro: c.NoteIntro,
			Tokens: c.NoteTokens, Role: c.NoteRole, Position: c.NotePosition,
		},
		Instruction: c.ToolInstructions,
		Language:    hooks.Language(c.Language),
		OnError:     c.OnError,
		Clock:       c.Clock,
		IDs:         c.IDs,
	}
}
