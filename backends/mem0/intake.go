// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// MaxMessage is the longest message that is stored, in bytes. A longer one is
// [backends.ErrInvalid].
const MaxMessage = store.MaxText

// maxMessages bounds what one model call is asked to learn from.
const maxMessages = 1000

// intake is an AddRequest after the gate: whose it is, what may be learnt from,
// and what is shown beside it.
type intake struct {
	req       *backends.AddRequest
	scope     backends.Scope
	partition backends.Partition
	said      []utterance // what may be learnt from, in order
	context   []utterance // what was said before
	session   *store.SessionUpdate
	now       time.Time
	metadata  map[string]any // of the request, redacted
}

// utterance is one message that memory may keep.
type utterance struct {
	id, turn string // a message without an id gets one that follows from what it says
	role     string // user or assistant
	speaker  string
	text     string
	time     time.Time
}

// take checks a request and lets through what may be learnt from.
func (b *Backend) take(ctx context.Context, r *backends.AddRequest) (*intake, error) {
	scope, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	in := &intake{req: r, scope: scope, partition: p, now: b.config.Clock()}
	in.metadata, _ = b.keep.RedactJSON(r.Metadata).(map[string]any)
	if !r.Expires.IsZero() && !r.Expires.After(in.now) {
		return nil, fmt.Errorf("mem0: %w: Expires %s is over already", backends.ErrInvalid, r.Expires.Format(time.RFC3339))
	}
	if in.said, err = b.gate(r.Messages, in.now); err != nil {
		return nil, err
	}
	if in.context, err = b.gate(r.Context, in.now); err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	if n := len(in.context); n > contextShown {
		in.context = in.context[n-contextShown:]
	}
	if in.session, err = b.checkpoint(ctx, p, r.Checkpoint); err != nil {
		return nil, err
	}
	return in, nil
}

// gate keeps what a user or an assistant said. Left out are system messages,
// tool results, injected notes, what another agent handed over, and messages
// without text.
func (b *Backend) gate(messages []backends.Message, now time.Time) ([]utterance, error) {
	var out []utterance
	for i := range messages {
		m := &messages[i]
		if m.Message == nil || !learnable(m.Message) {
			continue
		}
		text := einox.Text(m.Message)
		if err := validText(m.ID, i, text); err != nil {
			return nil, err
		}
		if text = strings.TrimSpace(b.config.Redact(text)); text == "" {
			continue
		}
		u := utterance{id: m.ID, turn: m.Turn, role: string(m.Role), speaker: b.config.Redact(m.Name), text: text, time: m.Time}
		if u.time.IsZero() {
			u.time = now
		}
		if u.id == "" {
			u.id = messageID(&u)
		}
		out = append(out, u)
	}
	return out, nil
}

func learnable(m *schema.Message) bool {
	switch m.Role {
	case schema.User:
		return !einox.IsNote(m) && !einox.IsRetold(m)
	case schema.Assistant:
		return !einox.IsNote(m)
	}
	return false
}

func validText(id string, i int, text string) error {
	name := fmt.Sprintf("message %d", i)
	if id != "" {
		name = fmt.Sprintf("message %d (%q)", i, id)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("mem0: %s: %w: not UTF-8", name, backends.ErrInvalid)
	}
	if len(text) > MaxMessage {
		return fmt.Errorf("mem0: %s: %w: %d bytes, at most %d", name, backends.ErrInvalid, len(text), MaxMessage)
	}
	return nil
}

// checkpoint returns the session update that goes into the batch of the
// memories, or nil when the session is not one of the memories' partition. A
// lease that is lost already is reported before a model is asked.
func (b *Backend) checkpoint(ctx context.Context, p backends.Partition, c *backends.Checkpoint) (*store.SessionUpdate, error) {
	if c == nil {
		return nil, nil
	}
	s, err := b.keep.Store().Session(ctx, p, c.Session)
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mem0: reading session %q: %w", c.Session, err)
	}
	if c.Token != 0 && s.Lease.Token != c.Token {
		return nil, fmt.Errorf("mem0: session %q: %w: its lease was taken over; learn from it under a new one", c.Session, backends.ErrConflict)
	}
	upto := c.Upto
	return &store.SessionUpdate{Session: c.Session, Token: c.Token, Watermark: &upto}, nil
}

// author returns who writes the memories down: whom the request names, else the
// given one.
func (in *intake) author(otherwise string) string {
	if in.req.Author != "" {
		return in.req.Author
	}
	return otherwise
}

// memory returns what every memory of the call has in common.
func (in *intake) memory(kind backends.Kind, text string) backends.Memory {
	metadata, _ := backends.CloneJSON(in.metadata).(map[string]any)
	return backends.Memory{
		Kind: kind, Text: text, Scope: in.scope, Metadata: metadata, Expires: in.req.Expires,
		Observed: in.now, Origin: backends.Origin{Session: in.scope.SessionID},
	}
}

// episode returns what was said as a memory.
func (in *intake) episode(u *utterance) backends.Memory {
	m := in.memory(backends.KindEpisode, u.text)
	m.Observed = u.time
	m.Origin.Turn, m.Origin.Role, m.Origin.Speaker, m.Origin.Author = u.turn, u.role, u.speaker, in.author(authorVerbatim)
	m.Origin.MessageIDs = []string{u.id}
	return m
}
