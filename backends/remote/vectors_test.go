// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/test/testkit"
)

// place is an Eino indexer and retriever that replaces documents by id.
type place struct {
	mu    sync.Mutex
	docs  []*schema.Document
	leaky bool // the filter has no effect
	err   error
}

func (p *place) Store(_ context.Context, docs []*schema.Document, _ ...indexer.Option) (ids []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range docs {
		p.docs = slices.DeleteFunc(p.docs, func(old *schema.Document) bool { return old.ID == d.ID })
		p.docs, ids = append(p.docs, d), append(ids, d.ID)
	}
	return ids, p.err
}

// only is an option of the place alone, as each store has its own.
func only(partition string) retriever.Option {
	return retriever.WrapImplSpecificOptFn(func(o *struct{ partition string }) { o.partition = partition })
}

func (p *place) Retrieve(_ context.Context, query string, opts ...retriever.Option) (out []*schema.Document, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := retriever.GetImplSpecificOptions(&struct{ partition string }{}, opts...)
	for _, d := range p.docs {
		if p.leaky || d.MetaData[remote.PartitionKey] == o.partition {
			found := &schema.Document{ID: d.ID, Content: d.Content, MetaData: maps.Clone(d.MetaData)}
			out = append(out, found.WithScore(0.3*float64(shared(query, d.Content))))
		}
	}
	slices.SortStableFunc(out, func(a, b *schema.Document) int { return cmp.Compare(b.Score(), a.Score()) })
	return out[:min(len(out), *retriever.GetCommonOptions(nil, opts...).TopK)], p.err
}

func vectorsOf(t testing.TB, p *place, failures *testkit.Failures) *remote.Vectors {
	t.Helper()
	cfg := &remote.VectorsConfig{
		Indexer: p, Retriever: p, Config: *config("", failures),
		Filter: func(part backends.Partition) []retriever.Option { return []retriever.Option{only(part.String())} },
	}
	return must(remote.NewVectors(cfg))(t)
}

func TestVectorsStoreEachTextOnceAndFindIt(t *testing.T) {
	ctx, p := t.Context(), &place{}
	v := vectorsOf(t, p, nil)
	scope := backends.Scope{UserID: "ann", SessionID: "s1", AgentID: "guide"}
	for range 2 {
		resp := must(v.Add(ctx, &backends.AddRequest{Scope: scope, Messages: said("I sail", "Where?", "I sail"), Metadata: map[string]any{"mood": "good"}}))(t)
		require.Len(t, resp.Items, 2)
		require.Len(t, p.docs, 2)
	}
	filter := backends.And(backends.Eq("agent_id", "guide"), backends.Eq("mood", "good"), backends.Eq("role", "user"))
	found := must(v.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "sail", Filter: &filter}))(t)
	require.Equal(t, []string{"I sail"}, testkit.Texts(found.Hits))
	require.Equal(t, backends.KindEpisode, found.Hits[0].Kind)
	require.Equal(t, "t1", found.Hits[0].Origin.Turn)
	require.Equal(t, testkit.NewClock().Now(), found.Hits[0].Created)
	_, err := v.Add(ctx, &backends.AddRequest{Scope: scope, Messages: said("x"), Metadata: map[string]any{"f": func() {}}})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestWhatIsNotLearntYetIsFoundBesideWhatIs(t *testing.T) {
	v := vectorsOf(t, &place{}, nil)
	must(v.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said("I sail at Easter")}))(t)
	beside := []backends.Memory{{Kind: backends.KindEpisode, Text: "I sail a dinghy"}, {Kind: backends.KindEpisode, Text: "I bake bread"}}
	found := must(v.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "sail", Beside: beside}))(t)
	require.ElementsMatch(t, []string{"I sail at Easter", "I sail a dinghy"}, testkit.Texts(found.Hits))
}

func TestVectorsOfOthersAreLeftOutAndReported(t *testing.T) {
	ctx, p := t.Context(), &place{leaky: true}
	var failures testkit.Failures
	v := vectorsOf(t, p, &failures)
	for _, s := range []backends.Scope{{UserID: "ann"}, {UserID: "bob"}, {AgentID: "ann"}, {Namespace: "n", UserID: "ann"}} {
		must(v.Add(ctx, &backends.AddRequest{Scope: s, Messages: said("secret")}))(t)
	}
	require.Len(t, p.docs, 4, "ids are of a partition, too")
	bad := map[string]any{remote.PartitionKey: 7}
	p.docs = append(p.docs, &schema.Document{ID: "foreign", Content: "secret of no one"}, &schema.Document{ID: "bad", Content: "x", MetaData: bad})
	found := must(v.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "secret", TopK: 10}))(t)
	require.Len(t, found.Hits, 1)
	require.ErrorContains(t, failures.Err(), "5 of 6 rows")
	require.NotContains(t, failures.Err().Error(), "secret")
}

func TestVectorsErrorsHaveSentinels(t *testing.T) {
	ctx, p := t.Context(), &place{}
	v := vectorsOf(t, p, nil)
	p.err = errors.New("connection refused")
	_, err := v.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("x")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = v.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
}
