// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// Budget bounds what learning from turns may cost each partition a day, such as a person's. Once it
// is spent, further turns wait in the log until the next day, and searches find their words. The
// batch that reaches it is completed, and several processes may each complete one.
//
// The calls of models by packages mem0 and reme count once they are answered, unusable answers too.
// The sum is in the store, so that it outlives the process. It leaves out reflection, which has a
// budget of its own, searches, and Add by a program. [Memory.RetryFailures] counts and is not held
// back.
type Budget struct {
	Calls  int `json:"calls"`  // of models. 0: any number
	Tokens int `json:"tokens"` // of prompts and answers, as models report them, else as estimated. 0: any number
	// Location is where days begin. Optional. Defaults to UTC; the middleware passes its own.
	Location *time.Location `json:"-"`
}

// account is the cost of learning for a partition on a day. It is a blob in the partition, of a
// session that never begins.
type account struct {
	Day    string `json:"day"`
	Calls  int    `json:"calls"`
	Tokens int    `json:"tokens"`
}

const accountSession, accountBlob = "einomem/budget", "account"

// Budget returns Config.Budget.
func (m *Memory) Budget() Budget { return m.cfg.Budget }

// spent reports whether an account has reached the budget.
func (b *Budget) spent(a account) bool {
	return b.Calls > 0 && a.Calls >= b.Calls || b.Tokens > 0 && a.Tokens >= b.Tokens
}

// charge adds to the account of the day, and returns how long turns have to wait for a new budget;
// 0: not at all. It reports the call that spends the budget.
func (m *Memory) charge(ctx context.Context, p backends.Partition, calls, tokens int) (wait time.Duration, err error) {
	b := &m.cfg.Budget
	if b.Calls == 0 && b.Tokens == 0 {
		return 0, nil
	}
	unlock, err := m.accounts.Lock(ctx, p)
	if err != nil {
		return 0, err
	}
	defer unlock()
	data, err := m.cfg.Sessions.GetBlob(ctx, p, accountSession, accountBlob)
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return 0, fmt.Errorf("the day's cost of learning: %w", err)
	}
	var a account
	_ = json.Unmarshal(data, &a) // an unreadable account begins anew
	now := m.cfg.Clock().In(b.Location)
	if day := now.Format(time.DateOnly); a.Day != day {
		a = account{Day: day}
	}
	before := b.spent(a)
	if a.Calls, a.Tokens = a.Calls+calls, a.Tokens+tokens; calls > 0 {
		data, _ = json.Marshal(a) // a text and numbers
		if err = m.cfg.Sessions.PutBlob(ctx, p, accountSession, accountBlob, data); err != nil {
			return 0, err
		}
	}
	if !b.spent(a) {
		return 0, nil
	}
	next := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, b.Location)
	if !before {
		m.report(ctx, StageBudget, fmt.Errorf("learning for %s has spent the day's Budget of working.Config (model calls: %d, tokens: %d): further turns wait until %s",
			p, a.Calls, a.Tokens, next.Format(time.RFC3339)))
	}
	return next.Sub(now), nil
}

// charging returns a context under which answers of models charge the partition's account.
func (m *Memory) charging(ctx context.Context, p backends.Partition) context.Context {
	return work.Charging(ctx, func(calls, tokens int) {
		_, err := m.charge(context.WithoutCancel(ctx), p, calls, tokens)
		if err != nil && !errors.Is(err, backends.ErrForgotten) {
			m.report(ctx, StageBudget, fmt.Errorf("%s: %w", p, err))
		}
	})
}
