// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/modelanswer"
)

// maxStatement is the longest statement that a model may write, in bytes.
const maxStatement = 8000

// The relations between statements.
const (
	relationContradicts = "contradicts"
	relationContained   = "contained"
	relationExtends     = "extends"
)

// relationWords are the words that models use for them.
var relationWords = map[string]string{
	"contradicts": relationContradicts, "contradiction": relationContradicts, "contradict": relationContradicts, "矛盾": relationContradicts,
	"contained": relationContained, "contained_in": relationContained, "same": relationContained, "duplicate": relationContained, "repeat": relationContained, "被包含": relationContained, "包含于": relationContained,
	"extends": relationExtends, "contains": relationExtends, "extend": relationExtends, "补充": relationExtends,
	"none": "", "no": "", "无": "", "": "",
}

// readScores returns the scores of the numbers that were asked about; missing are
// those without.
func readScores(m *schema.Message, asked []int) (scores map[int]int, missing []int, err error) {
	list, err := entries(m, toolScores, "scores")
	if err != nil {
		return nil, nil, err
	}
	scores = map[int]int{}
	for _, e := range list {
		n, okN := whole(e["n"])
		score, okS := whole(e["score"])
		if !okN || !okS || score > 3 || !slices.Contains(asked, n) {
			return nil, nil, fmt.Errorf("entry %s: n is one of the numbers shown, score 0 to 3", compact(e))
		}
		scores[n] = max(scores[n], score) // of two judgements the one that loses nothing
	}
	for _, n := range asked {
		if _, ok := scores[n]; !ok {
			missing = append(missing, n)
		}
	}
	if len(scores) == 0 {
		return nil, nil, errors.New("no message was scored")
	}
	return scores, missing, nil
}

// observation is one entry of an answer.
type observation struct {
	n              int
	text, keywords string
	when           string
}

// rejected is an entry that is no observation.
type rejected struct {
	n    int
	text string
	err  error
}

// readObservations returns what the messages tell; an empty list is an answer.
// Entries that cannot be used are returned beside the others.
func readObservations(m *schema.Message, asked []int) (out []observation, bad []rejected, err error) {
	list, err := entries(m, toolObservations, "observations")
	if err != nil {
		return nil, nil, err
	}
	for _, e := range list {
		o := observation{text: textIn(e["text"]), keywords: keywordsIn(e["keywords"]), when: textIn(e["when"])}
		if nothing[strings.ToLower(o.text)] {
			continue
		}
		var ok bool
		switch o.n, ok = whole(e["n"]); {
		case !ok || !slices.Contains(asked, o.n):
			err = fmt.Errorf("entry %s: n is not one of the numbers shown", compact(e))
		case o.text == "":
			err = fmt.Errorf("entry %s: no text", compact(e))
		case len(o.text) > maxStatement:
			err = fmt.Errorf("entry %s: text of %d bytes, at most %d", compact(e), len(o.text), maxStatement)
		default:
			out = append(out, o)
			continue
		}
		if !ok {
			o.n = -1
		}
		bad = append(bad, rejected{n: o.n, text: shorten(o.text, maxStatement), err: err})
	}
	return out, bad, nil
}

// nothing are the texts by which a model says that there is nothing to say.
var nothing = map[string]bool{"none": true, "none.": true, "n/a": true, "repeat": true, "无": true, "重复": true}

// relation is one entry of an answer.
type relation struct {
	n, other int
	what     string
}

// readRelations returns the relations between statements, of which there are count,
// the first known of them known.
func readRelations(m *schema.Message, known, count int) ([]relation, error) {
	list, err := entries(m, toolRelations, "relations")
	if err != nil {
		return nil, err
	}
	var out []relation
	for _, e := range list {
		what, ok := relationWords[strings.ToLower(strings.ReplaceAll(textIn(e["relation"]), " ", "_"))]
		if !ok {
			return nil, fmt.Errorf("entry %s: unknown relation", compact(e))
		}
		if what == "" {
			continue
		}
		n, okN := whole(e["n"])
		other, okO := whole(e["other"])
		if !okN || !okO || n >= count || other >= count || n == other {
			return nil, fmt.Errorf("entry %s: n and other are two of the numbers shown", compact(e))
		}
		if n < known && other < known {
			continue // what is known was compared before
		}
		if n < known { // the new one is the one that is judged
			n, other = other, n
			what = map[string]string{relationContained: relationExtends, relationExtends: relationContained, relationContradicts: relationContradicts}[what]
		}
		out = append(out, relation{n: n, other: other, what: what})
	}
	return out, nil
}

// readPeriod returns the text of a period; empty for none.
func readPeriod(m *schema.Message) (string, error) {
	all, err := modelanswer.Of(m, toolPeriod)
	if err != nil {
		return "", err
	}
	if o, ok := all[0].(map[string]any); ok {
		if s, ok := o["period"].(string); ok {
			return strings.TrimSpace(s), nil
		}
	}
	return "", errors.New(`the JSON has no text "period"`)
}
