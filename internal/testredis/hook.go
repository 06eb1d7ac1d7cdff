// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Hook is a hook of a client that calls Before right before each command or pipeline is
// sent and After right after it was answered, with the command's name in lower case, or
// those of a pipeline's commands. Their errors take the place of the command's own.
// Either may be nil.
type Hook struct {
	Before, After func(name string) error
}

var _ redis.Hook = (*Hook)(nil)

// DialHook implements [redis.Hook].
func (*Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (h *Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.around(cmd.Name(), func() error { return next(ctx, cmd) })
		cmd.SetErr(err)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (h *Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		names := make([]string, len(cmds))
		for i, c := range cmds {
			names[i] = c.Name()
		}
		var own error
		err := h.around(strings.Join(names, " "), func() error { own = next(ctx, cmds); return own })
		if err != own { //nolint:errorlint // it is the same one, or that of the hook
			for _, c := range cmds {
				c.SetErr(err)
			}
		}
		return err
	}
}

func (h *Hook) around(name string, send func() error) error {
	if h.Before != nil {
		if err := h.Before(name); err != nil {
			return err
		}
	}
	err := send()
	if h.After != nil {
		if e := h.After(name); e != nil {
			return e
		}
	}
	return err
}
