// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/modes"
)

// Config says what is remembered, where, and how an agent meets it. It holds every setting once.
// Package middleware builds the parts that it names and calls [New]. Backend alone is required. It
// is copied on entry.
type Config struct {
	// Backend learns and finds. It stays the caller's: Close leaves it open.
	// Required.
	Backend backends.Backend

	Mode modes.Mode // Optional. The program, the agent or both are in charge of memory. Defaults to modes.Both.

	// Scope fills the parts of a run's scope that its context and its session values leave open:
	// for a program with one user, all of them. Optional. Defaults to none: a run whose scope names
	// no user or workspace has no memory.
	Scope backends.Scope
	// AgentMemory gives a run whose scope names an agent and no user the agent's own memory, which
	// all such runs share: for agents that serve everybody alike. Optional. Defaults to false: a
	// run without a user's id keeps no memory.
	AgentMemory bool

	// TopK is the most memories of a note, and of a search that sets no number, such as
	// search_memory (there at most 50). Optional. Defaults to as many as fit into NoteTokens for a
	// note, and to 10 for the others; at most 1000.
	TopK int
	// Threshold is the score, 0 to 1, that the best memory found has to reach: else the note, the
	// answer of search_memory and the retriever's are empty. Beside such a memory a note shows
	// all that fit, and the others show those of half the score. A note asks for twice as much where
	// the message is about nobody whom memory knows, such as "Why is the sky blue?", and for twice as
	// much again where it names strangers alone, and speakers have names.
	// Optional. Defaults to 0.10, which hardly loses an answer (see the curve in examples/bench).
	// Below 0 everything found is shown: each memory with a word of the question, or with a vector
	// nearer than usual.
	Threshold          float64
	ScopeSearchByAgent *bool         // Optional. If the scope names an agent, a search finds only the memories of that agent. Defaults to true.
	SearchTimeout      time.Duration // Optional. The time that the search for a note may hold up a reply, and with a Window each other call of the store. Defaults to 2 s; unlimited below 0.

	// AwaitWrite ends a reply only when its turn is learnt from. Optional. Defaults to false: the
	// turn is on its way to the log, and is learnt from in the background.
	AwaitWrite bool

	// NoteTokens is the most that a note takes, in estimated tokens. Optional. Defaults to 1000.
	NoteTokens int

	// WholeTokens is a size of memories, in estimated tokens. If all memories of a scope take at
	// most so many, a note has them all, whatever the message. Up to NoteTokens a note has them all
	// for a message whose answer may depend on who asks: what it needs may share no word with it.
	// Optional. Defaults to 300; below 0 a note is always a selection.
	WholeTokens int

	NoteName string // Optional. The note's name. Two memories on one agent need two. Defaults to "memory".

	// Note makes the note a message of its own. Optional. Defaults to nil: the note stands inside
	// the user's message that the model gets, before the user's words. Every chat template takes
	// that; some refuse two user messages in a row, or a name. The log, the history and searches
	// have the user's words alone.
	Note *NoteMessage

	// ToolNames has other names for the tools of long-term memory, by their own, such as
	// "search_memory": "recall". It serves an agent that has a tool of that name, or two memories.
	// A name has 1 to 64 letters, digits, "_" and "-". Optional.
	ToolNames  map[string]string
	UpdateTool bool // Optional. Give the agent update_memory too. Needs a backend that is a backends.Manager.
	DeleteTool bool // Optional. Give the agent delete_memory too. Needs a backend that is a backends.Manager.
	// ForgetTool gives the agent forget_memory too, which erases for good the memories that a user
	// wants forgotten. Needs a backend that is a backends.Manager. Optional. Defaults to true if
	// Confirm is set and the backend is a Manager, else to false.
	ForgetTool bool

	// Confirm is asked before the agent changes or deletes a memory, by update_memory,
	// delete_memory, the core_memory tools, or an add_memory that supersedes something. It is also
	// asked before learning retracts anything, instead of the backend's own Confirm. In a tool it
	// may interrupt the run, see [backends.Confirm]. Learning runs in the background and is
	// repeated after an error. Optional. Defaults to none: tools change at once, and learning asks
	// the backend's Confirm.
	Confirm backends.Confirm

	// RecordTool says which tools a [backends.ToolRecorder] such as reme's learns from, in runs
	// whose scope names a workspace: it learns how their calls go. Optional. Defaults to all but
	// memory's own and the ones by which agents hand over.
	RecordTool func(tool string) bool

	// Learn says which messages of users, assistants and tools may be remembered; false is as
	// middleware.Private, such as for the results of a tool, by ToolName. It may be asked about a
	// message more than once, must leave it unchanged, and must be quick and safe for concurrent use.
	// Optional. Defaults to all. A user's own request ("Don't remember this", "别记住") prevails over
	// its answer: that message and the rest of its turn stay private.
	Learn func(ctx context.Context, m *schema.Message) bool

	// Location is the zone of the days and times in notes and in the results of tools, for a person
	// whose own zone is unknown. A run names that by its session value "time_zone", a standing
	// memory by its metadata "time_zone", each as "Asia/Shanghai". Optional. Defaults to time.UTC:
	// a server's own zone is rarely that of its users.
	Location *time.Location

	// Language of the built-in texts. Optional. Defaults to backends.LanguageAuto: the
	// note is in the language of the user's message, instructions and tools are English.
	Language backends.Language

	// Sessions keeps the log of turns. Optional. Defaults to the backend's own, if it has a method
	// Sessions() store.Sessions, as mem0's has. Required for another backend that learns from turns.
	Sessions store.Sessions

	// Working says when turns are learnt from, and what that may cost. Its Sessions, Backend, OnError,
	// Clock, IDs and Budget.Location are filled from this Config where they are unset. A mode that
	// learns nothing from turns ignores its Backend. Optional. Defaults to the values of package
	// working.
	Working *working.Config

	// Redact changes texts before the log, the archives of Window and the blocks of Core store
	// them, unless those have a Redact of their own; the backend has one of its own. A run goes on
	// with the original words; a later run reads the stored ones. It must be safe for concurrent
	// use. Optional. Defaults to redact.Text, which replaces keys and passwords; redact.None keeps
	// everything.
	Redact func(string) string

	// Window gives the agent working memory, whatever the mode. With a session in its scope a run
	// needs the new message alone. Every context is made to fit the model's window. The agent reads
	// text that left it by grep_working_memory and read_working_memory. Its Budget.Window is
	// required; its Sessions, Redact, Language, Core and OnError are filled from this Config
	// where they are unset, and its store may delay a reply for SearchTimeout. Optional. Defaults to none.
	Window store.WindowConfig // a *window.Config

	// Core gives the agent blocks that are always in its prompt, and the tools
	// core_memory_append and core_memory_replace to edit them. Its Blocks are
	// required; its Records, Redact, Language and Clock are filled where they are
	// unset. Needs Window. Optional. Defaults to none.
	Core store.BlocksConfig // a *core.Config

	// Reflect tidies memory in the background: see reflection.Schedule. All of it is optional here:
	// this Config fills Backend, and Blocks where its Block names one of Core's. Needs a mode that
	// records turns. Optional. Defaults to none.
	Reflect store.ReflectionConfig // a *reflection.Schedule

	// OnError is called with every failure of memory and its stage: one of the constants of this
	// package, of packages working and window, or the name that a memory tool has. All of them stay
	// hidden from the agent. It runs in the goroutine that failed and must be safe for concurrent
	// use. Optional. Failures are logged by slog in any case.
	OnError func(ctx context.Context, stage string, err error)

	// OnNote is called before the model with the note of each reply, an empty one too; a search
	// that failed goes to OnError alone. OnLearned is called with the memories learnt from turns,
	// in this process. Both must be quick, and safe for concurrent use. Optional.
	OnNote    func(ctx context.Context, n Note)
	OnLearned func(ctx context.Context, learnt *backends.AddResponse)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.

	instructions string // the section of the system prompt about the tools, free of braces
}

// NoteMessage is the form of a note that is a message of its own, with the name Config.NoteName.
type NoteMessage struct {
	Role   schema.RoleType // Optional. User or System. Defaults to User.
	Behind bool            // Optional. Behind the user's message instead of before it. Defaults to false.
}

// The stages of this package that Config.OnError is called with. The others are
// working.StageAppend, StageConsolidate and StageSweep, window.StageCompact and
// StageSummary, and the names of the tools, such as toolkit.SearchMemory.
const (
	StageScope   = "scope"   // the scope of a reply names neither a user nor a workspace: it goes on without memory
	StageZone    = "zone"    // a person's time zone is unknown here: times are in Config.Location
	StageSearch  = "search"  // the reply goes on without memories
	StageReply   = "reply"   // the model refused a request for something that memory added, and answered the plain one
	StageHistory = "history" // the reply goes on, and its session's earlier messages are missing
	StageRecord  = "record"  // a turn, or the outcome of a tool's call, missed the log
	StageReflect = "reflect" // tidying memory failed
)

// WithDefaults returns a complete copy of c, or backends.ErrInvalid with the fault and its repair.
func (c *Config) WithDefaults() (*Config, error) {
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
	if err = c.Language.Validate(); err != nil {
		return nil, fmt.Errorf("Config.Language: %w", err)
	}
	d.Threshold = cmp.Or(c.Threshold, 0.10)
	byAgent := c.ScopeSearchByAgent == nil || *c.ScopeSearchByAgent
	d.ScopeSearchByAgent = &byAgent
	d.SearchTimeout = cmp.Or(c.SearchTimeout, 2*time.Second)
	d.NoteTokens = cmp.Or(c.NoteTokens, 1000)
	d.WholeTokens = cmp.Or(c.WholeTokens, 300)
	d.NoteName = cmp.Or(c.NoteName, "memory")
	d.ToolNames = maps.Clone(c.ToolNames)
	if _, manages := c.Backend.(backends.Manager); c.Confirm != nil && manages {
		d.ForgetTool = true
	}
	d.instructions = text.Rename(toolInstructions(c.Language.For(), d.ForgetTool), c.ToolNames)
	work.Default(&d.Location, time.UTC)
	d.Clock, d.IDs = work.Clock(d.Clock), work.IDs(d.IDs)
	return &d, d.validate()
}

// validate checks the settings that WithDefaults has filled.
func (c *Config) validate() error {
	switch {
	case c.TopK < 0 || c.TopK > 1000:
		return fmt.Errorf("Config.TopK %d: %w: 1 to 1000, or 0 for the default", c.TopK, backends.ErrInvalid)
	case math.IsNaN(c.Threshold) || c.Threshold > 1:
		return fmt.Errorf("Config.Threshold %v: %w: at most 1; 0 is the default, and below 0 everything found is shown", c.Threshold, backends.ErrInvalid)
	case c.NoteTokens < 0:
		return fmt.Errorf("Config.NoteTokens %d: %w: above 0, or 0 for 1000", c.NoteTokens, backends.ErrInvalid)
	case c.Note != nil && !slices.Contains([]schema.RoleType{"", schema.User, schema.System}, c.Note.Role):
		return fmt.Errorf("Config.Note.Role %q: %w: user or system", c.Note.Role, backends.ErrInvalid)
	case c.Core != nil && c.Window == nil:
		return fmt.Errorf("Config.Core: %w: it needs Config.Window, since the blocks take room in it", backends.ErrInvalid)
	}
	return nil
}
