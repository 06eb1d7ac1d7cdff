// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

const (
	// appendTimeout bounds one write of a recorded turn.
	appendTimeout = 30 * time.Second
	// appendTries is after how many failures in a row a turn is reported, and reported again. It
	// is also how often Close tries.
	appendTries = 3
	// appendPause is the longest pause: until it is over, the turn is in this process only.
	appendPause = 10 * time.Second
)

// Append writes a turn, or a part of one, to the session's log in one atomic write. When it
// returns nil the turn is durable, and this process or another will learn from it. Messages that
// the log holds already are left as they are, so that repeating a call is harmless. Turns of the
// session that were recorded before are appended first. Under [backends.Incognito] it does
// nothing.
func (m *Memory) Append(ctx context.Context, t *Turn) error {
	return m.take(ctx, t, func(e *entries) error {
		ctx, err := store.Begin(ctx, m.cfg.Sessions, e.key.Partition)
		if err != nil {
			return err
		}
		return m.queue.Do(ctx, e.key, func() error { return m.write(ctx, e) })
	})
}

// take passes the entries of a turn to f, if it has any.
func (m *Memory) take(ctx context.Context, t *Turn, f func(*entries) error) (err error) {
	defer work.Recover("working memory", &err)
	leave, err := m.life.Enter()
	if err != nil {
		return err
	}
	defer leave()
	e, err := m.entriesOf(ctx, t)
	if err != nil || e == nil {
		return err
	}
	if err := f(e); err != nil {
		return fmt.Errorf("turn %q of session %s: %w", e.turn, e.key, err)
	}
	return nil
}

// Record is [Memory.Append] in the background: the turn is appended soon, behind earlier turns
// of the same session. Record returns at once unless Config.Queue turns are pending; then it
// waits for room until ctx ends. It checks, redacts and copies the turn before it returns. The
// append has the values of ctx and outlives its cancellation. The append's epoch is read when
// the turn is written, unless ctx is one of [store.Begin].
//
// A turn whose append fails is retried, with pauses that grow to ten seconds, for as long as the
// Memory is open; Config.OnError gets every third failure. A process that ends without
// [Memory.Flush] or [Memory.Close] loses the turns that are still queued: use Append where
// durability matters more than time.
func (m *Memory) Record(ctx context.Context, t *Turn) error {
	return m.take(ctx, t, func(e *entries) error {
		return m.queue.Push(ctx, e.key, e)
	})
}

// appendRecorded appends a turn of the queue, with the values of the context of its Record, for
// as long as ctx lasts.
func (m *Memory) appendRecorded(ctx context.Context, k session.Key, turns []*entries, failures int) error {
	e := turns[0]
	recorded, cancel := context.WithTimeout(e.ctx, appendTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := m.write(recorded, e)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("turn %q of session %s: %w", e.turn, k, err)
	switch {
	case errors.Is(err, backends.ErrInvalid), errors.Is(err, backends.ErrForgotten): // it will always fail
		m.report(e.ctx, StageAppend, fmt.Errorf("%w: the turn is dropped", err))
		return nil
	case (failures+1)%appendTries == 0 && ctx.Err() == nil:
		m.report(e.ctx, StageAppend, fmt.Errorf("%w (%d failures; the turn is kept in memory and retried)", err, failures+1))
	}
	return err
}

// write writes one turn to the log and schedules learning from it. It may be repeated.
func (m *Memory) write(ctx context.Context, e *entries) error {
	var s *store.Session
	err := m.eraseBefore(ctx, e)
	if err != nil {
		return err
	}
	if len(e.log) > 0 {
		if s, err = m.put(ctx, e, e.log); err != nil {
			return err
		}
	}
	if e.done {
		err = m.end(ctx, e, s)
	}
	if err == nil || s != nil {
		m.appended(e, e.done && err == nil)
	}
	return err
}

// eraseBefore erases the turn before e from the log, where a user asks in e to forget it. Only
// messages after the watermark are erased.
func (m *Memory) eraseBefore(ctx context.Context, e *entries) error {
	if !slices.ContainsFunc(e.log, func(x store.Entry) bool { return einox.MarkOf(x.Message.Message).Private == einox.Before }) {
		return nil
	}
	s, err := m.cfg.Sessions.Session(ctx, e.key.Partition, e.key.ID)
	if errors.Is(err, backends.ErrNotFound) {
		return nil
	}
	var log []store.Entry
	if err == nil {
		log, err = m.read(ctx, e.key, store.Range{After: s.Watermark, Limit: mostEntries, Last: true})
	}
	if i := slices.IndexFunc(log, func(x store.Entry) bool { return x.Turn == e.turn }); i >= 0 {
		log = log[:i]
	}
	var seqs []int64
	for _, x := range slices.Backward(log) {
		if x.Turn != log[len(log)-1].Turn {
			break
		}
		seqs = append(seqs, x.Seq)
	}
	if err == nil && len(seqs) > 0 {
		_, err = m.cfg.Sessions.EraseMessages(ctx, e.key.Partition, e.key.ID, seqs...)
	}
	if err != nil {
		return fmt.Errorf("erasing the turn before: %w", err)
	}
	return nil
}

func (m *Memory) put(ctx context.Context, e *entries, log []store.Entry) (*store.Session, error) {
	s, err := m.cfg.Sessions.Append(ctx, e.key.Partition, e.key.ID, &store.Append{Entries: log, Scope: e.scope, TTL: m.cfg.TTL})
	if err != nil {
		return nil, fmt.Errorf("appending to the log: %w", err)
	}
	return s, nil
}

// end ensures that the log has the end of the turn. Usually the turn's last entry marks it. If
// the log had that entry before, the append left it as it was, and another entry with the mark
// follows. s is the session after the write of the turn; nil: the turn is still unwritten.
func (m *Memory) end(ctx context.Context, e *entries, s *store.Session) error {
	if s == nil {
		var err error
		s, err = m.cfg.Sessions.Session(ctx, e.key.Partition, e.key.ID)
		if errors.Is(err, backends.ErrNotFound) {
			s, err = &store.Session{}, nil
		}
		if err != nil {
			return fmt.Errorf("reading the session: %w", err)
		}
	}
	last, err := m.lastOf(ctx, e, s)
	switch {
	case err != nil:
		return err
	case last == nil && len(e.log) > 0: // learnt from already
		return nil
	case last == nil:
		_, err = m.put(ctx, e, []store.Entry{e.mark("")})
	case !last.Done:
		_, err = m.put(ctx, e, []store.Entry{e.mark(last.ID)})
	}
	return err
}

// lastOf returns the last entry of the turn after the watermark, or nil. Usually it is the last
// of the log.
func (m *Memory) lastOf(ctx context.Context, e *entries, s *store.Session) (*store.Entry, error) {
	for _, limit := range []int{1, mostEntries} {
		log, err := m.read(ctx, e.key, store.Range{After: s.Watermark, Limit: limit, Last: true})
		if err != nil {
			return nil, err
		}
		for i := len(log) - 1; i >= 0; i-- {
			if log[i].Turn == e.turn {
				return &log[i], nil
			}
		}
		if len(log) < limit {
			break
		}
	}
	return nil, nil
}

// mark returns an empty entry that marks the end of the turn, after the entry with the id after;
// empty: after any. Its id ends in a word, where ids of messages end in a number.
func (e *entries) mark(after string) store.Entry {
	if after == "" {
		after = e.turn + "-"
	}
	end := e.entry(after+"done", schema.AssistantMessage("", nil))
	end.Done = true
	return end
}

// Turn is a user's input and the answer to it, or a part of both: a turn may be appended in
// parts. The calls that take it leave it unchanged, and keep no reference to it.
type Turn struct {
	// Scope names the partition (by user, else by agent), the session, and the agent of the
	// turn: several agents may talk with a user in one session. Its other parts count only where
	// the turn begins the session. Required.
	Scope backends.Scope
	// ID is unique in the session. Defaults to a new one. Set it where the same turn may be
	// appended twice, because messages are identified by ID and index.
	ID    string
	First int // the index in the turn of Messages[0]
	// IDs are ids of Messages that are unique in the session, "" for the default: ID and the index.
	// Optional.
	IDs []string
	// Messages are in order. The log leaves out system messages, memory notes, empty messages,
	// and messages over 16 MiB; it reports the latter to OnError. Private messages become
	// placeholders.
	Messages []*schema.Message
	Time     time.Time // of the messages. Defaults to now.
	// Done marks the end of the turn. It comes with the last message, or after it: alone, or
	// with messages that the log holds already.
	Done bool
}

// entries are a turn, or a part of one, ready for the log.
type entries struct {
	key    session.Key
	scope  backends.Scope
	turn   string
	done   bool
	when   time.Time
	tokens int
	log    []store.Entry
	ctx    context.Context // whose values go with the turn
}

// entriesOf returns the entries of the turn for the log, or nil if there is nothing to write. A
// turn that is done may have no entries.
func (m *Memory) entriesOf(ctx context.Context, t *Turn) (*entries, error) {
	if backends.IsIncognito(ctx) {
		return nil, nil
	}
	if t == nil || t.First < 0 {
		return nil, fmt.Errorf("turn: %w: none, or its first index is negative", backends.ErrInvalid)
	}
	key, scope, err := session.KeyOf(t.Scope)
	if err != nil {
		return nil, fmt.Errorf("turn %q: %w", t.ID, err)
	}
	e := &entries{key: key, scope: scope, turn: t.ID, done: t.Done, when: t.Time, ctx: context.WithoutCancel(ctx)}
	if e.turn == "" {
		e.turn = m.cfg.IDs()
	}
	if e.when.IsZero() {
		e.when = m.cfg.Clock()
	}
	for i, msg := range t.Messages {
		if !kept(msg) {
			continue
		}
		msg, whole := m.clean(ctx, msg)
		if einox.SaysNothing(msg) { // it had only reasoning
			continue
		}
		if !whole && msg.ToolCallID == "" && len(msg.ToolCalls) == 0 { // a call and its result stay together
			continue
		}
		if _, err := json.Marshal(msg); err != nil {
			return nil, fmt.Errorf("turn %q: message %d: %w: %w", e.turn, i, backends.ErrInvalid, err)
		}
		id := e.turn + "-" + strconv.Itoa(t.First+i)
		if i < len(t.IDs) {
			id = cmp.Or(t.IDs[i], id)
		}
		entry := e.entry(id, msg)
		entry.Tokens = einox.Tokens(msg, text.Tokens)
		e.tokens += entry.Tokens
		e.log = append(e.log, entry)
	}
	if len(e.log) == 0 && (!e.done || t.ID == "") {
		return nil, nil
	}
	if n := len(e.log); n > 0 {
		e.log[n-1].Done = e.done
	}
	if err := (&store.Append{Entries: e.log}).Validate(); err != nil {
		return nil, fmt.Errorf("turn %q: %w", e.turn, err)
	}
	return e, nil
}

func (e *entries) entry(id string, msg *schema.Message) store.Entry {
	return store.Entry{Message: backends.Message{ID: id, Turn: e.turn, Time: e.when, Message: msg}, AgentID: e.scope.AgentID}
}

// kept reports whether a message belongs into the log.
func kept(m *schema.Message) bool {
	return !einox.SaysNothing(m) && m.Role != schema.System && !einox.IsNote(m)
}

// clean returns the stored copy of a message. Every text in it is redacted and valid UTF-8,
// because one broken byte must not cost the turn. A text that is too long is left out and
// reported: its beginning would pass for the whole. A private message becomes a placeholder, and
// counts as whole.
func (m *Memory) clean(ctx context.Context, msg *schema.Message) (stored *schema.Message, whole bool) {
	if how := einox.MarkOf(msg).Private; how != "" {
		return einox.Mark{Private: how}.On(einox.Withheld(msg)), true
	}
	whole = true
	stored = einox.Stored(msg, func(s string) string {
		s = strings.ToValidUTF8(m.cfg.Redact(s), "\uFFFD")
		if len(s) <= store.MaxText {
			return s
		}
		whole = false
		err := fmt.Errorf("%w: a text of %d bytes of role %s is left out of the log: at most %d", backends.ErrInvalid, len(s), msg.Role, store.MaxText)
		m.report(ctx, StageAppend, err)
		return "[" + err.Error() + "]"
	})
	return stored, whole
}

// Admit gives an imported entry the form that an append would have stored. It returns ErrInvalid
// for a role that is illegal in a log.
func (m *Memory) Admit(ctx context.Context, e *store.Entry) error {
	if !slices.Contains([]schema.RoleType{schema.User, schema.Assistant, schema.Tool}, e.Role) {
		return fmt.Errorf("message %q: %w: role %q", e.ID, backends.ErrInvalid, e.Role)
	}
	e.Message.Message, _ = m.clean(ctx, e.Message.Message)
	e.Tokens = einox.Tokens(e.Message.Message, text.Tokens)
	return nil
}

// openTurnBlob is the name of the blob that holds an interrupted turn.
func openTurnBlob(checkpointID string) string { return "open-turn/" + checkpointID }

// SaveOpenTurn keeps an interrupted turn beside the session that s names, until
// [Memory.TakeOpenTurn] is called with the same scope and checkpoint, maybe in another process.
// Texts are redacted; of Extra only memory's own marks are kept.
func (m *Memory) SaveOpenTurn(ctx context.Context, s backends.Scope, checkpointID string, t *Turn) error {
	if t == nil || checkpointID == "" {
		return fmt.Errorf("open turn: %w: needs a turn and a checkpoint id", backends.ErrInvalid)
	}
	if backends.IsIncognito(ctx) {
		return nil
	}
	k, leave, err := m.enter(s)
	if err != nil {
		return fmt.Errorf("open turn %q: %w", t.ID, err)
	}
	defer leave()
	if ctx, err = store.Begin(ctx, m.cfg.Sessions, k.Partition); err != nil {
		return fmt.Errorf("open turn %q of session %s: %w", t.ID, k, err)
	}
	saved := *t
	saved.Messages = make([]*schema.Message, len(t.Messages))
	for i, msg := range t.Messages {
		if msg != nil {
			cleaned, _ := m.clean(ctx, msg)
			saved.Messages[i] = einox.MarkOf(msg).On(cleaned)
		}
	}
	data, err := json.Marshal(&saved)
	if err != nil {
		return fmt.Errorf("open turn %q: %w: %w", t.ID, backends.ErrInvalid, err)
	}
	if err := m.cfg.Sessions.PutBlob(ctx, k.Partition, k.ID, openTurnBlob(checkpointID), data); err != nil {
		return fmt.Errorf("keeping open turn %q of session %s: %w", t.ID, k, err)
	}
	return nil
}

// TakeOpenTurn returns the turn that was saved under a checkpoint, and removes it. If the turn is
// missing it returns nil.
func (m *Memory) TakeOpenTurn(ctx context.Context, s backends.Scope, checkpointID string) (*Turn, error) {
	k, leave, err := m.enter(s)
	if err != nil {
		return nil, fmt.Errorf("open turn: %w", err)
	}
	defer leave()
	data, err := m.cfg.Sessions.GetBlob(ctx, k.Partition, k.ID, openTurnBlob(checkpointID))
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the open turn of session %s: %w", k, err)
	}
	t := &Turn{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("open turn of session %s, checkpoint %q: %w: %w", k, checkpointID, backends.ErrInvalid, err)
	}
	if err := m.cfg.Sessions.PutBlob(ctx, k.Partition, k.ID, openTurnBlob(checkpointID), nil); err != nil {
		return nil, fmt.Errorf("removing the open turn of session %s: %w", k, err)
	}
	return t, nil
}
