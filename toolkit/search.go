// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/note"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

const (
	maxMemoryRunes   = 2000 // of one memory in a result
	maxKeywords      = 16   // of one call; further ones are left out, and the result counts them
	parallelSearches = 4    // keywords of one call that are searched for at a time
)

type searchArguments struct {
	Keywords agenttool.List   `json:"keywords" alias:"query" jsonschema:"required"`
	Limit    agenttool.Number `json:"limit,omitempty" jsonschema:"minimum=1,maximum=50"`
}

func (k *kit) define() {
	agenttool.Define(&k.kit, agenttool.Spec{Name: SearchMemory, Defaults: map[string]any{"limit": k.Limit}}, k.search)
	agenttool.Define(&k.kit, agenttool.Spec{Name: AddMemory, Writes: true, Slow: true}, k.add)
	if k.Update {
		agenttool.Define(&k.kit, agenttool.Spec{Name: UpdateMemory, Writes: true, Asks: true}, k.update)
	}
	if k.Delete {
		agenttool.Define(&k.kit, agenttool.Spec{Name: DeleteMemory, Asks: true}, k.delete)
	}
	if k.Forget {
		agenttool.Define(&k.kit, agenttool.Spec{Name: ForgetMemory, Asks: true}, k.forget)
	}
}

func (k *kit) search(ctx context.Context, scope backends.Scope, a *searchArguments) (string, error) {
	limit := k.Limit
	if a.Limit > 0 {
		limit = min(int(a.Limit), MaxLimit)
	}
	keywords := a.Keywords[:min(len(a.Keywords), maxKeywords)]
	found := make([][]backends.Hit, len(keywords))
	errs := work.Each(len(keywords), parallelSearches, "search", func(i int) (err error) {
		found[i], err = k.searchFor(ctx, scope, keywords[i], limit)
		return err
	})
	return k.showFound(ctx, scope, slices.Concat(found...), errs, len(a.Keywords)-len(keywords))
}

// searchFor searches for one keyword. It ends with ctx, even if the backend ignores that. An id in
// brackets finds that memory, whole.
func (k *kit) searchFor(ctx context.Context, scope backends.Scope, keyword string, limit int) ([]backends.Hit, error) {
	if id := note.Bare(keyword); k.manager != nil && id != strings.TrimSpace(keyword) {
		if m, err := k.whole(ctx, scope, id); !errors.Is(err, backends.ErrNotFound) {
			return m, err
		}
	}
	r := &backends.SearchRequest{Scope: scope, Query: keyword, TopK: limit}
	resp, err := work.Await(ctx, "backend", func() (*backends.SearchResponse, error) { return k.Search(ctx, r) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("searching for %q: %w", text.Truncate(keyword, 60), err)
	case resp == nil:
		return nil, nil
	case resp.Degraded != nil:
		k.kit.Report(ctx, SearchMemory, fmt.Errorf("searching for %q, answered in part: %w", text.Truncate(keyword, 60), resp.Degraded))
	}
	return resp.Hits, nil
}

// whole returns the memory that bullets show under an id, even one that ended since.
func (k *kit) whole(ctx context.Context, scope backends.Scope, shown string) ([]backends.Hit, error) {
	id, err := note.Find(ctx, k.manager, scope, shown)
	if err != nil {
		return nil, err
	}
	m, err := k.manager.Get(ctx, &backends.GetRequest{Scope: scope, ID: id})
	if err != nil || m == nil || m.Expired(k.Clock()) {
		return nil, cmp.Or(err, backends.ErrNotFound)
	}
	return []backends.Hit{{Memory: *m, Ended: m.Invalidated}}, nil
}

// showFound returns the hits of all keywords in the form that the model reads. It returns an error
// only if all of them failed; a keyword that failed beside others is named below their hits.
func (k *kit) showFound(ctx context.Context, scope backends.Scope, hits []backends.Hit, errs []error, left int) (string, error) {
	err := errors.Join(errs...)
	if !slices.Contains(errs, nil) {
		return "", err
	}
	lines := k.bullets(ctx, scope, distinct(hits))
	if len(lines) == 0 {
		lines = append(lines, k.text.noneFound)
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf(k.text.keywordsLeft, left, maxKeywords))
	}
	if err != nil {
		k.kit.Report(ctx, SearchMemory, err)
		lines = append(lines, k.kit.Failure(SearchMemory, err))
	}
	return strings.Join(lines, "\n"), nil
}

// distinct returns the hits, each id and each text once.
func distinct(hits []backends.Hit) []backends.Hit {
	ids, texts := map[string]bool{}, map[string]bool{}
	return slices.DeleteFunc(hits, func(h backends.Hit) bool {
		known := h.ID != "" && ids[h.ID] || texts[h.Text]
		ids[h.ID], texts[h.Text] = true, true
		return known
	})
}

// bullets shows hits, a line each, while they fit, and counts the rest. The shown ones count as
// used.
func (k *kit) bullets(ctx context.Context, scope backends.Scope, hits []backends.Hit) []string {
	var lines []string
	size, limit := 0, maxMemoryRunes
	if len(hits) == 1 { // such as one that is asked for by its id
		limit = agenttool.MaxResultRunes
	}
	view := note.View{Language: k.Language, Now: k.Clock().In(k.Zone(ctx))}
	for i, id := range note.IDs(hits) {
		shown := hits[i]
		shown.Passage = text.Truncate(cmp.Or(shown.Passage, shown.Text), limit)
		line := view.Bullet(&shown, id)
		if size += utf8.RuneCountInString(line); size > agenttool.MaxResultRunes {
			break
		}
		lines = append(lines, line)
	}
	if c, ok := backends.As[backends.UseCounter](k.Backend); ok {
		c.Used(ctx, scope, hits[:len(lines)])
	}
	if left := len(hits) - len(lines); left > 0 {
		lines = append(lines, fmt.Sprintf(k.text.hitsLeft, left))
	}
	return lines
}
