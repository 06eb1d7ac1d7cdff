// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"errors"
	"fmt"
)

// missed is what was lost since the last Flush.
type missed struct {
	errs  []error
	calls int // that errs hold
	more  int // calls that are only counted: somebody who never asks keeps nothing alive
}

// note takes an error of n calls down, if no more than limit calls are held then.
func (m *missed) note(err error, n, limit int) {
	if err == nil {
		return
	}
	if m.calls > 0 && m.calls+n > limit {
		m.more += n
		return
	}
	m.errs, m.calls = append(m.errs, err), m.calls+n
}

func (m *missed) err() error {
	if m.more > 0 {
		return errors.Join(append(m.errs, fmt.Errorf("toolmem: and %d more calls are not recorded: RecorderConfig.OnError was told of each", m.more))...)
	}
	return errors.Join(m.errs...)
}
