// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// Put keeps messages that are about to leave the context, and returns the id by
// which they are found. When it returns nil they are durable.
//
// Messages that the session's log holds one after the other are not written
// again: the id is that of the stretch of the log. That goes by the marks of
// package einox, which session.Service sets on what it loads. Everything else is
// written as one blob: Extra (but for memory's own marks) and ResponseMeta of
// messages and Extra of tool calls are left out, texts are redacted and made
// legal, everything else is kept. Extra of a multimodal part is kept as JSON.
//
// The same messages have the same id, and to put them twice is harmless. It
// returns ErrInvalid when there is no message, or one that JSON cannot express.
func (x *Archive) Put(ctx context.Context, messages []*schema.Message) (string, error) {
	messages = slices.DeleteFunc(slices.Clone(messages), func(m *schema.Message) bool { return m == nil })
	if len(messages) == 0 {
		return "", fmt.Errorf("archiving for %s: %w: no messages", x, backends.ErrInvalid)
	}
	if r, ok := x.inLog(ctx, messages); ok {
		return r.String(), nil
	}
	data, err := x.encode(messages)
	if err != nil {
		return "", fmt.Errorf("archiving for %s: %w", x, err)
	}
	r := ref{blob: idOf(data), item: -1}
	if err := x.cfg.Sessions.PutBlob(ctx, x.partition, x.session, blobFolder+r.blob, data); err != nil {
		return "", fmt.Errorf("archiving %d messages for %s: %w", len(messages), x, err)
	}
	return r.String(), nil
}

// maxGaps is how many times the log is asked what lies between two messages.
const maxGaps = 32

// inLog returns the stretch of the log that consists of the messages, in their
// order. What stands in for a stretch counts as that stretch.
func (x *Archive) inLog(ctx context.Context, messages []*schema.Message) (ref, bool) {
	var whole ref
	var gaps []ref
	for i, m := range messages {
		r, ok := placeOf(m)
		switch {
		case !ok || i > 0 && r.from <= whole.upto:
			return ref{}, false
		case i == 0:
			whole = r
		case r.from > whole.upto+1:
			gaps = append(gaps, logRef(whole.upto+1, r.from-1))
		}
		whole.upto = r.upto
	}
	if len(gaps) > maxGaps {
		return ref{}, false
	}
	for _, gap := range gaps {
		if !x.onlyMarks(ctx, gap) {
			return ref{}, false
		}
	}
	return whole, true
}

// placeOf returns where in the log a message is, or what it stands in for.
func placeOf(m *schema.Message) (ref, bool) {
	if s := einox.RefOf(m); s != "" {
		r, ok := readRef(s)
		return r, ok && r.isLog() && r.item < 0
	}
	seq := einox.SeqOf(m)
	return logRef(seq, seq), seq > 0 && seq <= maxSeq && !einox.IsNote(m)
}

// onlyMarks reports whether a short stretch of the log says nothing but that turns
// ended. A log that cannot be read does not say so.
func (x *Archive) onlyMarks(ctx context.Context, r ref) bool {
	n := r.upto - r.from + 1
	if n > logPage {
		return false
	}
	page, err := x.cfg.Sessions.Read(ctx, x.partition, x.session, store.Range{After: r.from - 1, Upto: r.upto, Limit: logPage})
	if err != nil || int64(len(page)) != n {
		return false
	}
	return !slices.ContainsFunc(page, func(e store.Entry) bool { return e.Message.Message == nil || !saysNothing(e.Message.Message) })
}
