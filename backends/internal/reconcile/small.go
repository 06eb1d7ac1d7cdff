// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// A small model copies its material: known statements, answers of the assistant, its example. So
// it is shown only the statements of users, and it only adds.

// smallRules are the whole instruction of a small model, at most 250 tokens.
var smallRules = map[backends.Language]string{
	backends.English: `You write down what a user says about themselves, for later. Answer with one line of JSON for each thing that the numbered messages state:
{"n":0,"fact":"The user ..."}
Each fact is one full sentence that begins with "The user", keeps all names, numbers and days of its message, and adds nothing to it. Where a message states nothing of the user, answer {"n":0,"fact":""}.

Example
0 I moved to Rome in May with my brother Tom, who is a cook.
1 It was so cold in here!
Answer:
{"n":0,"fact":"The user moved to Rome in May with their brother Tom."}
{"n":0,"fact":"The user's brother Tom is a cook."}
{"n":1,"fact":""}`,
	backends.Chinese: `你负责记下用户说的关于自己的事，以后要用。编号的消息里说到的每件事，用一行 JSON 回答：
{"n":0,"fact":"用户……"}
每条是以“用户”开头的一句完整的中文，保留消息里的名字、数字和日期，不添加任何内容。没有说到用户的消息，回答 {"n":0,"fact":""}。

例子
0 我五月和我哥哥小明一起搬到了大连，他是厨师。
1 这里真冷啊！
回答：
{"n":0,"fact":"用户五月和哥哥小明一起搬到了大连。"}
{"n":0,"fact":"用户的哥哥小明是厨师。"}
{"n":1,"fact":""}`,
}

// smallEnd asks for the answer, behind the messages.
var smallEnd = map[backends.Language]string{backends.English: "Answer:", backends.Chinese: "回答："}

// An order is a sentence that always applies: how to answer, or a limit of the user.
type order struct {
	of    *Utterance
	text  string
	asked bool // the model is shown it, since it states something else, too
}

// smallQuestion returns the question of a stretch for a small model, and the orders in it. Each
// message is a line with the sentences that state something, behind the assistant's question that
// they answer. The question is nil if users state nothing.
func (c *Call) smallQuestion(s *stretch) (*ask.Small, []order) {
	var lines []string
	var orders []order
	n, before := 0, ""
	if last := len(s.earlier) - 1; last >= 0 && s.earlier[last].Role != string(schema.User) {
		before = lastLine(s.earlier[last].text)
	}
	for _, p := range s.passages {
		switch {
		case p.Role != string(schema.User):
			before = lastLine(p.text)
		case p.learn && !p.silent:
			stated, always := speech.Stated(p.text)
			for _, text := range always {
				o := order{p.Utterance, text, len(always) == 1 && speech.TellsSeveral(text)} // of two, one could stand for both
				if orders = append(orders, o); o.asked {
					stated = append(stated, text)
				}
			}
			if p.insists && len(always) == 0 { // it may answer
				stated = []string{p.text}
				if before != "" {
					lines = append(lines, "assistant: "+text.Middle(oneLine(before), earlierRunes))
				}
			}
			if len(stated) > 0 {
				lines = append(lines, fmt.Sprint(n, " ", oneLine(strings.Join(stated, " "))))
			}
		}
		if p.learn {
			n++
		}
	}
	if len(lines) == 0 {
		return nil, orders
	}
	return &ask.Small{System: smallRules[c.Language], User: strings.Join(append(lines, smallEnd[c.Language]), "\n")}, orders
}

// keepOrders keeps orders in the user's words, where the model is known to be small. If the model
// made several statements of an order that it was shown, and one of them always applies, they stand
// for it: then what may change is apart. A single one only repeats the order, and is left out.
func (c *Call) keepOrders(orders []order, ops []Operation) {
	for _, o := range orders {
		var made, always []*Operation
		for i := range ops {
			if o.asked && ops[i].Verb == Add && slices.Contains(ops[i].from, o.of) {
				if made = append(made, &ops[i]); speech.Standing(ops[i].Text) {
					always = append(always, &ops[i])
				}
			}
		}
		if len(made) > 1 && len(always) > 0 {
			continue
		}
		if m := c.Verbatim(c.engine.Kind, o.of, c.engine.Author); c.engine.Model.Small() {
			m.Text, m.Standing = o.text, true
			_ = c.engine.Complete(&m, &Operation{}) // the empty operation adds nothing
			c.Add(m)
			for _, op := range always {
				*op = Operation{Verb: Nothing, Index: None}
			}
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// coverage is the least fraction of a statement's words that must stand in its messages. It is for
// small models only: of 1,207 statements that a strong model wrote about turns of LoCoMo 25 % have
// less.
const coverage = 0.65

var (
	errSilent   = errors.New("nobody states it: its messages only greet, thank or ask")
	errInvented = errors.New("too few of its words stand in the messages")
)

// guard takes back a statement that only silent messages teach, where the question is Strict. It
// also takes back a small model's statement with few words of the messages.
func (c *Call) guard(q *Question, op *Operation, asked *ask.Small) {
	if op.small { // it was shown no statement to end
		if op.Index = None; op.Verb == Supersede {
			op.Verb = Add
		} else if op.Verb != Add {
			op.Verb, op.Text = Nothing, ""
		}
	}
	if op.Verb != Add && op.Verb != Supersede || len(op.from) == 0 || c.repeats(op) {
		return
	}
	first, reason := op.from[0], error(nil)
	if unshown := func(u *Utterance) bool { return u.Role != string(schema.User) || u.silent || !u.learn }; op.small {
		if op.from = slices.DeleteFunc(op.from, unshown); len(op.from) == 0 { // a wrong number
			op.from = slices.DeleteFunc(slices.Clone(c.said), unshown)
		}
	}
	switch {
	case op.small && !c.covered(op.Text, asked.User):
		reason = errInvented
	case q.Strict && !slices.ContainsFunc(op.from, func(u *Utterance) bool { return !u.silent }),
		op.small && speech.Classify(op.Text) != speech.Statement:
		reason = errSilent
	}
	if reason != nil {
		c.Skip(first, op.Text, reason)
		*op = Operation{Verb: Nothing, Index: None} // it keeps its place
	}
}

// covered reports whether most content words of a statement, or words for the same things, were
// said. A statement in another script always counts as covered.
func (c *Call) covered(statement, said string) bool {
	isHan := func(r rune) bool { return unicode.Is(unicode.Han, r) }
	if strings.ContainsFunc(statement, isHan) != strings.ContainsFunc(said, isHan) {
		return true
	}
	words := c.engine.Keeper.Ranker().Words()
	all := words.Of(statement)
	return float64(len(words.Asked(all, said))) >= coverage*float64(len(all))
}
