// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"iter"
	"strconv"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// document is one message of an archive.
type document struct {
	id    string // by which it is read alone
	label string // its place in the archive, for people
	when  time.Time
	*schema.Message
}

// documents goes through the messages of an archive, or the one that r names.
func (x *Archive) documents(ctx context.Context, r ref) iter.Seq2[*document, error] {
	return func(yield func(*document, error) bool) {
		i := 0
		for d, err := range x.all(ctx, r) {
			if err == nil && r.item >= 0 && i != r.item {
				i++
				continue
			}
			i++
			if !yield(d, err) || err != nil || i == r.item+1 {
				return
			}
		}
		switch {
		case i == 0:
			yield(nil, x.notFound(r))
		case i <= r.item:
			yield(nil, noItem(r, i))
		}
	}
}

// all goes through all messages of an archive, even if r names one of them.
func (x *Archive) all(ctx context.Context, r ref) iter.Seq2[*document, error] {
	if r.isLog() {
		return x.logged(ctx, r.from, r.upto)
	}
	return func(yield func(*document, error) bool) {
		messages, err := x.blob(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		for i, m := range messages {
			d := &document{id: blobPrefix + r.blob, label: itemSign + strconv.Itoa(i), Message: m}
			if len(messages) > 1 {
				d.id += d.label
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// logged goes through the entries of the log.
func (x *Archive) logged(ctx context.Context, from, upto int64) iter.Seq2[*document, error] {
	return func(yield func(*document, error) bool) {
		for e, err := range x.entries(ctx, from, upto) {
			if err != nil {
				yield(nil, err)
				return
			}
			d := &document{id: logRef(e.Seq, e.Seq).String(), label: strconv.FormatInt(e.Seq, 10), when: e.Time, Message: e.Message.Message}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// identity is equal for messages that say the same, be they in the log or in a
// blob. Marks, and what belongs to the provider, do not count.
func identity(m *schema.Message) [sha256.Size]byte {
	h := sha256.New()
	write := func(fields ...string) {
		for _, s := range fields {
			var n [8]byte
			binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
			h.Write(n[:])
			h.Write([]byte(s))
		}
	}
	write(string(m.Role), m.Content, m.Name, m.ToolCallID, m.ToolName, m.ReasoningContent)
	for _, c := range m.ToolCalls {
		write(c.ID, c.Type, c.Function.Name, c.Function.Arguments)
	}
	if einox.HasParts(m) {
		// What came out of JSON goes into it again.
		parts, _ := json.Marshal([]any{m.MultiContent, m.UserInputMultiContent, m.AssistantGenMultiContent})
		write(string(parts))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
