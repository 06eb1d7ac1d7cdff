// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// Whatever a model writes, a tool over a real store answers with text that a model
// can act on, and what belongs to Bob stays as it is.
func TestHostileArguments(t *testing.T) {
	b := verbatim(t, openStore(t))
	added, err := b.Add(context.Background(), &backends.AddRequest{Scope: middleware.Scope{UserID: "bob"}, Verbatim: true,
		Messages: []backends.Message{{ID: "1", Message: schema.UserMessage("Bob's secret is 4711.")}}})
	require.NoError(t, err)
	bobs := added.Items[0].Memory.ID
	mem := open(t, &middleware.Config{Backend: b, Mode: modes.AgentControl, UpdateTool: true, DeleteTool: true})
	tools, err := mem.Tools(context.Background())
	require.NoError(t, err)
	require.Len(t, tools, 4)

	huge := strings.Repeat("x", 4<<20)
	smuggled := `"user_id":"bob","scope":{"user_id":"bob"},"partition":"bob","filter":{"user_id":"bob"}`
	arguments := []string{
		``, `null`, `[]`, `7`, `{`, `{"keywords":{}}`, `{"id":{},"content":{}}`, strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000),
		`{"keywords":["secret"],` + smuggled + `}`, `{"content":["planted"],` + smuggled + `}`,
		fmt.Sprintf(`{"id":%q,"content":"mine now",%s}`, bobs, smuggled), fmt.Sprintf(`{"id":"../bob/%s","content":"mine now"}`, bobs),
		fmt.Sprintf(`{"id":%q,"content":%q,"keywords":[%q]}`, huge, huge, huge), `{"id":"\u0000","content":"\u0000","keywords":["\u0000","\ud800"]}`,
		"{\"id\":\"\xff\",\"content\":\"\xff\",\"keywords\":[\"\xff\"]}", `{"id":"' OR 1=1 --","content":"*","keywords":["*","%","?"]}`, `{"id":"*","content":"*"}`,
	}
	for _, tl := range tools {
		info, err := tl.Info(context.Background())
		require.NoError(t, err)
		for _, a := range arguments {
			shown := a[:min(len(a), 80)]
			out, err := tl.(tool.InvokableTool).InvokableRun(asAnn(), a)
			require.NoError(t, err, "%s(%s)", info.Name, shown)
			require.NotEmpty(t, strings.TrimSpace(out))
			require.True(t, utf8.ValidString(out), "%s(%s)", info.Name, shown)
			require.Less(t, len(out), 200_000, "%s(%s)", info.Name, shown)
			require.NotContains(t, out, "panic", "%s(%s)", info.Name, shown)
			require.NotContains(t, out, "4711", "%s(%s)", info.Name, shown)
		}
	}
	require.Equal(t, []string{"Bob's secret is 4711."}, list(t, b, "bob"))
}
