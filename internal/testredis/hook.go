// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Hook has before called right before each command or pipeline of a client is sent, and
// after right after it was answered, with the command or those of the pipeline. Their
// errors take the place of the commands' own. Either may be nil.
func Hook(c redis.UniversalClient, before, after func(cmds []redis.Cmder) error) {
	c.AddHook(&hook{before, after})
}

type hook struct {
	before, after func(cmds []redis.Cmder) error
}

func (*hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.around([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.around(cmds, func() error { return next(ctx, cmds) })
	}
}

func (h *hook) around(cmds []redis.Cmder, send func() error) error {
	fail := func(err error) error {
		for _, c := range cmds {
			c.SetErr(err)
		}
		return err
	}
	if h.before != nil {
		if err := h.before(cmds); err != nil {
			return fail(err)
		}
	}
	own := send()
	if h.after != nil {
		if err := h.after(cmds); err != nil {
			return fail(err)
		}
	}
	return own
}
