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
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/modes"
)

// Config says what is remembered, where, and how an agent meets it: every setting
// stands here once. Package middleware builds of it what it names and calls [New].
// Backend alone is required. It is copied on entry.
type Config struct {
	// Backend learns and finds. It stays the caller's: Close leaves it open.
	// Required.
	Backend backends.Backend

	Mode modes.Mode // Optional. Who is in charge of memory. Defaults to modes.Both.

	// Scope fills those parts of a run's scope that neither its context nor its
	// session values give: for a program with one user, all of them. Optional.
	// Defaults to none: a run whose scope names no user or workspace has no memory.
	Scope backends.Scope
	// AgentMemory gives a run whose scope names an agent and no user the agent's own memory,
	// which all such runs share: for agents that work for nobody in particular. Optional.
	// Defaults to false: where a user's id is missing, nothing is remembered.
	AgentMemory bool

	// TopK is how many memories a note has, at most, and those of searches that set no number,
	// as of search_memory (there at most 50). Optional. Defaults to as many as fit into
	// NoteTokens for a note, and to 10 for the others; at most 1000.
	TopK int
	// Threshold is the score, 0 to 1, that the best memory found has to reach: else the note
	// is empty, and so are the answers of search_memory and of the retriever. Beside it
	// memories of half of that are shown. Optional. Defaults to 0.10, which hardly loses an
	// answer on LoCoMo (see the curve in examples/bench); below 0 everything found is shown,
	// which is what has a word of the question, or a vector nearer than usual.
	Threshold          float64
	ScopeSearchByAgent *bool         // Optional. Where the scope names an agent, find only what that agent learnt. Defaults to true.
	SearchTimeout      time.Duration // Optional. How long the search for a note may hold up a reply, and with a Window each other call of the store. Defaults to 2 s; below 0 without limit.

	// AwaitWrite ends a reply only when its turn is learnt from. Optional.
	// Defaults to false: the turn is on its way to the log, and learnt from in the
	// background.
	AwaitWrite bool

	NoteTokens  int    // Optional. The note's size, at most, in estimated tokens. Defaults to 1000.
	WholeTokens int    // Optional. A memory that takes at most so many estimated tokens is shown whole, whatever is asked. Defaults to 300; below 0 it never is.
	NoteName    string // Optional. The note's name. Two memories on one agent need two. Defaults to "memory".

	// Note makes the note a message of its own. Optional. Defaults to nil: the note stands inside
	// the user's message, before the user's words, where it is sent to the model. Every chat
	// template takes that; some refuse two user messages in a row, or a name. The log, the history
	// and searches have the user's words alone.
	Note *NoteMessage

	// ToolNames has other names for the tools of long-term memory, by their own, such as
	// "search_memory": "recall": for an agent that has a tool of that name, or two
	// memories. A name is of 1 to 64 letters, digits, "_" and "-". Optional.
	ToolNames  map[string]string
	UpdateTool bool // Optional. Give the agent update_memory too. Needs a backend that is a backends.Manager.
	DeleteTool bool // Optional. Give the agent delete_memory too. Needs a backend that is a backends.Manager.
	// ForgetTool gives the agent forget_memory too, which erases what a user wants forgotten, for
	// good. Needs a backend that is a backends.Manager. Optional. Defaults to whether Confirm is
	// set, with such a backend.
	ForgetTool bool

	// Confirm is asked before the agent changes or deletes what is known, by update_memory,
	// delete_memory, the core_memory tools, or an add_memory that supersedes something, and
	// before learning retracts anything: the backend's own Confirm is not asked then. By a
	// tool it may interrupt the run, see [backends.Confirm]; learning is in the background,
	// and repeated after an error. Optional. Defaults to none: tools change at once, and
	// learning as the backend's Confirm says.
	Confirm backends.Confirm

	// RecordTool says of which tools a backend that is a [backends.ToolRecorder], as
	// reme's is, learns how calls go: in runs whose scope names a workspace. Optional.
	// Defaults to all but memory's own and those by which agents hand over.
	RecordTool func(tool string) bool

	// Learn says which messages of users, assistants and tools may be remembered; false is as
	// [Private], such as for the results of a tool, by ToolName. It may be asked about a
	// message more than once, must not change it, and must be quick and safe for concurrent
	// use. Optional. Defaults to all. Whatever it says, what a user asks not to be
	// remembered ("Don't remember this", "别记住") is not, nor is the rest of that turn.
	Learn func(ctx context.Context, m *schema.Message) bool

	// Location is the zone of the days and times in notes and in what tools return, for whom no
	// zone of their own is known: by the session value "time_zone" of a run, or by the metadata
	// "time_zone" of a standing memory, each a name such as "Asia/Shanghai". Optional. Defaults to
	// time.UTC: a server's own zone is rarely that of its users.
	Location *time.Location

	// Language of the built-in texts. Optional. Defaults to backends.LanguageAuto: the
	// note is in the language of the user's message, instructions and tools are English.
	Language backends.Language

	// Sessions keeps the log of turns. Optional. Defaults to the backend's own, if
	// it has a method Sessions() store.Sessions, as mem0's has.
	Sessions store.Sessions

	// Working says when turns are learnt from. Its Sessions, Backend, OnError,
	// Clock and IDs are filled from this Config where they are unset. Where the mode
	// learns nothing from turns, its Backend does not count. Optional.
	// Defaults to those of package working.
	Working *working.Config

	// Redact changes texts before the log, the archives of Window and the blocks of Core store
	// them, unless those have a Redact of their own; the backend has one of its own. A run goes
	// on with what was said, and a later one is shown what is stored. It must be safe for
	// concurrent use. Optional. Defaults to redact.Text, which replaces keys and passwords;
	// redact.None keeps everything.
	Redact func(string) string

	// Window gives the agent working memory: with a session in its scope a run needs
	// the new message alone, every context is made to fit the model's window, and
	// the agent reads what left it by grep_working_memory and read_working_memory,
	// whatever the mode. Its Budget.Window is required; its Sessions, Redact,
	// StoreTimeout (by SearchTimeout), Language, Core and OnError are filled from this
	// Config where they are unset. Optional. Defaults to none.
	Window store.WindowConfig // a *window.Config

	// Core gives the agent blocks that are always in its prompt, and the tools
	// core_memory_append and core_memory_replace to edit them. Its Blocks are
	// required; its Records, Redact, Language and Clock are filled where they are
	// unset. Needs Window. Optional. Defaults to none.
	Core store.BlocksConfig // a *core.Config

	// Reflect tidies memory in the background: see reflection.Schedule. All of it is
	// optional here: this Config fills Backend, and Blocks where its Block names one of Core's. Needs a mode that records turns. Optional. Defaults to none.
	Reflect store.ReflectionConfig // a *reflection.Schedule

	// OnError is called with every failure of memory and its stage: one of the
	// constants of this package, of packages working and window, or the name that a
	// memory tool has. None of them reaches the agent. It runs in the goroutine that failed
	// and must be safe for concurrent use. Optional. Failures are logged by slog in any
	// case.
	OnError func(ctx context.Context, stage string, err error)

	// OnNote is called with what each reply was shown of memory, also where that is nothing, before
	// the model is; a search that failed goes to OnError alone. OnLearned is called with what was
	// learnt from turns, in this process. They must be quick, and safe for concurrent use. Optional.
	OnNote    func(ctx context.Context, n Note)
	OnLearned func(ctx context.Context, learnt *backends.AddResponse)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.

	instructions string // the section of the system prompt about the tools, without braces
}

// NoteMessage is how a note looks that is a message of its own, with the name Config.NoteName.
type NoteMessage struct {
	Role   schema.RoleType // Optional. User or System. Defaults to User.
	Behind bool            // Optional. Behind the user's message instead of before it. Defaults to false.
}

// The stages of this package that Config.OnError is called with. The others are
// working.StageAppend, StageConsolidate and StageSweep, window.StageCompact and
// StageSummary, and the names of the tools, such as toolkit.SearchMemory.
const (
	StageScope   = "scope"   // nothing says whose memory it is: there is none for this reply
	StageZone    = "zone"    // a person's time zone is unknown here: times are those of Config.Location
	StageSearch  = "search"  // the reply goes on without memories
	StageReply   = "reply"   // the model refused a request for what memory added, and answered one without it
	StageHistory = "history" // the reply goes on without what was said before
	StageRecord  = "record"  // a turn, or how a tool's call went, could not be recorded
	StageReflect = "reflect" // memory could not be tidied
)

// WithDefaults returns a copy of c that is complete, or backends.ErrInvalid with what
// is wrong and how to repair it.
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
	config.Default(&d.Location, time.UTC)
	d.Clock, d.IDs = work.Clock(d.Clock), work.IDs(d.IDs)
	return &d, d.validate()
}

// validate checks what has its defaults.
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
