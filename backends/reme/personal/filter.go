// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"context"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/work"
)

// filter returns the passages that say something about the user. One that the model
// scores in neither of two answers is kept: the next stage looks at it closer, and
// nothing is lost.
func (f *Flows) filter(ctx context.Context, d *Draft, in *intake) map[*passage]bool {
	kept := map[*passage]bool{}
	if len(in.passages) == 0 {
		return kept
	}
	stage := d.run.Stage(StageFilter)
	stage.Took(len(in.passages))
	stretches := f.questions(in.lines, d.lang, func(*passage) bool { return true })
	results := make([]map[int]int, len(stretches))
	dear := d.tooDear(len(stretches))
	errs := each(stretches, func(i int, stretch []lineShown) error {
		if dear != nil {
			return dear
		}
		tries := 0
		q := d.conversation(f.prompts(d.lang).Filter, toolScores, stretch)
		return d.run.Ask(ctx, q, func(m *schema.Message) error {
			scores, missing, err := readScores(m, numbers(stretch))
			if tries++; err == nil && len(missing) > 0 && tries == 1 {
				err = fmt.Errorf("no score for n %v", missing)
			}
			results[i] = scores
			return err
		})
	})
	for i, stretch := range stretches {
		for _, n := range numbers(stretch) {
			p := in.passages[n]
			score, judged := results[i][n]
			switch p.score = score; {
			case errs[i] != nil:
				stage.Fail(errs[i])
				d.fail(p.utterance, p.text, errs[i])
			case judged && score < f.config.MinScore:
				stage.Drop(1)
			default:
				kept[p] = true
				stage.Gave(1)
			}
		}
	}
	return kept
}

// tooDear says that a request cannot be carried out within its limits, before it costs
// anything. Who keeps parts gets as many as the limits allow.
func (d *Draft) tooDear(questions int) error {
	most := d.run.Limits().Calls
	if questions <= most || d.request.KeepPartial {
		return nil
	}
	return fmt.Errorf("%w: %d model calls for the first stage alone, of %d; raise Limits.Calls or send less at a time", flow.ErrLimit, questions, most)
}

// fail notes what could not be learnt.
func (d *Draft) fail(u *utterance, text string, err error) {
	d.failed = append(d.failed, backends.Item{Outcome: backends.OutcomeFailed, Memory: d.memory(u, text), Err: fmt.Errorf("personal: %w", err)})
}

// numbers returns the numbers that a stretch asks about.
func numbers(stretch []lineShown) []int {
	var out []int
	for _, l := range stretch {
		if l.N != nil {
			out = append(out, *l.N)
		}
	}
	return out
}

// each calls ask for every stretch at once (the models bound how many of them are
// asked at a time) and returns their errors in order.
func each(stretches [][]lineShown, ask func(int, []lineShown) error) []error {
	errs := make([]error, len(stretches))
	var all sync.WaitGroup
	for i, s := range stretches {
		all.Go(func() { errs[i] = work.Catch("personal", func() error { return ask(i, s) }) })
	}
	all.Wait()
	return errs
}
