// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
)

func TestResolveScope(t *testing.T) {
	carry := func(s backends.Scope) context.Context { return backends.WithScope(context.Background(), s) }
	for name, c := range map[string]struct {
		ctx  context.Context
		def  backends.Scope
		want backends.Scope
		err  error
	}{
		"default alone":               {context.Background(), ann, ann, nil},
		"parts are filled up":         {carry(backends.Scope{SessionID: "s2"}), ann, backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s2"}, nil},
		"another's session is not":    {carry(backends.Scope{UserID: "bob"}), ann, backends.Scope{UserID: "bob", AgentID: "bot"}, nil},
		"space is trimmed":            {carry(backends.Scope{UserID: " bob "}), backends.Scope{}, backends.Scope{UserID: "bob"}, nil},
		"an agent is somebody":        {context.Background(), backends.Scope{AgentID: "bot"}, backends.Scope{AgentID: "bot"}, nil},
		"a workspace is somewhere":    {context.Background(), backends.Scope{Workspace: "w"}, backends.Scope{Workspace: "w"}, nil},
		"a session is nobody":         {carry(backends.Scope{SessionID: "s"}), backends.Scope{Namespace: "n"}, backends.Scope{}, backends.ErrNoScope},
		"nobody":                      {context.Background(), backends.Scope{}, backends.Scope{}, backends.ErrNoScope},
		"a bad part is not replaced":  {carry(backends.Scope{UserID: "*"}), ann, backends.Scope{}, backends.ErrInvalid},
		"a blank part is not absent":  {carry(backends.Scope{UserID: "  "}), ann, backends.Scope{}, backends.ErrInvalid},
		"a control character is bad":  {carry(backends.Scope{SessionID: "a\nb"}), ann, backends.Scope{}, backends.ErrInvalid},
		"odd names are names as well": {carry(backends.Scope{UserID: "a:{b}/c"}), backends.Scope{}, backends.Scope{UserID: "a:{b}/c"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, func(cfg *hooks.Config) { cfg.Scope = c.def })
			got, err := m.ResolveScope(c.ctx)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.want, got)
		})
	}
}
