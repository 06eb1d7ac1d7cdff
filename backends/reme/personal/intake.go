// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/keeper"
)

// intake is what a request brings, after the gate.
type intake struct {
	lines    []*line    // the conversation in order, each long message in passages
	passages []*passage // those of them that may be learnt from, by their number
}

// utterance is a message that may be shown.
type utterance struct {
	id, turn string
	role     string
	speaker  string
	text     string
	time     time.Time
	learn    bool
}

// passage is a message of the user, or a piece of a long one: what is scored and
// learnt from.
type passage struct {
	*utterance
	n           int
	text        string
	part, parts int
	score       int
}

// take lets through what may be shown, and of that what may be learnt from.
func (f *Flows) take(d *Draft) (*intake, error) {
	r := &d.request
	before, err := f.gate(r.Context, d.now, false)
	if err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	said, err := f.gate(r.Messages, d.now, true)
	if err != nil {
		return nil, err
	}
	in := &intake{}
	var texts []string
	room := f.config.Models.Limits().Prompt / 2
	for _, u := range append(before, said...) {
		if !u.learn {
			in.lines = append(in.lines, &line{utterance: u, text: u.text})
			continue
		}
		texts = append(texts, u.text)
		pieces := divide(u.text, room, f.config.Models.Counter().Text)
		for i, piece := range pieces {
			p := &passage{utterance: u, n: len(in.passages), text: piece, part: i + 1, parts: len(pieces)}
			in.passages = append(in.passages, p)
			in.lines = append(in.lines, &line{utterance: u, text: piece, passage: p})
		}
	}
	d.lang = f.config.Language.For(texts...)
	return in, nil
}

// gate keeps what a user or an assistant said. Left out are system messages, tool
// results, injected notes, what another agent handed over, and messages without text.
func (f *Flows) gate(messages []backends.Message, now time.Time, learn bool) ([]*utterance, error) {
	var out []*utterance
	for i := range messages {
		m := &messages[i]
		if m.Message == nil || m.Role != schema.User && m.Role != schema.Assistant || einox.IsNote(m.Message) || einox.IsRetold(m.Message) {
			continue
		}
		text := einox.Text(m.Message)
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("personal: message %d: %w: not UTF-8", i, backends.ErrInvalid)
		}
		if len(text) > store.MaxText {
			return nil, fmt.Errorf("personal: message %d: %w: %d bytes, at most %d", i, backends.ErrInvalid, len(text), store.MaxText)
		}
		if text = strings.TrimSpace(f.config.Keeper.Redact(text)); text == "" {
			continue
		}
		u := &utterance{id: m.ID, turn: m.Turn, role: string(m.Role), speaker: f.config.Keeper.Redact(m.Name), text: text, time: m.Time}
		u.learn = learn && m.Role == schema.User && m.Extra["memorized"] != true
		if u.time.IsZero() {
			u.time = now
		}
		if u.id == "" {
			u.id = keeper.HashID("message", u.role, u.text)
		}
		out = append(out, u)
	}
	return out, nil
}

// memory returns what a memory that this message teaches has in common with others.
func (d *Draft) memory(u *utterance, text string) backends.Memory {
	m := backends.Memory{
		Kind: backends.KindPersonal, Text: text, Scope: d.place.scope, Expires: d.request.Expires, Observed: u.time,
		Origin: backends.Origin{Session: d.place.scope.SessionID, Turn: u.turn, MessageIDs: []string{u.id}, Role: u.role, Speaker: u.speaker, Author: d.request.Author},
	}
	m.Metadata, _ = d.flows.config.Keeper.RedactJSON(d.request.Metadata).(map[string]any)
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	m.Metadata[metaTarget] = d.place.target
	return m
}
