// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"
)

// periods returns the time that the query asks about.
func (q *retrieval) periods(ctx context.Context) ([]Period, error) {
	stage := q.run.Stage(StageTime)
	stage.Took(1)
	found := FindPeriods(q.request.Query, q.request.Now)
	if len(found) > 0 || !q.request.UseModel {
		stage.Gave(len(found))
		return found, nil
	}
	p, ok, err := q.askPeriod(ctx)
	if err != nil {
		stage.Fail(err)
		return nil, fmt.Errorf("the time of the query is unknown: %w", err)
	}
	if !ok {
		return nil, nil
	}
	stage.Gave(1)
	return []Period{p}, nil
}

func (q *retrieval) askPeriod(ctx context.Context) (p Period, some bool, err error) {
	f := q.flows
	lang := f.config.Language.For(q.request.Query)
	question := f.question(lang, f.prompts(lang).Period, toolPeriod, "")
	question.User = section("question", []lineShown{{Text: f.config.Keeper.Redact(q.request.Query)}}) + phrasesOf(lang).now + " " + shownTime(q.request.Now)
	err = q.run.Ask(ctx, question, func(m *schema.Message) error {
		text, err := readPeriod(m)
		if p, some = ParsePeriod(text, f.config.Location); err == nil && text != "" && !some {
			err = fmt.Errorf("the period %q is neither a date nor two with a slash between them", shorten(text, 40))
		}
		return err
	})
	return p, some && err == nil, err
}
