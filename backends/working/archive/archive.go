// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/work"
)

// Config configures [New]. It is copied.
type Config struct {
	// Sessions holds the logs, and the blobs beside them. Required. It stays the
	// caller's.
	Sessions store.Sessions
	// Redact changes texts before they are stored: contents, text parts, reasoning and arguments
	// of tool calls. Pass the function of working.Config. It should leave its own output as it
	// is, so that a message is recognised both in the log and in a blob. Must be safe for
	// concurrent use. Optional. Defaults to redact.Text.
	Redact func(string) string
}

// Archives reaches the archives of all sessions of a store. It is stateless and safe for
// concurrent use.
type Archives struct {
	cfg Config
}

// New returns the archives of a store, or ErrInvalid if Sessions is nil.
func New(cfg *Config) (*Archives, error) {
	if cfg == nil || cfg.Sessions == nil {
		return nil, fmt.Errorf("archive: %w: Config.Sessions is required", backends.ErrInvalid)
	}
	a := &Archives{cfg: *cfg}
	work.Default(&a.cfg.Redact, redact.Text)
	return a, nil
}

// Archive holds the messages that left the context of one session. It is safe for concurrent
// use.
type Archive struct {
	cfg *Config
	key session.Key
}

// Of returns the archive of the session that s names, with the owner that working.Memory uses:
// the user, else the agent. The session may still be missing. It returns ErrNoScope if user and
// agent are both empty, and ErrInvalid for an illegal part.
func (a *Archives) Of(s backends.Scope) (*Archive, error) {
	k, _, err := session.KeyOf(s)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return &Archive{cfg: &a.cfg, key: k}, nil
}

// Put stores messages that are about to leave the context, and returns their id. They are
// durable when err is nil.
//
// Messages that stand one after the other in the session's log are stored already: the id is
// that range of the log. Marks in their Extra tell; package window sets them on the
// messages that it loads. All other messages are written as one blob, with texts redacted and
// made valid UTF-8. A blob drops ResponseMeta, Extra of tool calls, and Extra of messages except
// memory's own marks. It keeps the rest; Extra of a multimodal part is kept as JSON. Of a
// private message it keeps a placeholder.
//
// Equal messages have equal ids, and putting them twice is harmless. An empty list, and messages
// that JSON rejects, are ErrInvalid.
func (x *Archive) Put(ctx context.Context, messages []*schema.Message) (string, error) {
	messages = slices.DeleteFunc(slices.Clone(messages), func(m *schema.Message) bool { return m == nil })
	if len(messages) == 0 {
		return "", fmt.Errorf("archiving for session %s: %w: no messages", x.key, backends.ErrInvalid)
	}
	ctx, err := store.Begin(ctx, x.cfg.Sessions, x.key.Partition)
	if err != nil {
		return "", fmt.Errorf("archiving for session %s: %w", x.key, err)
	}
	if r, ok := x.inLog(ctx, messages); ok {
		return r.String(), nil
	}
	data, err := x.encode(messages)
	if err != nil {
		return "", fmt.Errorf("archiving for session %s: %w", x.key, err)
	}
	r := ref{blob: idOf(data)}
	if err := x.cfg.Sessions.PutBlob(ctx, x.key.Partition, x.key.ID, blobFolder+r.blob, data); err != nil {
		return "", fmt.Errorf("archiving %d messages for session %s: %w", len(messages), x.key, err)
	}
	return r.String(), nil
}

// inLog returns the range of the log that consists of the messages, in their order. A
// placeholder of a range counts as that range.
func (x *Archive) inLog(ctx context.Context, messages []*schema.Message) (ref, bool) {
	var whole ref
	for i, m := range einox.Decode(messages) {
		r, ok := placeOf(m)
		switch {
		case !ok || i > 0 && r.from <= whole.upto:
			return ref{}, false
		case i == 0:
			whole = r
		case r.from > whole.upto+1 && !x.onlyMarkers(ctx, ref{from: whole.upto + 1, upto: r.from - 1}):
			return ref{}, false
		}
		whole.upto = r.upto
	}
	return whole, true
}

// placeOf returns the range of the log that a message is or stands for.
func placeOf(m einox.Marked) (ref, bool) {
	if m.Ref != "" {
		r, ok := readRef(m.Ref)
		return r, ok && r.isLog()
	}
	return ref{from: m.Seq, upto: m.Seq}, m.Seq > 0 && m.Seq <= wholeLog && m.Kind == ""
}

// onlyMarkers reports whether a short range of the log has only markers of ended turns. It
// returns false for a log that is unreadable.
func (x *Archive) onlyMarkers(ctx context.Context, r ref) bool {
	page, err := x.cfg.Sessions.Read(ctx, x.key.Partition, x.key.ID, store.Range{After: r.from - 1, Upto: r.upto, Limit: logPage})
	if err != nil || int64(len(page)) != r.upto-r.from+1 {
		return false
	}
	return !slices.ContainsFunc(page, func(e store.Entry) bool { return !einox.SaysNothing(e.Message.Message) })
}

// Restore returns the messages with every placeholder replaced by its originals, at all levels:
// the inverse of compaction. The result shares messages with the argument; leave all of them
// unchanged. From a range of the log it returns the messages that are still there.
//
// It returns ErrNotFound if this session lacks one of the archives, even where another session
// has it, and ErrInvalid for a malformed id.
func (x *Archive) Restore(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	out, err := x.restore(ctx, einox.Decode(messages))
	if err != nil {
		return nil, fmt.Errorf("restoring the context of session %s: %w", x.key, err)
	}
	return einox.Encode(out), nil
}

// restore recurses without a limit: the name of a blob is the hash of its content, so that
// cycles are impossible.
func (x *Archive) restore(ctx context.Context, messages []einox.Marked) ([]einox.Marked, error) {
	var out []einox.Marked
	for _, m := range messages {
		if m.Ref == "" {
			out = append(out, m)
			continue
		}
		var held []einox.Marked
		err := x.documents(ctx, m.Ref, func(d *document) error {
			held = append(held, d.Marked)
			return nil
		})
		if err == nil {
			held, err = x.restore(ctx, held)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, held...)
	}
	return out, nil
}

// blob returns the messages of a blob.
func (x *Archive) blob(ctx context.Context, r ref) ([]einox.Marked, error) {
	data, err := x.cfg.Sessions.GetBlob(ctx, x.key.Partition, x.key.ID, blobFolder+r.blob)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		return nil, fmt.Errorf("%w: this conversation has no such archive; copy the id from the message that names it", backends.ErrNotFound)
	case err == nil && idOf(data) != r.blob:
		err = fmt.Errorf("%w: its content is not the one that it was named for", errDamaged)
	}
	var messages []einox.Marked
	if err == nil {
		messages, err = decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", x.key, err)
	}
	return messages, nil
}
