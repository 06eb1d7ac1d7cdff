// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/internal/trial"
)

// answersConfig holds the flags.
type answersConfig struct {
	wrong, arms, model, judge, record, replay, mem0 string
	every, budget                                   int

	wrongIDs []string
	plants   map[string]trial.Answer // by question: the right answer to the one before, of the same category
}

func (c *answersConfig) register(flags *flag.FlagSet) {
	flags.StringVar(&c.wrong, "wrong", "", "a `file` with the ids of questions whose answers are wrong, one a line: the table has rows without them, too")
	flags.IntVar(&c.every, "every", 1, "ask every so `many`th question of a category alone")
	flags.StringVar(&c.arms, "arms", "none,oracle,bm25-400,note-400,bm25-1000,note-1000", "the `arms` that answer each question, in this order; README.md has the others")
	flags.StringVar(&c.mem0, "mem0", "", "the `URL` of a mem0 server for the arm mem0, without other users; MEM0_API_KEY is its key")
	flags.StringVar(&c.model, "model", "", "the `model` that answers and learns (default OPENAI_MODEL, or gpt-4o-mini)")
	flags.StringVar(&c.judge, "judge", "", "the `model` that judges beside the rules")
	flags.IntVar(&c.budget, "budget", 0, "how many `tokens` of prompts and answers may be spent; nothing is asked if the estimate is above it")
	flags.StringVar(&c.record, "record", "", "a `file` to which all calls are written; those that are in it are not made again")
	flags.StringVar(&c.replay, "replay", "", "a `file` that answers all calls, without a key and a network")
}

// The prompts are the same for all arms and data.
const (
	readerRules = `Answer the question in a few words, from the memories alone. Where it asks when, answer with a date, not with "yesterday": work it out from the date of that memory. If the memories do not answer it, say: I do not know.`
	judgeRules  = `You compare an answer with the right one, and reply with one word: yes if it is right, else no. It is right if it says what the right answer says, in whatever words, and nothing that contradicts it: a date in another form is the same date, and a count of days, weeks or months may be off by one. If it lacks a part of the right answer, it is not right. Where the right answer explains that nothing is known, only an answer that says so is right. Where the right answer describes what a good reply heeds, a reply that heeds it is right.`
)

// exam asks every arm every question. Recorded answers come from the record; the others are asked,
// within the budget, and recorded. It is for one goroutine.
type exam struct {
	*answersConfig
	guessing      bool // answers are made up: see guess
	reader, judge *recorded
	file          *os.File                // the record
	known         map[string]*call        // the recorded calls, by hash
	cost          backends.Usage          // of the other answers
	stopped       error                   // the reason why asking stopped
	of            map[string]trial.Scores // by arm; conversation is the question's id
	planted       trial.Scores            // of wrong answers
	took          float64                 // seconds of the calls since it was last set
}

// The columns of the scores.
const (
	right    = iota // 1, or 0: by the rules, or by the letter of an option
	f1              // of the words
	judged          // 1, or 0: by the judge
	unusable        // 1 if a model refused the question, named no one option, or judged in another form
	prompt          // tokens of the question and its memories
	seconds         // of the model that answers
	calls
	columns
)

// printAnswers lets a model answer questions about conversations from the memory of each arm. It
// grades the answers by rules, and by a judging model if there is one. Unless they are replayed, it
// first estimates the cost.
func printAnswers(ctx context.Context, b *bench) error {
	c := &b.answers
	all, err := c.read(b)
	if err != nil {
		return err
	}
	if c.replay == "" {
		guessed, err := c.exam(ctx, all, true)
		if err != nil {
			return fmt.Errorf("estimating the cost: %w", err)
		}
		tokens := guessed.spent()
		fmt.Fprintf(b.out, "Estimated: %d calls, %d tokens\n\n", guessed.cost.ModelCalls, tokens)
		if tokens > c.budget {
			return fmt.Errorf("nothing was asked: allow it with -budget %d, or ask less with -every and -arms", tokens)
		}
	}
	e, err := c.exam(ctx, all, false)
	if e == nil {
		return err
	}
	e.print(b.out)
	fmt.Fprintf(b.out, "\nAsked now: %d calls, %d tokens\n", e.cost.ModelCalls, e.spent())
	if err != nil {
		fmt.Fprintln(b.out, "The table is partial.")
	}
	return err
}

// read returns the conversations with their questions, in the order of the data.
func (c *answersConfig) read(b *bench) ([]trial.Conversation, error) {
	all, err := trial.All(b.format, b.data)
	if c.wrong != "" && err == nil {
		ids, failed := os.ReadFile(c.wrong)
		c.wrongIDs, err = strings.Fields(string(ids)), failed
	}
	seen, before := map[string]int{}, map[string]trial.Answer{} // by category
	c.plants = map[string]trial.Answer{}
	for i := range all {
		all[i].Questions = slices.DeleteFunc(all[i].Questions, func(q trial.Question) bool {
			if q.Answer == "" && !unanswerable(&q) {
				return true
			}
			seen[q.Category]++
			c.plants[q.Text], before[q.Category] = before[q.Category], q.Answer
			return (seen[q.Category]-1)%max(1, c.every) != 0
		})
		slices.SortStableFunc(all[i].Questions, func(a, b trial.Question) int { return cmp.Compare(a.After, b.After) })
	}
	if err == nil && len(seen) == 0 {
		err = fmt.Errorf("no question in %s has an answer that is read in format %s", b.data, b.format)
	}
	return all, err
}

// exam asks until the end or an error. It is nil if it could not begin.
func (c *answersConfig) exam(ctx context.Context, all []trial.Conversation, guessing bool) (_ *exam, err error) {
	var arms []answerArm
	for name := range strings.SplitSeq(c.arms, ",") {
		at := slices.IndexFunc(answerArms, func(a answerArm) bool { return a.name == name })
		if at < 0 {
			return nil, fmt.Errorf("-arms: there is no %q", name)
		}
		if arms = append(arms, answerArms[at]); answerArms[at].memory == ofVectors && c.replay == "" && os.Getenv("OPENAI_EMBEDDING_MODEL") == "" {
			return nil, fmt.Errorf("-arms: %s needs OPENAI_EMBEDDING_MODEL", name)
		}
	}
	e, err := c.open(guessing)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.file.Close()) }()
	for i := range all {
		if err := e.ask(ctx, &all[i], arms); err != nil {
			return e, fmt.Errorf("%s: %w", all[i].ID, err)
		}
	}
	return e, nil
}

// ask asks all arms a question, then the next one, so that a table which stops early is fair.
func (e *exam) ask(ctx context.Context, c *trial.Conversation, arms []answerArm) (err error) {
	k := &knowledge{Conversation: c, exam: e, open: map[string]*memory{}}
	defer func() { err = errors.Join(err, k.close(ctx)) }()
	for i := range c.Questions {
		q := &c.Questions[i]
		for _, a := range arms {
			var cost backends.Usage
			of := trial.Score{Conversation: q.ID, Category: q.Category, Columns: make([]float64, columns)}
			if a.name != "longest" {
				err = k.answer(ctx, &a, q, of.Columns, &cost)
			} else if longest(q) {
				of.Columns[right] = 1
			}
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			of.Columns[calls] = float64(cost.ModelCalls)
			e.of[a.name] = append(e.of[a.name], of)
		}
		if err := e.plant(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// answer has a question answered from what an arm knows, and grades the answer.
func (k *knowledge) answer(ctx context.Context, a *answerArm, q *trial.Question, to []float64, cost *backends.Usage) error {
	asked, err := k.messages(ctx, a, q, cost)
	if err != nil {
		return err
	}
	before := cost.PromptTokens
	k.took = 0
	given, err := k.reader.say(ctx, asked, cost)
	to[prompt], to[seconds] = float64(cost.PromptTokens-before), k.took
	if err != nil || given == "" {
		to[unusable] = 1
		return k.fatal(err)
	}
	if q.Options == "" {
		to[right], to[f1] = graded(q, given)
		return k.verdict(ctx, q, given, to, cost)
	}
	switch said := letterOf(given); said {
	case "":
		to[unusable] = 1
	case letterOf(string(q.Answer)):
		to[right] = 1
	}
	return nil
}

// verdict asks the judge, if there is one, about an answer to a question that has one.
func (e *exam) verdict(ctx context.Context, q *trial.Question, given string, to []float64, cost *backends.Usage) error {
	if e.judge.name == "" || unanswerable(q) {
		to[judged] = to[right]
		return nil
	}
	asked := fmt.Sprintf("Question: %s\nRight answer: %s\nAnswer: %s", q.Text, q.Answer, given)
	said, err := e.judge.say(ctx, []*schema.Message{schema.SystemMessage(judgeRules), schema.UserMessage(asked)}, cost)
	switch said = strings.ToLower(strings.Trim(said, "*. ")); {
	case said != "yes" && said != "no":
		to[unusable] = 1
	case said == "yes":
		to[judged] = 1
	}
	return e.fatal(err)
}

// plant has a wrong answer graded.
func (e *exam) plant(ctx context.Context, q *trial.Question) error {
	other := e.plants[q.Text]
	if other == "" || other == q.Answer || q.Options != "" || unanswerable(q) {
		return nil
	}
	to := make([]float64, columns)
	to[right], _ = graded(q, string(other))
	e.planted = append(e.planted, trial.Score{Conversation: q.ID, Category: q.Category, Columns: to})
	return e.verdict(ctx, q, string(other), to, &backends.Usage{})
}

// option is an answer that names one option: by its letter alone, or in brackets and in front.
var option = regexp.MustCompile(`^(?:\(([a-z])\)[^(]*|([a-z])[.:)]?)$`)

// letterOf returns the letter of the option that an answer names, or "" if it is unclear.
func letterOf(answer string) string {
	m := option.FindStringSubmatch(strings.ToLower(strings.TrimSpace(answer)))
	return strings.Join(m[min(1, len(m)):], "")
}

// longest reports whether the longest option is right: the choice of a reader who only knows how
// such questions are made.
func longest(q *trial.Question) bool {
	letter, most := "", 0
	for i, option := range optionStart.Split(q.Options, -1) {
		if n := utf8.RuneCountInString(option); n > most { // a bracket stands in front of (a)
			letter, most = string(rune('a'+i-1)), n
		}
	}
	return letter == letterOf(string(q.Answer))
}

// optionStart begins an option in a list as Python writes it.
var optionStart = regexp.MustCompile(`["']\([a-z]\) `)

// spent is how many tokens were sent and answered, or their estimate.
func (e *exam) spent() int { return e.cost.PromptTokens + e.cost.CompletionTokens }

// print prints a row for each arm and, with a list of wrong answers, another one that leaves them
// out.
func (e *exam) print(out io.Writer) {
	trial.Head(out, "arm", "questions", "right % (95 %)", "F1", "% of oracle's right", "minus plain BM25, points", "judged right %",
		"right % by category", "abstains where nothing answers, %", "not usable", "prompt tokens", "seconds", "calls")
	for name := range strings.SplitSeq(e.arms, ",") {
		e.row(out, name, name, func(trial.Score) bool { return true })
		if e.wrong != "" {
			e.row(out, name, name+", without wrong answers", func(s trial.Score) bool { return !slices.Contains(e.wrongIDs, s.Conversation) })
		}
	}
	n := float64(len(e.planted))
	fmt.Fprintf(out, "\nPlanted wrong answers taken for right: %.0f of %.0f by the rules", n*e.planted.Mean(right), n)
	if e.judge.name != "" {
		fmt.Fprintf(out, ", %.0f by the judge", n*e.planted.Mean(judged))
	}
	fmt.Fprintln(out)
}

// row prints the figures of questions that have an answer, and beside them the share of the others
// that the arm leaves unanswered.
func (e *exam) row(out io.Writer, arm, name string, counts func(trial.Score) bool) {
	all := e.of[arm].Of(counts)
	s, void := all.Of(hasAnswer), all.Of(func(s trial.Score) bool { return !hasAnswer(s) })
	var by []string
	s.ByCategory(func(name string, s trial.Scores) {
		by = append(by, fmt.Sprintf("%s %.1f (%d)", name, 100*s.Mean(right), len(s)))
	})
	compared := func(with string, value func(mean, of float64) float64) string {
		of := e.of[with].Of(counts).Of(hasAnswer)
		if len(of) < len(s) {
			return ""
		}
		at, low, high := s.Paired(of, right, value)
		return fmt.Sprintf("%.1f (%.1f–%.1f)", 100*at, 100*low, 100*high)
	}
	more, verdict := "", ""
	if tokens := strings.TrimPrefix(strings.TrimSuffix(arm, "+vectors"), "note-"); tokens != arm {
		more = compared("bm25-"+tokens, func(mean, of float64) float64 { return mean - of })
	}
	if e.judge.name != "" {
		verdict = fmt.Sprintf("%.1f", 100*s.Mean(judged))
	}
	n := float64(len(all))
	trial.Row(out, name, len(s), compared(arm, func(mean, _ float64) float64 { return mean }), fmt.Sprintf("%.1f", 100*s.Mean(f1)),
		compared("oracle", func(mean, of float64) float64 { return mean / max(of, 1e-9) }), more, verdict, strings.Join(by, ", "),
		fmt.Sprintf("%.1f (%d)", 100*void.Mean(right), len(void)), n*all.Mean(unusable), int(all.Mean(prompt)), fmt.Sprintf("%.1f", all.Mean(seconds)), fmt.Sprintf("%.0f", n*all.Mean(calls)))
}

func hasAnswer(s trial.Score) bool { return !unanswerable(&trial.Question{Category: s.Category}) }
