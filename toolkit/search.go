// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/note"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

const (
	maxKeywords      = 16 // of one call; further ones are left out, and the result says so
	parallelSearches = 4  // keywords of one call that are searched for at a time
)

type searchArguments struct {
	Keywords list   `json:"keywords" jsonschema:"required"`
	Limit    number `json:"limit,omitempty" jsonschema:"minimum=1,maximum=50"`
}

func (k *kit) memoryTools() {
	define(k, SearchMemory, map[string]any{"limit": k.Limit}, k.search)
	define(k, AddMemory, nil, k.add)
	if k.Update {
		define(k, UpdateMemory, nil, k.update)
	}
	if k.Delete {
		define(k, DeleteMemory, nil, k.delete)
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

// searchFor searches for one keyword, for no longer than ctx lasts even of a backend
// that does not heed it.
func (k *kit) searchFor(ctx context.Context, scope backends.Scope, keyword string, limit int) ([]backends.Hit, error) {
	r := &backends.SearchRequest{Scope: scope, Query: keyword, TopK: limit}
	resp, err := work.Await(ctx, "backend", func() (*backends.SearchResponse, error) { return k.Search(ctx, r) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("searching for %q: %w", text.Truncate(keyword, 60), err)
	case resp == nil:
		return nil, nil
	case resp.Degraded != nil:
		k.report(ctx, SearchMemory, fmt.Errorf("searching for %q, answered in part: %w", text.Truncate(keyword, 60), resp.Degraded))
	}
	return resp.Hits, nil
}

// showFound returns what the model reads of what all keywords found. It is an error
// only if none of them brought an answer; a keyword that failed beside others is named
// below their hits.
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
		k.report(ctx, SearchMemory, err)
		lines = append(lines, k.failure(SearchMemory, err))
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

// bullets shows hits, a line each, while they fit, and says how many did not. Those shown
// count as used.
func (k *kit) bullets(ctx context.Context, scope backends.Scope, hits []backends.Hit) []string {
	var lines []string
	size := 0
	for i := range hits {
		line := text.Truncate(note.Bullet(&hits[i], k.Language), maxMemoryRunes)
		if size += utf8.RuneCountInString(line); size > maxResultRunes {
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
