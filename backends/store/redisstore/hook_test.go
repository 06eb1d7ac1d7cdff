// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// hook sees each command, or each pipeline, right before it is sent and right after
// it was answered. An error is the command's, in the place of its own.
type hook struct {
	before, after func(name string) error
}

var _ redis.Hook = (*hook)(nil)

func (h *hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.around(cmd.Name(), func() error { return next(ctx, cmd) })
		cmd.SetErr(err)
		return err
	}
}

func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		names := make([]string, len(cmds))
		for i, c := range cmds {
			names[i] = c.Name()
		}
		var own error
		err := h.around(strings.Join(names, " "), func() error { own = next(ctx, cmds); return own })
		if err != own { //nolint:errorlint // it is the same one, or it is ours
			for _, c := range cmds {
				c.SetErr(err)
			}
		}
		return err
	}
}

func (h *hook) around(name string, do func() error) error {
	if h.before != nil {
		if err := h.before(name); err != nil {
			return err
		}
	}
	err := do()
	if h.after != nil {
		if e := h.after(name); e != nil {
			return e
		}
	}
	return err
}
