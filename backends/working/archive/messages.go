// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Messages returns what [Archive.Put] kept under an id, with memory's marks;
// "id#3" is the message with the index 3 of it. Of a stretch of the log it returns
// what of it is there. All of it comes into memory.
//
// It returns ErrInvalid for an id that is none, or a blob that is damaged (also ErrDamaged), and
// ErrNotFound when this session has no such archive, whatever others have.
func (x *Archive) Messages(ctx context.Context, id string) ([]*schema.Message, error) {
	r, err := parseRef(id)
	if err != nil {
		return nil, err
	}
	messages, err := x.messages(ctx, r)
	if err != nil || r.item < 0 {
		return messages, err
	}
	if r.item >= len(messages) {
		return nil, noItem(r, len(messages))
	}
	return messages[r.item : r.item+1 : r.item+1], nil
}

// messages returns all messages of an archive, even if r names one of them.
func (x *Archive) messages(ctx context.Context, r ref) ([]*schema.Message, error) {
	if !r.isLog() {
		return x.blob(ctx, r)
	}
	var out []*schema.Message
	for e, err := range x.entries(ctx, r.from, r.upto) {
		if err != nil {
			return nil, err
		}
		out = append(out, messageOf(e))
	}
	if len(out) == 0 {
		return nil, x.notFound(r)
	}
	return out, nil
}

func (x *Archive) blob(ctx context.Context, r ref) ([]*schema.Message, error) {
	data, err := x.cfg.Sessions.GetBlob(ctx, x.partition, x.session, blobFolder+r.blob)
	if errors.Is(err, backends.ErrNotFound) {
		return nil, x.notFound(r)
	}
	if err != nil {
		return nil, fmt.Errorf("archive %s%s of %s: %w", blobPrefix, r.blob, x, err)
	}
	if idOf(data) != r.blob {
		return nil, fmt.Errorf("archive %s%s of %s: %w: %w: its content is not the one that it was named for", blobPrefix, r.blob, x, backends.ErrInvalid, ErrDamaged)
	}
	messages, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("archive %s%s of %s: %w", blobPrefix, r.blob, x, err)
	}
	return messages, nil
}

func (x *Archive) notFound(r ref) error {
	if r.isLog() {
		return fmt.Errorf("archive %s: %w: the log of this conversation has no messages there", r, backends.ErrNotFound)
	}
	return fmt.Errorf("archive %s: %w: this conversation has no such archive; copy the id from the message that names it", r, backends.ErrNotFound)
}

func noItem(r ref, n int) error {
	whole := r
	whole.item = -1
	return fmt.Errorf("archive %s: %w: %s has the messages %s0 to %s%d", r, backends.ErrNotFound, whole, itemSign, itemSign, n-1)
}
