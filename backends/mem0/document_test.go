// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	notes "github.com/einomem/einomem/internal/note"
	"github.com/einomem/einomem/internal/test/testkit"
)

// page is a passage as Eino's splitters return it.
func page(source string, n int, text string) *schema.Document {
	return &schema.Document{ID: fmt.Sprint(source, n), Content: text, MetaData: map[string]any{"_source": source, "_file_name": source, "page": n, "chapter": "Brewing"}}
}

func TestDocumentsAreReplacedAndDeletedBySource(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		embedder := &testkit.Embedder{Dim: 8}
		b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Clock: clock.Now, Shared: true, Embedder: embedder, EmbeddingModel: "hash", Model: testkit.New(testkit.Fail(backends.ErrUnavailable))})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		for _, scope := range []backends.Scope{{UserID: "ann", SessionID: "s"}, {Workspace: "cafe"}} {
			add := func(docs ...*schema.Document) []string {
				clock.Advance(1e9)
				resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: scope, Kind: backends.KindDocument, Documents: docs})
				require.NoError(t, err)
				var out []string
				for _, item := range resp.Items {
					out = append(out, string(item.Outcome)+" "+item.Memory.Text)
				}
				return out
			}
			require.Equal(t, []string{"added Rinse the filter.", "added Water has 94 degrees.", "added Rinse the filter."},
				add(page("manual.pdf", 1, "Rinse the filter."), page("manual.pdf", 2, "Water has 94 degrees."), page("manual.pdf", 2, "Rinse the filter.")))
			add(page("menu.md", 1, "The espresso costs 3 euros."))
			before := embedder.Texts.Load()
			require.Equal(t, []string{"unchanged Rinse the filter.", "added Water has 92 degrees.", "deleted Rinse the filter.", "deleted Water has 94 degrees."},
				sorted(add(page("manual.pdf", 1, "Rinse the filter."), page("manual.pdf", 2, "Water has 92 degrees."))))
			require.Equal(t, before+1, embedder.Texts.Load(), "what stays is not embedded again")
			require.Equal(t, []string{"unchanged Rinse the filter.", "unchanged Water has 92 degrees."}, add(page("manual.pdf", 1, "Rinse the filter."), page("manual.pdf", 2, "Water has 92 degrees.")))

			found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: scope, Query: "How hot is the water?"})
			require.NoError(t, err)
			hit := found.Hits[0]
			require.Equal(t, []any{backends.KindDocument, "Water has 92 degrees.", "manual.pdf", "2", "Brewing"},
				[]any{hit.Kind, hit.Text, hit.Metadata[backends.MetaSource], hit.Metadata[backends.MetaPage], hit.Metadata["chapter"]})
			require.Len(t, hit.Metadata[backends.MetaHash], 64)
			lines, _ := notes.View{}.Lines([]backends.Hit{hit}, 1000)
			require.Equal(t, []string{"From documents:", "- manual.pdf, p. 2: Water has 92 degrees."}, lines)

			n, err := b.DeleteAll(t.Context(), &backends.DeleteAllRequest{Scope: scope, Filter: &backends.Filter{Op: "eq", Field: "source", Value: "manual.pdf"}})
			require.NoError(t, err)
			require.Equal(t, 2, n)
			list, err := b.List(t.Context(), &backends.ListRequest{Scope: scope})
			require.NoError(t, err)
			require.Len(t, list.Memories, 1)
		}
		shared, err := b.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{UserID: "bob", Workspace: "cafe"}, Query: "What does the espresso cost?"})
		require.NoError(t, err)
		require.Equal(t, "menu.md", shared.Hits[0].Metadata[backends.MetaSource], "a team's documents are found by its members")
	})
}

func sorted(lines []string) []string {
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Index("uad", a[:1]) - strings.Index("uad", b[:1]) })
	if strings.HasPrefix(lines[2], "deleted Water") {
		lines[2], lines[3] = lines[3], lines[2]
	}
	return lines
}

func TestLongPassagesAreDividedAndBadOnesRefused(t *testing.T) {
	b, err := mem0.New(t.Context(), &mem0.Config{Store: testkit.SQLite(t), Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	ann := backends.Scope{UserID: "ann"}
	long := strings.Repeat("A sentence of a secret manual about coffee. ", 500)
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Kind: backends.KindDocument, Documents: []*schema.Document{{Content: long, MetaData: map[string]any{"source": "secret.txt"}}}})
	require.NoError(t, err)
	require.Greater(t, len(resp.Items), 3)
	for _, item := range resp.Items {
		require.NotContains(t, item.Memory.Text+fmt.Sprint(item.Memory.Metadata), "secret")
	}
	for name, r := range map[string]*backends.AddRequest{
		"no source":     {Kind: backends.KindDocument, Documents: []*schema.Document{{Content: "x"}}},
		"no document":   {Kind: backends.KindDocument, Documents: []*schema.Document{nil}},
		"another kind":  {Kind: backends.KindFact, Documents: []*schema.Document{page("a", 1, "x")}},
		"no kind":       {Documents: []*schema.Document{page("a", 1, "x")}},
		"no JSON":       {Kind: backends.KindDocument, Documents: []*schema.Document{{Content: "x", MetaData: map[string]any{"source": "a", "f": func() {}}}}},
		"deep metadata": {Kind: backends.KindDocument, Documents: []*schema.Document{{Content: "x", MetaData: map[string]any{"source": "\xff"}}}},
	} {
		r.Scope = ann
		_, err := b.Add(t.Context(), r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
}

// A picture is put into words, and what was made of it says which picture it was.
func TestWhatAPictureShowsRefersToThePicture(t *testing.T) {
	url, data := "https://example.com/cat.png", "aGVsbG8="
	picture := func(common schema.MessagePartCommon) *schema.Message {
		return &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "This is Miso."}, {Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: common}},
		}}
	}
	b, err := mem0.New(t.Context(), &mem0.Config{
		Store: testkit.SQLite(t), Model: testkit.New(testkit.Call("1", "remember", `{"operations":[{"op":"add","text":"Miso is a cat.","messages":[0]}]}`)),
		Describe: func(context.Context, schema.MessageInputPart) (string, error) { return "a cat on a sofa", nil },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	ann := backends.Scope{UserID: "ann"}
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: []backends.Message{{Message: picture(schema.MessagePartCommon{URL: &url})}}})
	require.NoError(t, err)
	require.Len(t, resp.Items, 2)
	for _, item := range resp.Items {
		require.Equal(t, []any{url}, item.Memory.Metadata[backends.MetaMedia], item.Memory.Kind)
	}
	resp, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Kind: backends.KindDocument, Metadata: map[string]any{"source": "album"}, Messages: []backends.Message{{Message: picture(schema.MessagePartCommon{Base64Data: &data})}}})
	require.NoError(t, err)
	require.Equal(t, "This is Miso.\n[image: a cat on a sofa]", resp.Items[0].Memory.Text)
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, resp.Items[0].Memory.Metadata[backends.MetaMedia].([]any)[0])
}
