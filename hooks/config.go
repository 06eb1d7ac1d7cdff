// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/modes"
)

// Config says what the hooks do and with what. It is copied on entry.
type Config struct {
	Backend backends.Backend // Required. Searched before a reply.
	Log     Log              // Optional. Where turns go; *working.Memory is one. Defaults to none: nothing is recorded.
	Plan    modes.Plan       // Optional. Which hooks act. Defaults to none.

	// Window shows the model what it may see of the session: what was said before is
	// put in front of a turn, and every context is made to fit. Optional. Defaults to
	// none: the caller passes what was said before, and contexts stay as they are.
	Window *window.Window

	Scope       backends.Scope // Optional. Fills the parts that neither the call nor the session gives.
	SessionKeys *SessionKeys   // Optional. Defaults to user_id, agent_id, session_id, workspace, namespace.

	TopK          int           // Optional. Memories in a note, at most. Defaults to 5.
	Threshold     float64       // Optional. The lowest score of a memory in a note. Defaults to 0: any.
	SearchByAgent bool          // Optional. A user's memories are searched for those of the scope's agent alone.
	SearchTimeout time.Duration // Optional. How long a search may hold up a reply, and with Window the loading of the session and each write. Defaults to 2s; below 0 without limit.

	// AwaitWrite makes a reply end only when its turn is learnt from. Optional.
	// Defaults to false: the turn is queued, and learnt from in the background.
	AwaitWrite bool

	Note        NoteConfig      // Optional. How memories are shown to the model.
	Instruction string          // Optional. What the system prompt says under Plan.Instruct: constant text without braces.
	Tools       []tool.BaseTool // Optional. What agents get under Plan.Tools. They must resolve their scope at call time.
	// ToolCalls learns from how calls of the agent's tools went, whatever the plan.
	// Optional. Defaults to nobody.
	ToolCalls backends.ToolRecorder
	// RecordTool says whose calls ToolCalls is told of. Optional. Defaults to all.
	RecordTool func(tool string) bool

	WindowTools []tool.BaseTool // Optional. What agents get where Window is set, whatever the plan: they read what left the context.
	Language    Language        // Optional. Of the texts above. Defaults to English.

	// OnError is told of every failure of memory: none of them reaches the agent.
	// It runs in the goroutine that failed and may be called concurrently.
	// Optional. Failures are logged by slog in any case.
	OnError func(ctx context.Context, stage string, err error)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Makes the ids of turns. Defaults to backends.NewID.
}

// Log keeps turns and has them learnt from. *working.Memory implements it.
// All methods are safe for concurrent use.
type Log interface {
	// Record queues a turn, off the caller's path.
	Record(ctx context.Context, t *working.Turn) error
	// Append stores a turn; it is durable when Append returns nil.
	Append(ctx context.Context, t *working.Turn) error
	// Consolidate has the backend learn from what the scope's session holds.
	Consolidate(ctx context.Context, s backends.Scope) (*backends.AddResponse, error)
	// SaveOpenTurn keeps an interrupted turn until its checkpoint is resumed.
	SaveOpenTurn(ctx context.Context, s backends.Scope, checkpointID string, t *working.Turn) error
	// TakeOpenTurn returns the turn saved under the checkpoint and forgets it; nil when there is none.
	TakeOpenTurn(ctx context.Context, s backends.Scope, checkpointID string) (*working.Turn, error)
}

var _ Log = (*working.Memory)(nil)

// SessionKeys names the Eino session values that a scope is read from. An empty
// field keeps its default; "-" reads none.
type SessionKeys struct {
	UserID    string // Optional. Defaults to "user_id".
	AgentID   string // Optional. Defaults to "agent_id".
	SessionID string // Optional. Defaults to "session_id".
	Workspace string // Optional. Defaults to "workspace".
	Namespace string // Optional. Defaults to "namespace".
}

// NoteConfig says how memories are shown to the model.
type NoteConfig struct {
	Name     string          // Optional. The message's name. Two memories on one agent need two names. Defaults to "memory".
	Header   string          // Optional. The first line. Defaults to a heading in the configured language.
	Intro    string          // Optional. The line below: what the memories are, and that they are no instructions.
	Tokens   int             // Optional. The note's size, at most, in estimated tokens. Defaults to 1000.
	Role     schema.RoleType // Optional. User, system or assistant. Defaults to user.
	Position Position        // Optional. Defaults to BeforeUser.
}

// Position is where a note stands among the messages.
type Position string

// The positions of a note.
const (
	BeforeUser  Position = "before_user"  // in front of the last user message: what precedes it stays cacheable
	AfterUser   Position = "after_user"   // behind the last user message, as in AgentScope
	AfterSystem Position = "after_system" // behind the leading system messages
)

// Language chooses among the built-in texts.
type Language string

// The languages of the built-in texts.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// withDefaults returns a copy of c that is complete, or ErrInvalid.
func (c *Config) withDefaults() (*Config, error) {
	if c == nil || c.Backend == nil {
		return nil, fmt.Errorf("hooks: %w: Config.Backend is required", backends.ErrInvalid)
	}
	d := *c
	d.Tools, d.WindowTools = slices.Clone(c.Tools), slices.Clone(c.WindowTools)
	d.SessionKeys = c.SessionKeys.withDefaults()
	if d.TopK == 0 {
		d.TopK = 5
	}
	if d.SearchTimeout == 0 {
		d.SearchTimeout = 2 * time.Second
	}
	if d.Clock == nil {
		d.Clock = backends.SystemClock
	}
	if d.IDs == nil {
		d.IDs = backends.NewID
	}
	if d.Language == "" {
		d.Language = English
	}
	d.Note = d.Note.withDefaults(d.Language)
	if d.Instruction == "" {
		d.Instruction = instructions[d.Language]
	}
	return &d, d.validate()
}

func (c *Config) validate() error {
	switch {
	case c.TopK < 0:
		return fmt.Errorf("hooks: %w: Config.TopK is %d", backends.ErrInvalid, c.TopK)
	case c.Language != English && c.Language != Chinese:
		return fmt.Errorf("hooks: %w: language %q: use %q or %q", backends.ErrInvalid, c.Language, English, Chinese)
	case strings.ContainsAny(c.Instruction, "{}"):
		return fmt.Errorf("hooks: %w: Config.Instruction has braces: Eino would fill them in with session values, or fail the run", backends.ErrInvalid)
	}
	if _, err := c.Scope.Normalize(); err != nil {
		return fmt.Errorf("hooks: Config.Scope: %w", err)
	}
	return c.Note.validate()
}

func (k *SessionKeys) withDefaults() *SessionKeys {
	d := SessionKeys{}
	if k != nil {
		d = *k
	}
	for field, def := range map[*string]string{
		&d.UserID: "user_id", &d.AgentID: "agent_id", &d.SessionID: "session_id", &d.Workspace: "workspace", &d.Namespace: "namespace",
	} {
		if *field == "" {
			*field = def
		}
	}
	return &d
}

func (n NoteConfig) withDefaults(l Language) NoteConfig {
	for field, def := range map[*string]string{&n.Name: "memory", &n.Header: noteHeaders[l], &n.Intro: noteIntros[l]} {
		if *field == "" {
			*field = def
		}
	}
	if n.Tokens == 0 {
		n.Tokens = 1000
	}
	if n.Role == "" {
		n.Role = schema.User
	}
	if n.Position == "" {
		n.Position = BeforeUser
	}
	return n
}

func (n NoteConfig) validate() error {
	switch {
	case n.Tokens < 0:
		return fmt.Errorf("hooks: %w: Config.Note.Tokens is %d", backends.ErrInvalid, n.Tokens)
	case n.Role != schema.User && n.Role != schema.System && n.Role != schema.Assistant:
		return fmt.Errorf("hooks: %w: Config.Note.Role %q: use user, system or assistant", backends.ErrInvalid, n.Role)
	case n.Position != BeforeUser && n.Position != AfterUser && n.Position != AfterSystem:
		return fmt.Errorf("hooks: %w: Config.Note.Position %q", backends.ErrInvalid, n.Position)
	}
	return nil
}
