// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"cmp"
	"context"
)

// AuthorVerbatim is the Origin.Author of what no model wrote down.
const AuthorVerbatim = "verbatim"

// Verbatim stores what users and assistants say in the messages as it is, a memory a
// message, without a model: what somebody wrote down on purpose. What is known word
// for word is unchanged; nothing is compared beyond that, and nothing superseded.
// Errors are those of [Flows.Store] and of a request that is not legal.
func (f *Flows) Verbatim(ctx context.Context, r *SummaryRequest) (*SummaryResponse, error) {
	d, _, err := f.begin(ctx, r)
	if err != nil || d.replayed != nil {
		return d.orAgain(ctx, err)
	}
	said, err := f.gate(r.Messages, d.now, true)
	if err != nil {
		return nil, err
	}
	for _, u := range said {
		m := d.memory(u, u.text)
		m.Origin.Author = cmp.Or(r.Author, AuthorVerbatim)
		m.Metadata[metaType] = typeStated
		d.statements = append(d.statements, &statement{memory: m})
	}
	d.inOrder()
	return f.Store(ctx, d)
}

// orAgain is the response to a request that does not go on.
func (d *Draft) orAgain(ctx context.Context, err error) (*SummaryResponse, error) {
	if err != nil {
		return nil, err
	}
	return d.again(ctx, d.replayed)
}
