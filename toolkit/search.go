// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"errors"
	"fmt"
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

// found is what one keyword brought.
type found struct {
	hits []backends.Hit
	err  error
}

func (k *kit) search(ctx context.Context, scope backends.Scope, a *searchArguments) (string, error) {
	limit := k.Limit
	if a.Limit > 0 {
		limit = min(int(a.Limit), MaxLimit)
	}
	keywords := a.Keywords[:min(len(a.Keywords), maxKeywords)]
	all := make([]found, len(keywords))
	work.Each(len(keywords), parallelSearches, "search", func(i int) error {
		all[i] = k.searchFor(ctx, scope, keywords[i], limit) // a failure stays with its keyword
		return nil
	})
	return k.showFound(ctx, scope, all, len(a.Keywords)-len(keywords))
}

// searchFor searches for one keyword, for no longer than ctx lasts even of a backend
// that does not heed it.
func (k *kit) searchFor(ctx context.Context, scope backends.Scope, keyword string, limit int) found {
	r := &backends.SearchRequest{Scope: scope, Query: keyword, TopK: limit}
	resp, err := work.Await(ctx, "backend", func() (*backends.SearchResponse, error) { return k.Search(ctx, r) })
	switch {
	case err != nil:
		return found{err: fmt.Errorf("searching for %q: %w", text.Truncate(keyword, 60), err)}
	case resp == nil:
		return found{}
	case resp.Degraded != nil:
		k.report(ctx, SearchMemory, fmt.Errorf("searching for %q, answered in part: %w", text.Truncate(keyword, 60), resp.Degraded))
	}
	return found{hits: resp.Hits}
}

// showFound returns what the model reads of what all keywords found. It is an error
// only if none of them brought an answer; a keyword that failed beside others is named
// below their hits.
func (k *kit) showFound(ctx context.Context, scope backends.Scope, all []found, left int) (string, error) {
	var failed []error
	for _, f := range all {
		if f.err != nil {
			failed = append(failed, f.err)
		}
	}
	err := errors.Join(failed...)
	if len(failed) == len(all) {
		return "", err
	}
	lines := k.bullets(ctx, scope, distinct(all))
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

// distinct returns the hits in the order of the keywords, each id and each text once.
func distinct(all []found) []backends.Hit {
	var out []backends.Hit
	ids, texts := map[string]bool{}, map[string]bool{}
	for _, f := range all {
		for _, h := range f.hits {
			if ids[h.ID] && h.ID != "" || texts[h.Text] {
				continue
			}
			ids[h.ID], texts[h.Text] = true, true
			out = append(out, h)
		}
	}
	return out
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
