// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/einox"
)

func TestAnIDIsOfTheContent(t *testing.T) {
	w := newWorld(t)
	data, id, err := archive.Encode(w.of(ann), []*schema.Message{schema.UserMessage("<b> & 茶")})
	require.NoError(t, err)
	require.Equal(t, `{"format":1,"messages":[{"role":"user","content":"<b> & 茶"}]}`, string(data), "what older versions wrote must stay readable")
	require.Equal(t, "vhdq654gdpef22wfpyme", id)
}

func TestABlobOfAnotherFormat(t *testing.T) {
	for data, want := range map[string]string{
		``: "damaged", `null`: "format 0", `{}`: "format 0", `[]`: "damaged", `{"format":1}`: "no messages", `{"format":1,"messages":[null]}`: "message 0 is empty",
		`{"format":1,"messages":[{"role":"user","content":"a"},{}]}`: "message 1 is empty", `{"format":2,"messages":[{"role":"user","content":"a"}]}`: "format 2",
		`{"format":1,"messages":[{"role":"user","content":"a"}]`: "damaged", `{"format":1,"messages":[{"role":7}]}`: "damaged", strings.Repeat("[", 100_000): "damaged",
		`{"format":1,"messages":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`: "damaged",
	} {
		_, err := archive.Decode([]byte(data))
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
}

func TestExtraThatIsNoJSONIsRefused(t *testing.T) {
	w := newWorld(t)
	loop := map[string]any{}
	loop["self"] = loop
	deep := map[string]any{}
	for at, i := deep, 0; i < 20_000; i++ {
		next := map[string]any{}
		at["in"], at = next, next
	}
	for _, extra := range []map[string]any{{"f": func() {}}, loop, deep} {
		_, err := w.of(ann).Put(t.Context(), []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: "text", Text: "x", Extra: extra}}}})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	require.Empty(t, w.blobs(ann), "what cannot be read back is not written")
}

func TestTextsAreRedacted(t *testing.T) {
	w := newWorld(t, func(c *archive.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	})
	const s = "pw hunter2"
	ref := w.put(ann, &schema.Message{
		Role: schema.Assistant, Content: s, ReasoningContent: s, ToolCalls: []schema.ToolCall{{Function: schema.FunctionCall{Name: "f", Arguments: s}}},
		MultiContent: []schema.ChatMessagePart{{Text: s}}, UserInputMultiContent: []schema.MessageInputPart{{Text: s}}, AssistantGenMultiContent: []schema.MessageOutputPart{{Text: s}},
	})
	page, err := w.of(ann).Read(t.Context(), &archive.ReadRequest{Ref: ref})
	require.NoError(t, err)
	require.NotContains(t, page.Text, "hunter2")
	require.Equal(t, 6, strings.Count(page.Text, "pw [secret]"))
}

// What stands in for messages quotes them in a mark.
func TestMarksAreRedacted(t *testing.T) {
	w := newWorld(t, func(c *archive.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	})
	const key = einox.MarkerKey + "_standin"
	m := einox.WithMarks(schema.UserMessage("pw hunter2"), map[string]string{
		einox.MarkerKey: "summary", key: `{"messages":1234567,"before":"pw hunter2","asked":["the pw \u0026 hunter2"],"tools":[{"name":"hunter2","calls":1}]}`,
	})
	before := einox.Marks(m)
	ref := w.put(ann, m)
	data, err := w.store.GetBlob(t.Context(), partition(t, ann), ann.SessionID, w.blobs(ann)[0])
	require.NoError(t, err)
	require.NotContains(t, string(data), "hunter2")
	require.Equal(t, before, einox.Marks(m), "the caller's message is as it was")
	out, err := w.of(ann).Messages(t.Context(), ref)
	require.NoError(t, err)
	require.JSONEq(t, `{"messages":1234567,"before":"pw [secret]","asked":["the pw & [secret]"],"tools":[{"name":"[secret]","calls":1}]}`, einox.Marks(out[0])[key])
	require.True(t, einox.IsSummary(out[0]))
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"format":1,"messages":[{"role":"user","content":"a","marks":{"_einomem_turn":"t"}}]}`,
		`{"format":1,"messages":[{"role":"tool","content":"","tool_calls":[{"id":"c","index":1}],"extra":{"a":[[]]},"response_meta":{}}]}`,
		`{"format":1,"messages":[{"role":"user","content":"","user_input_multi_content":[{"type":"image_url","image":{"url":"u","extra":{"_einomem":1}}}]}]}`,
		"{\"format\":1,\"messages\":[{\"content\":\"\xff\\ud800\"}]}", `{"format":1e999}`, `{"format":1,"messages":[[`,
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f)
	x := w.of(ann)
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, err := archive.Decode(data)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			return
		}
		again, _, err := archive.Encode(x, messages)
		require.NoError(t, err)
		back, err := archive.Decode(again)
		require.NoError(t, err)
		once, _, err := archive.Encode(x, back)
		require.NoError(t, err)
		require.Equal(t, string(again), string(once))
		for _, m := range back {
			require.True(t, utf8.ValidString(m.Content))
		}
	})
}

// Folding is what regexp does with (?i), faster.
func TestFoldingIsThatOfRegularExpressions(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAkK\u212AsSſßσςΣiIİıéÉ茶 \n")), 0, 60, -1)
	rapid.Check(t, func(r *rapid.T) {
		text := letters.Draw(r, "text")
		p := strings.ReplaceAll(rapid.StringOfN(rapid.SampledFrom([]rune("aAkK\u212AsSſßσςΣiIİıé茶")), 1, 3, -1).Draw(r, "pattern"), "\n", "")
		want, err := archive.FindAll(t.Context(), &archive.GrepRequest{Pattern: p, Regexp: true}, text)
		require.NoError(r, err)
		got, err := archive.FindAll(t.Context(), &archive.GrepRequest{Pattern: p}, text)
		require.NoError(r, err)
		require.Equal(r, want, got)
	})
}
