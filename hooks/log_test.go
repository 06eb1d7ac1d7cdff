// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
)

// log is a fake that keeps what it is told. Open turns live in shared, which
// stands for the store that several processes have.
type log struct {
	mu           sync.Mutex
	turns        []working.Turn
	appended     int
	consolidated []backends.Scope
	shared       *openTurns
	err          error
	appendErr    error // of Append alone
	onRecord     func(ctx context.Context)
}

type openTurns struct {
	mu    sync.Mutex
	turns map[string]working.Turn
}

func newLog() *log { return &log{shared: &openTurns{turns: map[string]working.Turn{}}} }

func (l *log) Record(ctx context.Context, t *working.Turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onRecord != nil {
		l.onRecord(ctx)
	}
	if l.err != nil {
		return l.err
	}
	l.turns = append(l.turns, *t)
	return nil
}

func (l *log) Append(ctx context.Context, t *working.Turn) error {
	if err := cmp.Or(ctx.Err(), l.appendErr); err != nil {
		return err
	}
	if err := l.Record(ctx, t); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appended++
	return nil
}

func (l *log) Consolidate(_ context.Context, s backends.Scope) (*backends.AddResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.consolidated = append(l.consolidated, s)
	return &backends.AddResponse{}, nil
}

func (l *log) SaveOpenTurn(_ context.Context, s backends.Scope, id string, t *working.Turn) error {
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	l.shared.turns[fmt.Sprint(s, id)] = *t
	return nil
}

func (l *log) TakeOpenTurn(_ context.Context, s backends.Scope, id string) (*working.Turn, error) {
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	t, ok := l.shared.turns[fmt.Sprint(s, id)]
	if !ok {
		return nil, nil
	}
	delete(l.shared.turns, fmt.Sprint(s, id))
	return &t, nil
}

func (l *log) recorded() []working.Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]working.Turn(nil), l.turns...)
}

// conversation is the log as it is kept: each message once, by turn and place.
func (l *log) conversation(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, turn := range l.recorded() {
		for i, m := range turn.Messages {
			require.False(t, einox.IsNote(m), "a note was recorded")
			require.Empty(t, einox.TurnOf(m), "a mark was recorded")
			at := turn.First + i
			switch {
			case at < len(out[turn.ID]):
				require.Equal(t, out[turn.ID][at], line(m), "a message changed under its id")
			case at == len(out[turn.ID]):
				out[turn.ID] = append(out[turn.ID], line(m))
			default:
				t.Fatalf("turn %s has a gap before %d", turn.ID, at)
			}
		}
	}
	return out
}

// turn is the only turn of the log.
func (l *log) turn(t *testing.T) []string {
	t.Helper()
	all := l.conversation(t)
	require.Len(t, all, 1)
	for _, lines := range all {
		return lines
	}
	return nil
}

func line(m *schema.Message) string {
	s := string(m.Role) + ": " + m.Content
	for _, c := range m.ToolCalls {
		s += " calls " + c.Function.Name
	}
	return s
}

func lines(messages []*schema.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = line(m)
	}
	return out
}

// notes counts the notes among messages.
func notes(messages []*schema.Message) int {
	n := 0
	for _, m := range messages {
		if einox.IsNote(m) {
			n++
		}
	}
	return n
}

// sees reports whether the text is among what a model was given.
func sees(messages []*schema.Message, text string) bool {
	for _, m := range messages {
		if strings.Contains(m.Content, text) {
			return true
		}
	}
	return false
}
