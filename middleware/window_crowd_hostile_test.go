// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/middleware"
)

// hostileSessions are scopes whose parts read like those of others, joined.
func hostileSessions() []middleware.Scope {
	ids := []string{"a", "a:b", "b", "a/b", "{a}", "{a}:b", `a"b`, "a'b", `a\b`, "👩‍👩‍👧", "👩", "archive/a", "%2F", strings.Repeat("x", 256), strings.Repeat("x", 255)}
	out := []middleware.Scope{{Namespace: "a", UserID: "b", SessionID: "c"}, {UserID: "a", SessionID: ""}, {AgentID: "a", SessionID: "a"}, {AgentID: "a:b", SessionID: "a"}}
	for _, user := range ids {
		for _, session := range ids {
			out = append(out, middleware.Scope{UserID: user, SessionID: session})
		}
	}
	return out
}

// prisoner is a session, and what it may see.
type prisoner struct {
	scope middleware.Scope
	n     int
	refs  []string // of its archives
}

func (p *prisoner) ctx() context.Context {
	return middleware.WithScope(context.Background(), p.scope)
}

// secret is the word of a prisoner.
func (p *prisoner) secret() string { return fmt.Sprintf("secret%dend", p.n) }

// pattern finds the word, and is not found by itself in an answer that repeats it.
func (p *prisoner) pattern() string { return fmt.Sprintf("secret(%d)end", p.n) }

// fill gives the session turns, of which some leave the context for archives.
func (p *prisoner) fill(t *testing.T, mem *middleware.MemoryMiddleware) {
	t.Helper()
	text := p.secret() + " " + pageText(p.n, 250)
	in := []*schema.Message{schema.UserMessage("Read it."), schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: "{}"}}}),
		schema.ToolMessage(text, "c", schema.WithToolName("read")), schema.AssistantMessage("Read.", nil), schema.UserMessage("And now?")}
	res, err := mem.Window().Fit(p.ctx(), p.scope, in)
	require.NoError(t, err)
	for _, m := range res.Messages {
		if ref := einox.RefOf(m); ref != "" {
			p.refs = append(p.refs, ref)
		}
	}
	require.NotEmpty(t, p.refs)
	require.Equal(t, "Noted.", newAgent(t, mem, testkit.Text("Noted.")).reply(p.ctx(), p.secret()+" was said."))
}

// call calls a tool in the session, which must not tell of what is not its own.
func (p *prisoner) call(t *testing.T, tools map[string]tool.InvokableTool, name string, arguments map[string]any) string {
	t.Helper()
	text, err := json.Marshal(arguments)
	require.NoError(t, err)
	out, err := tools[name].InvokableRun(p.ctx(), string(text))
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`secret(\d+)end|page(\d+)word`).FindAllString(out, -1) {
		if found != p.secret() && found != fmt.Sprintf("page%dword", p.n) {
			require.Failf(t, "a leak", "%q got %s by %s(%.200s)", p.scope, found, name, text)
		}
	}
	return out
}

func confined(t *testing.T, db store.Sessions) {
	cfg := windowed(600)
	cfg.Sessions = db
	mem := open(t, cfg)
	all, err := mem.Tools(context.Background())
	require.NoError(t, err)
	tools := map[string]tool.InvokableTool{}
	for _, b := range all {
		info, err := b.Info(context.Background())
		require.NoError(t, err)
		tools[info.Name] = b.(tool.InvokableTool)
	}
	var everybody []*prisoner
	for n, s := range hostileSessions() {
		if !long && n > 40 && n%5 != 0 || raced && n > 20 {
			continue
		}
		p := &prisoner{scope: s, n: n}
		p.fill(t, mem)
		everybody = append(everybody, p)
	}
	for i, p := range everybody {
		found := p.call(t, tools, "grep_working_memory", map[string]any{"pattern": `secret\d+end`, "regex": true, "limit": 200})
		require.Contains(t, found, p.secret())
		for _, ref := range p.refs {
			require.Contains(t, p.call(t, tools, "read_working_memory", map[string]any{"archive": ref}), p.secret())
		}
		for _, at := range []int{1, 2, 7, 16, 40} { // some of the others
			o := everybody[(i+at)%len(everybody)]
			for _, ref := range slices.Concat(o.refs, []string{"../" + o.scope.SessionID + "/" + o.refs[0], o.scope.UserID + ":" + o.refs[0], "archive/" + o.refs[0]}) {
				if slices.Contains(p.refs, ref) {
					continue
				}
				out := p.call(t, tools, "read_working_memory", map[string]any{"archive": ref, "user_id": o.scope.UserID, "session_id": o.scope.SessionID})
				require.NotContains(t, out, "panic")
				p.call(t, tools, "grep_working_memory", map[string]any{"pattern": o.pattern(), "regex": true, "archives": []string{ref}})
			}
			p.call(t, tools, "grep_working_memory", map[string]any{"pattern": o.pattern(), "regex": true, "scope": o.scope})
		}
		p.call(t, tools, "read_working_memory", map[string]any{"archive": "log-1-1000", "lines": 1000})
	}
	t.Logf("%d sessions", len(everybody))
	deleted := everybody[0]
	require.NoError(t, mem.Window().DeleteSession(context.Background(), deleted.scope))
	require.NotContains(t, deleted.call(t, tools, "read_working_memory", map[string]any{"archive": deleted.refs[0]}), deleted.secret())
	for _, p := range everybody[1:] {
		require.Contains(t, p.call(t, tools, "read_working_memory", map[string]any{"archive": p.refs[0]}), p.secret(), "%q: nothing of another session went with it", p.scope)
	}
}

// However ids read, a session's archives are its own: the tools find and read what
// is in them, and nothing of anybody else's.
func TestArchivesOfHostileIDs(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		db := openFile(t, filepath.Join(t.TempDir(), "memory.db"))
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		confined(t, db)
	})
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) {
		db, err := redisstore.New(t.Context(), open(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		confined(t, db)
	})
}
