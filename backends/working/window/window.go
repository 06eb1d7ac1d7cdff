// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
)

// Window shows models what they may see of a session. One value serves any
// number of sessions, and is safe for concurrent use.
type Window struct {
	cfg       Config
	compactor *compaction.Compactor
	archives  *archive.Archives
	sessions  *session.Service
}

// New returns a window, or ErrInvalid.
func New(cfg *Config) (*Window, error) {
	w, err := newWindow(cfg)
	if err != nil {
		return nil, fmt.Errorf("context window: %w", err)
	}
	return w, nil
}

func newWindow(cfg *Config) (*Window, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Window{cfg: c}
	w.compactor, err = compaction.New(&compaction.Config{Budget: c.Budget, Steps: c.Steps, Trigger: c.Trigger, Language: c.Language, NoTools: c.NoTools})
	if err != nil {
		return nil, err
	}
	if w.archives, err = archive.New(&archive.Config{Sessions: c.Sessions, Redact: c.Redact}); err != nil {
		return nil, err
	}
	w.sessions, err = session.New(&session.Config{Sessions: c.Sessions, Counter: c.Budget.Counter, Language: session.Language(c.Language.For())})
	return w, err
}

// Archives returns where the window puts what leaves a context.
func (w *Window) Archives() *archive.Archives { return w.archives }

// Sessions returns the conversations that the window shows.
func (w *Window) Sessions() *session.Service { return w.sessions }

// DeleteSession erases the scope's session: its log, its archives, and the core
// blocks that are its own. Without a session in the scope it erases what was said
// without one, which has no blocks.
func (w *Window) DeleteSession(ctx context.Context, s backends.Scope) error {
	if w.cfg.Core != nil && strings.TrimSpace(s.SessionID) != "" {
		if err := w.cfg.Core.DeleteSession(ctx, s); err != nil {
			return fmt.Errorf("delete session: %w", err)
		}
	}
	return w.sessions.Delete(ctx, s)
}

// Core returns the blocks that are always shown, or nil.
func (w *Window) Core() *core.Blocks { return w.cfg.Core }

// Budget returns how much a context may hold, with its defaults.
func (w *Window) Budget() compaction.Budget { return w.cfg.Budget }

// Usage measures a context as it is.
func (w *Window) Usage(messages []*schema.Message) compaction.Usage {
	return w.cfg.Budget.Usage(messages)
}

// turnShare is the part of Config.HistoryTokens that one turn counts as, at most.
const turnShare = 4

// History returns what was said in the scope's session before, to go in front of
// what is said now; nothing under Config.NoHistory, and where the scope names no
// session: turns without one have nothing to do with each other. It may go into a
// checkpoint of Eino: lists and objects in the Extra of a message's parts are left
// out.
func (w *Window) History(ctx context.Context, s backends.Scope) ([]*schema.Message, error) {
	if w.cfg.NoHistory || s.SessionID == "" {
		return nil, nil
	}
	h, err := w.sessions.Load(ctx, &session.LoadRequest{Scope: s, Tokens: w.cfg.HistoryTokens, TurnTokens: max(w.cfg.HistoryTokens/turnShare, 1)})
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	einox.Portable(h.Messages)
	return h.Messages, nil
}

// Restore returns messages with everything that stands in for others replaced by
// them: the context as it was before [Window.Fit]. What stands in for messages of
// another session is ErrNotFound: its archives mean something else here.
func (w *Window) Restore(ctx context.Context, s backends.Scope, messages []*schema.Message) ([]*schema.Message, error) {
	if !slices.ContainsFunc(messages, func(m *schema.Message) bool { return m != nil && einox.RefOf(m) != "" }) {
		return messages, nil
	}
	a, err := w.archives.Of(s)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if tag := session.Tag(s); slices.ContainsFunc(messages, func(m *schema.Message) bool { return einox.RefOf(m) != "" && foreign(m, tag) }) {
		return nil, fmt.Errorf("restore: %w: this session does not have what stands in for messages of another one", backends.ErrNotFound)
	}
	return a.Restore(ctx, messages)
}
