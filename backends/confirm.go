// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"errors"
)

// ErrDeclined is returned where a [Confirm] refused a change. All memories stay as they
// were.
var ErrDeclined = errors.New("declined")

// Confirm is asked before a model changes or deletes known memories, by a tool or by learning
// from a conversation, and before it reads a secret. False declines the change. An error declines
// it, too, and the caller gets the error. For a tool it may be an interrupt of Eino's, such as
// tool.Interrupt returns. Then the run waits for an answer, and the resumed run repeats the call
// and asks again. Confirm may also be asked again where others changed the same memory meanwhile.
// It must be safe for concurrent use.
type Confirm func(ctx context.Context, c Change) (bool, error)

// Ask returns nil if f allows the change, or if f is nil: else ErrDeclined, or f's error.
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

// Change describes the change that a [Confirm] decides.
type Change struct {
	Scope   Scope
	Tool    string   // the tool by which a model asks for it; "" for learning from turns
	Retract []Memory // the memories that are to end and have no successor
	Update  []Edit   // the replacements: the text of a memory or of a block, or a memory by another
	Delete  []Memory // the memories that are to be erased
	Read    string   // the name of a secret that a model is to read, see package toolkit/vault
}

// Edit is a memory before and after a change.
type Edit struct{ Old, New Memory }
