// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
)

// pair is a lesson and something that it is near to.
type pair struct {
	lesson   *lesson
	known    *backends.Memory // of the workspace, or
	twin     *lesson          // of the request
	likeness float64
}

func (p *pair) other() *backends.Memory {
	if p.twin != nil {
		return &p.twin.memory
	}
	return p.known
}

func (p *pair) key() [2]string { return [2]string{p.lesson.key, keyOf(p.other())} }

// verdict says what to do about a pair. Of merge the words are those of the joined
// experience.
type verdict struct {
	Kind      string // same, merge or distinct
	WhenToUse string
	Content   string
}

const (
	verdictSame     = "same"
	verdictMerge    = "merge"
	verdictDistinct = "distinct"
)

// decide gets a verdict on every pair: the model's, all in one question where they
// fit, or without a model that of the words.
func (t *try) decide(ctx context.Context) error {
	memo := t.draft.memo
	var asked []*pair
	seen := map[[2]string]bool{}
	for _, l := range t.lessons {
		for _, p := range l.pairs {
			if _, known := memo.verdicts[p.key()]; known || seen[p.key()] {
				continue
			}
			seen[p.key()] = true
			if t.m.models.HasModel() {
				asked = append(asked, p)
				continue
			}
			memo.verdicts[p.key()] = t.byWords(p)
		}
	}
	for len(asked) > 0 {
		n, err := t.askAbout(ctx, asked)
		if err != nil {
			return err
		}
		asked = asked[n:]
	}
	return nil
}

// byWords is the verdict without a model: careful, since nobody reads what it is
// about.
func (t *try) byWords(p *pair) verdict {
	_, same := t.m.near()
	if p.likeness >= same && sameSense(textOfBoth(&p.lesson.memory), textOfBoth(p.other())) {
		return verdict{Kind: verdictSame}
	}
	return verdict{Kind: verdictDistinct}
}

// askAbout asks the model about the first of the pairs, as many as fit into one
// prompt, and returns how many those were.
func (t *try) askAbout(ctx context.Context, pairs []*pair) (int, error) {
	l, prompts := t.m.prompts(textOfBoth(pairs[0].other()), textOfBoth(&pairs[0].lesson.memory))
	mat := t.m.material(frameIn(l))
	lines := make([]any, len(pairs))
	for i, p := range pairs {
		lines[i] = struct {
			Pair  int        `json:"pair"`
			New   experience `json:"new"`
			Known experience `json:"known"`
		}{i, mat.experience(&p.lesson.memory), mat.experience(p.other())}
	}
	n := mat.section("pairs", lines)
	var verdicts []verdict
	err := t.m.ask(ctx, t.draft.run, l, toolDuplicates, prompts.Duplicates, mat.text.String(), func(o map[string]any) (err error) {
		verdicts, err = readVerdicts(o, n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("task: deciding about %d experiences that resemble known ones: %w", n, err)
	}
	for i, v := range verdicts {
		v.WhenToUse, v.Content = strings.TrimSpace(t.m.redact(v.WhenToUse)), strings.TrimSpace(t.m.redact(v.Content))
		if v.Kind == verdictMerge && (v.WhenToUse == "" || v.Content == "") { // all of it was redacted
			v = verdict{Kind: verdictDistinct}
		}
		t.draft.memo.verdicts[pairs[i].key()] = v
	}
	return n, nil
}

// readVerdicts reads one verdict for each of n pairs. One that is missing makes the
// answer unusable: nothing is taken for granted.
func readVerdicts(o map[string]any, n int) ([]verdict, error) {
	list, err := listOf(o, "decisions")
	if err != nil {
		return nil, err
	}
	out := make([]verdict, n)
	for i, e := range list {
		d, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("decision %d is no object", i)
		}
		at, err := intOf(d["pair"], n)
		if err != nil {
			return nil, fmt.Errorf("decision %d: pair: %w", i, err)
		}
		if out[at].Kind != "" {
			return nil, fmt.Errorf("pair %d is decided twice", at)
		}
		if out[at], err = readVerdict(d); err != nil {
			return nil, fmt.Errorf("pair %d: %w", at, err)
		}
	}
	for i := range out {
		if out[i].Kind == "" {
			return nil, fmt.Errorf("pair %d is not decided", i)
		}
	}
	return out, nil
}

func readVerdict(o map[string]any) (v verdict, err error) {
	v.Kind, _ = o["verdict"].(string)
	switch v.Kind {
	case verdictSame, verdictDistinct:
		return v, nil
	case verdictMerge:
		if v.WhenToUse, err = textOf(o, "when_to_use"); err != nil {
			return v, err
		}
		v.Content, err = textOf(o, "content")
		return v, err
	}
	return v, errors.New("verdict is neither same nor merge nor distinct")
}
