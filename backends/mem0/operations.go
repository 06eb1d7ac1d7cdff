// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
)

// verb is what an operation does.
type verb string

const (
	verbAdd       verb = "add"
	verbSupersede verb = "supersede"
	verbRetract   verb = "retract"
	verbNone      verb = "none"
)

// verbs are the words that models use for them.
var verbs = map[string]verb{
	"add": verbAdd, "create": verbAdd, "new": verbAdd, "insert": verbAdd,
	"supersede": verbSupersede, "update": verbSupersede, "replace": verbSupersede, "modify": verbSupersede,
	"retract": verbRetract, "delete": verbRetract, "remove": verbRetract, "forget": verbRetract,
	"none": verbNone, "nothing": verbNone, "noop": verbNone, "no_op": verbNone, "no_change": verbNone, "unchanged": verbNone, "keep": verbNone, "skip": verbNone,
}

// maxFact is the longest fact that a model may write, in bytes.
const maxFact = 8000

// operation is one entry of a model's answer, checked.
type operation struct {
	verb     verb
	text     string    // for add and supersede; valid UTF-8, not blank, at most maxFact bytes
	index    int       // of an existing memory, for supersede and retract; -1 for none
	fact     int       // of a new fact, in the second step of TwoStep; -1 for none
	saidBy   string    // user or assistant; empty when the answer does not say
	since    time.Time // from when it holds; zero when the answer does not say
	messages []int     // the new messages that taught it
}

// rejected is an entry that is no operation.
type rejected struct {
	text string
	err  error
}

// limits are the numbers that an answer may name: each counts from 0.
type limits struct{ existing, facts, messages int }

var (
	opKeys    = []string{"op", "event", "operation", "action"}
	textKeys  = []string{"text", "fact", "memory", "content", "new_memory"}
	indexKeys = []string{"index", "id", "memory_id", "existing", "target", "replaces"}
	roleKeys  = []string{"said_by", "attributed_to", "role", "speaker"}
	sinceKeys = []string{"since", "valid_from", "valid", "date"}
)

// readOperations reads an answer. Entries that are no operation are reported
// beside the others; an answer in which nothing can be used is an error.
func readOperations(m *schema.Message, l limits) ([]operation, []rejected, error) {
	list, err := readList(m)
	if err != nil {
		return nil, nil, err
	}
	var ops []operation
	var bad []rejected
	for _, e := range list {
		op, err := readOperation(e, l)
		if err != nil {
			text := ""
			if o, ok := e.(map[string]any); ok {
				text = shorten(textIn(firstOf(o, textKeys)), maxFact)
			}
			bad = append(bad, rejected{text: text, err: fmt.Errorf("entry %s: %w", compact(e), err)})
			continue
		}
		if !op.empty() {
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 && len(bad) > 0 {
		return nil, nil, bad[0].err
	}
	return ops, bad, nil
}

func readOperation(e any, l limits) (operation, error) {
	op := operation{verb: verbAdd, index: -1, fact: -1}
	o, isObject := e.(map[string]any)
	if text, isText := e.(string); isText {
		op.text = textIn(text)
		return op, op.check(l)
	}
	if !isObject {
		return op, errors.New("neither an object nor a text")
	}
	if word := textIn(firstOf(o, opKeys)); word != "" {
		known, ok := verbs[strings.ReplaceAll(strings.ToLower(word), "-", "_")]
		if !ok {
			return op, fmt.Errorf("unknown operation %q", shorten(word, 40))
		}
		op.verb = known
	}
	for _, k := range textKeys {
		if n, isNumber := intIn(o[k]); k == "fact" && l.facts > 0 && isNumber {
			op.fact = n
		} else if op.text == "" {
			op.text = textIn(o[k])
		}
	}
	if op.verb != verbAdd { // an added memory's own number is no reference
		if n, ok := intIn(firstOf(o, indexKeys)); ok {
			op.index = n
		}
	}
	op.saidBy = roleIn(textIn(firstOf(o, roleKeys)))
	op.since = timeIn(textIn(firstOf(o, sinceKeys)))
	for _, n := range intsIn(o["messages"]) {
		if n < l.messages && !slices.Contains(op.messages, n) {
			op.messages = append(op.messages, n)
		}
	}
	return op, op.check(l)
}

// check makes the operation one that may be carried out: numbers that nothing
// was shown under are dropped, and a replacement of nothing becomes an addition,
// so that what was said is kept and no other memory is touched.
func (op *operation) check(l limits) error {
	if op.index >= l.existing {
		op.index = -1
	}
	if op.fact >= l.facts {
		op.fact = -1
	}
	if op.verb == verbSupersede && op.index < 0 {
		op.verb = verbAdd
	}
	switch {
	case op.verb == verbRetract && op.index < 0:
		return errors.New("no existing memory has that number")
	case op.verb == verbRetract || op.verb == verbNone:
		return nil
	case op.text == "" && op.fact >= 0: // the fact's own text
		return nil
	case op.text == "":
		return errors.New("no text")
	case len(op.text) > maxFact:
		return fmt.Errorf("text of %d bytes, at most %d", len(op.text), maxFact)
	case !utf8.ValidString(op.text):
		return errors.New("text is not UTF-8")
	}
	return nil
}

// empty reports whether the operation does nothing, and to nothing.
func (op *operation) empty() bool {
	return op.verb == verbNone && op.text == "" && op.index < 0 && op.fact < 0
}

func roleIn(s string) string {
	switch strings.ToLower(s) {
	case "user", "human", "用户":
		return string(schema.User)
	case "assistant", "ai", "agent", "助手":
		return string(schema.Assistant)
	}
	return ""
}

// timeIn reads a date as models write them. What it cannot read is no date.
func timeIn(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly, "2006/01/02", "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 {
			return t.UTC()
		}
	}
	return time.Time{}
}
