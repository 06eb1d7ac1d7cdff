// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/redact"
)

// sharing returns how workspaces are shared: redacted, and changed by authors alone, unless the
// configuration says otherwise.
func (c *Config) sharing() *keeper.Sharing {
	s := &keeper.Sharing{Redact: c.Redact, Allow: c.Allow}
	config.Default(&s.Redact, redact.Shared)
	config.Default(&s.Allow, allowAuthors)
	return s
}

// allowAuthors is the default of Config.Allow.
func allowAuthors(_ context.Context, op backends.Op, s backends.Scope, m *backends.Memory) error {
	switch {
	case op == backends.OpAdd, s.UserID == "", m != nil && m.Scope.UserID == s.UserID && len(m.Origin.Users) == 0:
		return nil
	case m == nil:
		return fmt.Errorf("%w: a workspace as a whole is the program's: use a scope that names it and no user", backends.ErrDenied)
	}
	return fmt.Errorf("%w: another user, or several, wrote it: its author may, and a scope that names the workspace and no user", backends.ErrDenied)
}
