// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// begin begins a session of the stream: a whole one, or the messages of one user.
func (i *importer) begin(s *Session, whole bool) error {
	i.session, i.whole, i.seq = s, whole, 0
	_, err := s.Scope.Normalize()
	if err = cmp.Or(err, ValidateSession(s.ID), settings(s, i.Learn).Validate()); err != nil {
		return err
	}
	if i.Message != nil && s.Summary != "" { // a summary repeats the messages
		told := Entry{Message: backends.Message{Message: schema.AssistantMessage(s.Summary, nil)}}
		if err := i.Message(i.ctx, i.p, &told); err != nil {
			return err
		}
		s.Summary = told.Content
	}
	if !whole { // it has several users
		s.Scope.UserID = ""
		return nil
	}
	return i.own("session", s.ID, s.Scope.UserID)
}

// message takes an entry of the session, under its place in the log.
func (i *importer) message(e *Entry) error {
	if i.session == nil {
		return fmt.Errorf("%w: a message before any session", backends.ErrInvalid)
	}
	err := i.own("message", e.ID, cmp.Or(e.UserID, i.session.Scope.UserID))
	if err == nil {
		err = (&Append{Entries: []Entry{*e}}).Validate()
	}
	if err == nil {
		err = i.admitMessage(e)
	}
	if err != nil {
		return err
	}
	i.seq++
	if e.Seq = 0; i.whole {
		e.Seq = i.seq
	}
	if n := len(i.pending); n == transferPage || n > 0 && (i.held >= heldBytes || i.learnt(e) != i.learnt(&i.pending[0])) {
		if err := i.append(); err != nil {
			return err
		}
	}
	i.pending = append(i.pending, *e)
	return nil
}

// admitMessage changes an entry to the form that a write would have stored.
func (i *importer) admitMessage(e *Entry) error {
	e.Tokens = min(max(e.Tokens, 0), MaxText)
	if i.Message == nil || e.Erased {
		return nil
	}
	return i.Message(i.ctx, i.p, e)
}

// learnt reports whether a message counts as learnt from.
func (i *importer) learnt(e *Entry) bool {
	return !i.whole || !i.Learn || e.Seq <= i.session.Watermark
}

// append writes the pending messages. It skips messages that the store has; those must be
// the same.
func (i *importer) append() error {
	s, entries := i.session, i.pending
	i.pending, i.held = nil, 0
	have, err := i.to.Session(i.ctx, i.p, s.ID)
	none := errors.Is(err, backends.ErrNotFound)
	if none {
		have, err = &Session{}, nil
	}
	if err == nil && i.whole && len(entries) > 0 {
		entries, err = i.missing(entries)
	}
	switch {
	case err != nil, len(entries) == 0 && !none:
		return err
	case i.dry:
		return differs("session", s.ID)
	}
	learnt := len(entries) == 0 || i.learnt(&entries[0])
	after, err := i.to.Append(i.ctx, i.p, s.ID, &Append{Entries: entries, Scope: s.Scope, Learnt: learnt})
	if err != nil {
		return err
	}
	added := int(after.LastSeq - have.LastSeq)
	i.done.Messages += added
	if none {
		i.done.Sessions++
	}
	if i.whole && added != len(entries) {
		return fmt.Errorf("session %q, up to message %d: %w: an id of a message stands twice in its log", s.ID, i.seq, backends.ErrInvalid)
	}
	return nil
}

// missing returns the entries that the log lacks.
func (i *importer) missing(entries []Entry) ([]Entry, error) {
	there, err := i.to.Read(i.ctx, i.p, i.session.ID, Range{After: entries[0].Seq - 1, Upto: entries[len(entries)-1].Seq})
	for n := range there {
		a, b := there[n], entries[n]
		failed := i.admitMessage(&a)
		if a.Tokens, b.Tokens = 0, 0; failed != nil || !same(a, b) {
			return nil, differs("log of session", i.session.ID)
		}
	}
	return entries[len(there):], err
}

// end writes the rest of the session that was read, and the fields that updates set.
func (i *importer) end() error {
	s := i.session
	err := i.append() // also of a session without messages
	i.session = nil
	if err != nil || !i.whole {
		return err
	}
	have, err := i.to.Session(i.ctx, i.p, s.ID)
	if err != nil {
		return err
	}
	s.within(i.seq)
	source, target, from, to := s, have, i.seq, have.LastSeq
	if i.dry {
		source, target, from, to = have, s, to, from
	}
	missing := same(settings(target, i.Learn), settings(&Session{ID: s.ID}, i.Learn)) // they are written last
	switch {
	case i.Learn && target.Watermark != min(to, source.Watermark) || !i.dry && from != to:
		return differs("session", s.ID)
	case same(settings(target, i.Learn), settings(source, i.Learn)), i.dry && missing:
		return nil
	case !missing:
		return differs("session", s.ID)
	}
	_, err = i.to.Update(i.ctx, i.p, settings(source, i.Learn))
	return err
}

// within limits the numbers of an imported session to a log of so many messages.
func (s *Session) within(last int64) {
	s.Watermark, s.SummaryUpto = min(max(s.Watermark, 0), last), min(max(s.SummaryUpto, 0), last)
	s.Retry.Upto, s.Retry.Whole = min(max(s.Retry.Upto, 0), last), min(max(s.Retry.Whole, 0), last)
	s.Retry.Attempts = max(s.Retry.Attempts, 0)
	for n := range s.Failures {
		f := &s.Failures[n]
		f.From, f.Upto, f.Attempts = min(max(f.From, 0), last), min(max(f.Upto, 0), last), max(f.Attempts, 0)
	}
}

// settings are the fields of a session that updates set; learning adds its own.
func settings(s *Session, learning bool) *SessionUpdate {
	u := &SessionUpdate{Session: s.ID, Title: &s.Title, Summary: &s.Summary, SummaryUpto: &s.SummaryUpto, Expires: &s.Expires}
	if learning {
		u.Retry, u.Failures = &s.Retry, &s.Failures
	}
	return u
}
