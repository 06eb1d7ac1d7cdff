// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
)

// What a provider is sent: no two messages of a user in a row, and no name.
func TestTheNoteStandsInsideTheUsersMessage(t *testing.T) {
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			m, chat := newMemory(t, nil), threeCalls()
			testkit.Drain(m.enter(door, chat, nil, false, testkit.Echo(t)).Run(t.Context(), testkit.Say("any news")))
			require.NotEmpty(t, chat.Sent())
			for _, call := range chat.Sent() {
				users := 0
				for i, msg := range call {
					if msg.Role != schema.User {
						continue
					}
					users++
					require.Empty(t, msg.Name)
					require.True(t, strings.HasSuffix(msg.Content, "</memories>\n\nany news"), msg.Content)
					require.True(t, i == 0 || call[i-1].Role != schema.User)
				}
				require.Equal(t, 1, users)
			}
			require.Equal(t, "user: any news", m.logged(ann)[0])
			m.fine()
		})
	}
}

func TestTheNoteAsAMessageOfItsOwn(t *testing.T) {
	for want, own := range map[string]hooks.NoteMessage{
		"user long_term_memory, user":   {},
		"user, user long_term_memory":   {Behind: true},
		"system long_term_memory, user": {Role: schema.System},
		"user, system long_term_memory": {Role: schema.System, Behind: true},
	} {
		for _, door := range doors {
			m, chat := newMemory(t, func(s *setup) { s.Note, s.NoteName = &own, "long_term_memory" }), threeCalls()
			testkit.Drain(m.enter(door, chat, nil, false, testkit.Echo(t)).Run(t.Context(), testkit.Say("any news")))
			for _, call := range chat.Sent() {
				var asked []string
				for _, msg := range call {
					if einox.MarkOf(msg).Kind == einox.Note || msg.Role == schema.User {
						asked = append(asked, strings.TrimSpace(string(msg.Role)+" "+msg.Name))
					}
				}
				require.Equal(t, want, strings.Join(asked, ", "))
			}
			require.Equal(t, "user: any news", m.logged(ann)[0])
			m.fine()
		}
	}
}
