// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
)

// parallelSearches is how many keywords of one call are searched for at a time.
const parallelSearches = 4

func (k *kit) searchTool() (tool.BaseTool, error) {
	return newTool[searchParams](&k.set, SearchMemory, StageSearchTool, k.text.Search, k.search)
}

// answer is what one keyword brought.
type answer struct {
	hits []backends.Hit
	err  error
}

func (k *kit) search(ctx context.Context, arguments string) (string, error) {
	var args searchArguments
	if err := decode(arguments, &args); err != nil {
		return "", k.unreadable(SearchMemory, err)
	}
	if len(args.Keywords) == 0 {
		return k.text.NoKeywords, nil
	}
	scope, err := k.scope(ctx)
	if err != nil {
		return "", err
	}
	keywords := args.Keywords[:min(len(args.Keywords), MaxKeywords)]
	answers := k.searchEach(ctx, scope, keywords, args.Limit.or(k.Limit))
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return k.showAnswers(ctx, answers, len(args.Keywords)-len(keywords))
}

// searchEach runs one search for each keyword, a few at a time. A failure stays
// with its keyword.
func (k *kit) searchEach(ctx context.Context, scope backends.Scope, keywords []string, limit int) []answer {
	ctx, cancel := within(ctx, k.SearchTimeout)
	defer cancel()
	answers := make([]answer, len(keywords))
	var group errgroup.Group
	group.SetLimit(parallelSearches)
	for i, keyword := range keywords {
		group.Go(func() error {
			answers[i] = k.searchOne(ctx, scope, keyword, limit)
			return nil
		})
	}
	_ = group.Wait() // no function above returns an error
	return answers
}

// searchOne searches for one keyword, for no longer than ctx lasts even of a
// backend that does not heed it.
func (k *kit) searchOne(ctx context.Context, scope backends.Scope, keyword string, limit int) answer {
	r := &backends.SearchRequest{Scope: scope, Query: keyword, TopK: limit}
	if k.SearchByAgent && scope.AgentID != "" && scope.UserID != "" {
		byAgent := backends.Eq("agent_id", scope.AgentID)
		r.Filter = &byAgent
	}
	got := make(chan answer, 1) // buffered: an answer that comes too late is dropped
	go func() { got <- k.ask(ctx, r) }()
	select {
	case a := <-got:
		return a
	case <-ctx.Done():
		return answer{err: fmt.Errorf("searching for %q: %w: %w", clip(keyword, 60), backends.ErrUnavailable, ctx.Err())}
	}
}

// ask runs one search in a goroutine of its own, where a panic would end the
// process: a panic of the backend is an error of the search.
func (k *kit) ask(ctx context.Context, r *backends.SearchRequest) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("searching for %q: %w: panic: %v", clip(r.Query, 60), backends.ErrUnavailable, p)
		}
	}()
	resp, err := k.Backend.Search(ctx, r)
	switch {
	case err != nil:
		return answer{err: fmt.Errorf("searching for %q: %w", clip(r.Query, 60), err)}
	case resp == nil:
		return answer{}
	case resp.Degraded != nil:
		k.report(ctx, StageSearchTool, fmt.Errorf("searching for %q, answered in part: %w", clip(r.Query, 60), resp.Degraded))
	}
	return answer{hits: resp.Hits}
}

// showAnswers words what all keywords brought. Only if none brought an answer is
// it an error; a keyword that failed beside others is named below their hits.
func (k *kit) showAnswers(ctx context.Context, answers []answer, left int) (string, error) {
	var failed []error
	for _, a := range answers {
		if a.err != nil {
			failed = append(failed, a.err)
		}
	}
	if len(failed) == len(answers) {
		return "", errors.Join(failed...)
	}
	lines := k.bullets(merge(answers))
	if len(lines) == 0 {
		lines = append(lines, k.text.NoneFound)
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf(k.text.KeywordsLeft, left, MaxKeywords))
	}
	if len(failed) > 0 {
		err := errors.Join(failed...)
		k.report(ctx, StageSearchTool, err)
		lines = append(lines, k.failure(k.text.Search.Failed, err))
	}
	return strings.Join(lines, "\n"), nil
}

// merge returns the hits in the order of the keywords, each id and each text once.
func merge(answers []answer) []backends.Hit {
	var out []backends.Hit
	ids, texts := map[string]bool{}, map[string]bool{}
	for _, a := range answers {
		for _, h := range a.hits {
			if ids[h.ID] && h.ID != "" || texts[h.Text] {
				continue
			}
			ids[h.ID], texts[h.Text] = true, true
			out = append(out, h)
		}
	}
	return out
}
