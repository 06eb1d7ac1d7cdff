// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"errors"
)

type incognitoKey struct{}

// Incognito returns a context whose runs and tool calls are not remembered: nothing of them
// is logged, learnt, archived or written down by a memory tool. What is known is still
// found and shown. Calls of a backend's own methods are the program's, and not affected.
// Contexts do not survive an interrupt: resume the run with such a context, too.
func Incognito(ctx context.Context) context.Context {
	return context.WithValue(ctx, incognitoKey{}, true)
}

// IsIncognito reports whether ctx comes from [Incognito].
func IsIncognito(ctx context.Context) bool { return ctx.Value(incognitoKey{}) != nil }

// ErrDeclined is returned where a [Confirm] did not allow a change: nothing was changed.
var ErrDeclined = errors.New("declined")

// Confirm is asked before a model, by a tool or by what it makes of a conversation, changes
// or deletes what is known. False: it is not carried out. An error, too, and the caller gets
// it; called by a tool it may be an interrupt of Eino's, such as tool.Interrupt returns, by
// which the run waits for an answer: the resumed run repeats the call, and asks again. It may
// also be asked again where others changed the same meanwhile. It must be safe for
// concurrent use.
type Confirm func(ctx context.Context, c Change) (bool, error)

// Ask returns nil if f allows the change, or if there is no f: else ErrDeclined, or f's error.
func (f Confirm) Ask(ctx context.Context, c Change) error {
	if f == nil {
		return nil
	}
	ok, err := f(ctx, c)
	if err == nil && !ok {
		err = ErrDeclined
	}
	return err
}

// Change is what a [Confirm] is asked about.
type Change struct {
	Scope   Scope
	Tool    string   // the name of the tool by which a model asks for it; "" for what was learnt from turns
	Retract []Memory // what is to hold no more, with nothing in its place
	Update  []Edit   // what is to be replaced: the text of a memory or of a block, or a memory by another
	Delete  []Memory // what is to be erased
}

// Edit is a memory before and after a change.
type Edit struct{ Old, New Memory }
