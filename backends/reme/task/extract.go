// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// experiences are the model's answer about attempts.
type experiences struct {
	Task        string       `json:"task,omitempty"`
	Experiences []experience `json:"experiences" alias:"memories,items,results"`
}

type experience struct {
	WhenToUse  string         `json:"when_to_use" alias:"condition"`
	Experience string         `json:"experience" alias:"memory,content"`
	Tags       []string       `json:"tags,omitempty"`
	Confidence float64        `json:"confidence,omitempty"`
	Steps      []int          `json:"steps"`
	Rest       map[string]any `json:"-"`
}

// maxExperience bounds one entry in bytes: a larger one is beyond an experience.
const maxExperience = 32 << 10

// Check refuses an incomplete experience; the error is for the model.
func (e *experience) Check() error {
	if !text.HasWords(e.WhenToUse) || !text.HasWords(e.Experience) {
		return errors.New("it needs both when_to_use and the experience itself, in words")
	}
	raw, err := json.Marshal([]any{e, e.Rest})
	if err != nil || len(raw) > maxExperience {
		return errors.New("it is too long")
	}
	return nil
}

// question is one question to the model about some material.
type question struct {
	stage    string
	prompt   func(*prompts) string
	most     int        // candidates of one answer; surplus ones are dropped
	source   string     // of the candidates: see metaSource
	attempts []*attempt // in the material; the candidates are from the first
	material []fenced

	found []backends.Memory // the candidates; once judged, the ones worth keeping
	cited []int             // the steps that they name
	state progress
}

// progress says how far a question is.
type progress int

const (
	isOpen progress = iota
	isAsked
	isJudged
)

// extract returns the candidates of the trajectories that the judge finds worth keeping: of
// successes, of failures, of comparisons, each in the order of the trajectories. Simple asks one
// question a trajectory, and no judge. The first failure ends the other questions.
func (s *summary) extract(ctx context.Context, ts []Trajectory, simple bool) ([]backends.Memory, error) {
	m := s.m
	var questions []question
	if simple {
		questions = m.ofEach(m.attempts(ts, m.config.SimpleThreshold))
	} else {
		attempts := m.attempts(ts, m.config.Threshold)
		questions = slices.Concat(m.ofAttempts(attempts, true), m.ofAttempts(attempts, false), m.ofPairs(pairsOf(attempts)))
	}
	for i := range questions {
		if known, ok := s.answers[questions[i].key()]; ok {
			questions[i].found, questions[i].cited, questions[i].state = known.found, known.cited, known.state
		}
	}
	err := parallel(ctx, len(questions), func(ctx context.Context, i int) error { return s.answer(ctx, &questions[i]) })
	if err == nil {
		err = s.judge(ctx, questions)
	}
	answered := 0
	var out []backends.Memory
	for _, q := range questions {
		if q.state > isOpen {
			s.answers[q.key()] = q
			out = append(out, q.found...)
			answered++
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; nothing is stored; %d of %d questions were answered, and a repeat in this process does not ask them again", err, answered, len(questions))
	}
	return out, nil
}

// answer asks an open question. Its candidates await the judge, if there are any.
func (s *summary) answer(ctx context.Context, q *question) (err error) {
	if q.state > isOpen {
		return nil
	}
	if q.found, q.cited, err = s.m.ask(ctx, s.run, q); err == nil {
		q.state = isAsked
	}
	if err == nil && (len(q.found) == 0 || q.stage == stageSimple) {
		q.state = isJudged
	}
	return err
}

// key tells questions of a workspace apart, with all facts that their memories store.
func (q *question) key() string {
	of := q.attempts[0]
	return text.HashKey(q.stage, fences(q.material), of.TaskID, of.Session, of.Turn, of.Observed.UTC().Format(time.RFC3339Nano))
}

// ask asks what some material teaches. With the candidates it returns the numbers of the steps that
// they cite.
func (m *Memory) ask(ctx context.Context, run *ask.Run, q *question) (out []backends.Memory, cited []int, err error) {
	stage := run.Stage(q.stage)
	stage.In(1)
	question := m.question(q.attempts[0].language, q.prompt, q.material...)
	words := phrasesIn[q.attempts[0].language]
	question.System += "\n\n" + words.writing + " " + fmt.Sprintf(words.most, q.most)
	question.Tool = "extract_experiences"
	answer, err := ask.For[experiences](ctx, run, question, nil)
	if err != nil {
		fail(ctx, stage, err)
		return nil, nil, fmt.Errorf("%s: %w", q.stage, err)
	}
	all := len(answer.Value.Experiences)
	lent := func(v any) bool { return !m.config.KeepQuery && q.attempts[0].quotes(fmt.Sprint(v), minLent) }
	kept := slices.DeleteFunc(answer.Value.Experiences, func(e experience) bool {
		maps.DeleteFunc(e.Rest, func(_ string, v any) bool { return lent(v) })
		return lent([]any{e.WhenToUse, e.Experience, e.Tags})
	})
	kept = kept[:min(len(kept), q.most)]
	stage.Out(len(kept))
	stage.Drop(all - len(kept) + len(answer.Bad))
	name := m.taskQuery(q.attempts[0], answer.Value.Task)
	for i := range kept {
		c := q.candidate(&kept[i], name)
		if example := q.attempts[0].example(kept[i].Steps); m.config.Examples && q.attempts[0].success && example != "" && !lent(example) {
			c.Metadata[metaExample] = example
		}
		out = append(out, c)
		cited = append(cited, kept[i].Steps...)
	}
	return out, cited, nil
}

// fail counts a failure, unless another failure cut the question off.
func fail(ctx context.Context, stage *ask.Stage, err error) {
	if ctx.Err() == nil {
		stage.Fail(err)
	}
}

const (
	maxQuery = 1000 // tokens of the words of a task that a candidate keeps
	maxTask  = 64   // tokens of the model's name for it
	minQuote = 8    // words in a row that make the name a quotation of what the user said
	minLent  = 16   // the same of an experience, which may need the names of things
)

// taskQuery returns the stored words of a task: the model's name for it, since others would read
// the words of the user.
func (m *Memory) taskQuery(of *attempt, name string) string {
	if m.config.KeepQuery {
		return text.Fit(of.task(), maxQuery, text.Tokens)
	}
	if name = text.Fit(strings.TrimSpace(name), maxTask, text.Tokens); of.quotes(name, minQuote) {
		return ""
	}
	return name
}

// quotes reports whether a text has so many words in a row of a user's message, or a whole message
// of minQuote words.
func (a *attempt) quotes(s string, most int) bool {
	words := func(s string) []string { return word.FindAllString(text.Fold(s), -1) }
	own, said := words(s), [][]string{words(a.task())}
	for _, s := range a.steps {
		if s.message.Role == schema.User {
			said = append(said, words(einox.Text(s.message)))
		}
	}
	return slices.ContainsFunc(said, func(message []string) bool {
		n, all := min(most, max(len(message), minQuote)), " "+strings.Join(message, " ")+" "
		for i := range max(0, len(own)-n+1) {
			if strings.Contains(all, " "+strings.Join(own[i:i+n], " ")+" ") {
				return true
			}
		}
		return false
	})
}

// candidate returns an experience as a memory, before redaction.
func (q *question) candidate(e *experience, task string) backends.Memory {
	of := q.attempts[0]
	own := map[string]any{metaTags: e.Tags, metaSource: q.source, metaTaskID: of.TaskID, metaTaskQuery: task}
	kind, tools := of.shows(e.Steps)
	if said, _ := e.Rest[metaStepType].(string); kind == "" && slices.Contains([]string{"reasoning", "action", "observation", "decision"}, said) {
		kind = said
	}
	if own[metaStepType], own[metaToolsUsed] = kind, tools; len(tools) == 0 {
		own[metaToolsUsed], _ = e.Rest[metaToolsUsed].([]any)
	}
	if e.Confidence > 0 && e.Confidence <= 1 {
		own[metaConfidence] = e.Confidence
	}
	maps.DeleteFunc(own, func(_ string, v any) bool { return reflect.ValueOf(v).IsZero() })
	own[metaOutcome] = of.Score
	meta := map[string]any{}
	maps.Copy(meta, e.Rest)
	maps.DeleteFunc(meta, func(key string, _ any) bool { return slices.Contains(reserved, key) })
	maps.Copy(meta, own) // the caller's keys go before the model's
	return backends.Memory{
		Kind: backends.KindTask, WhenToUse: e.WhenToUse, Text: e.Experience, Metadata: meta, Observed: of.Observed,
		Origin: backends.Origin{Session: of.Session, Turn: of.Turn},
	}
}

// shows returns what some steps are: the kind of the first one, and the tools of all.
func (a *attempt) shows(steps []int) (kind string, tools []string) {
	for _, s := range a.steps {
		if !slices.Contains(steps, s.number) {
			continue
		}
		names := []string{s.tool}
		for _, c := range callsOf(s.message) {
			names = append(names, c.Function.Name)
		}
		switch {
		case s.message.Role == schema.Tool:
			kind = cmp.Or(kind, "observation")
		case len(names) > 1:
			kind = cmp.Or(kind, "action")
		}
		kind, tools = cmp.Or(kind, "reasoning"), append(tools, names...)
	}
	slices.Sort(tools)
	return kind, slices.DeleteFunc(slices.Compact(tools), func(name string) bool { return name == "" })
}

// maxExample is how many characters of a call, or of its result, an example shows.
const maxExample = 160

// example shows the calls of some steps, and their results, a line each.
func (a *attempt) example(steps []int) string {
	var lines []string
	for _, s := range a.steps {
		if !slices.Contains(steps, s.number) {
			continue
		}
		for _, c := range callsOf(s.message) {
			lines = append(lines, text.Line(c.Function.Name+" "+c.Function.Arguments, maxExample))
		}
		if s.message.Role == schema.Tool {
			lines = append(lines, "→ "+text.Line(einox.Text(s.message), maxExample))
		}
	}
	return strings.Join(lines, "\n")
}

// ofEach asks for the lessons of each attempt.
func (m *Memory) ofEach(attempts []*attempt) []question {
	out := make([]question, len(attempts))
	for i, a := range attempts {
		material := []fenced{{"trajectory", a.shortened(a.steps, m.prompt)}}
		out[i] = question{stage: stageSimple, prompt: func(p *prompts) string { return p.Simple }, most: 2, source: "simple", attempts: []*attempt{a}, material: material}
	}
	return out
}

// ofAttempts asks for the lessons of each success, or each failure, part by part.
func (m *Memory) ofAttempts(attempts []*attempt, success bool) []question {
	q := question{stage: stageFailure, prompt: func(p *prompts) string { return p.Failure }, most: 3, source: "failure"}
	if success {
		q = question{stage: stageSuccess, prompt: func(p *prompts) string { return p.Success }, most: 3, source: "success"}
	}
	var out []question
	for _, a := range attempts {
		if a.success != success {
			continue
		}
		for _, part := range a.parts(m.prompt) {
			q.attempts, q.material = []*attempt{a}, []fenced{{"trajectory", part}}
			out = append(out, q)
		}
	}
	return out
}

// ofPairs asks what sets the better of two attempts apart from the worse. The steps with which both
// begin are shown once.
func (m *Memory) ofPairs(pairs [][2]*attempt) []question {
	prompt, third := func(p *prompts) string { return p.Comparative }, m.prompt/3
	out := make([]question, len(pairs))
	for i, p := range pairs {
		better, worse, n := p[0], p[1], 0
		for n < min(len(better.steps), len(worse.steps)) && better.steps[n].same(&worse.steps[n]) {
			n++
		}
		material := []fenced{{"both", better.what(third, better.steps[:n]) + shortened(better.steps[:n], third, share(third))}}
		for j, name := range []string{"better", "worse"} {
			end := p[j].outcome(third)
			material = append(material, fenced{name, end + shortened(p[j].steps[n:], third-text.Tokens(end), share(third))})
		}
		out[i] = question{stage: stageComparative, prompt: prompt, most: 2, source: "comparative", attempts: p[:], material: material}
	}
	return out
}

// what says what the task was, in at most 1 in 8 of limit tokens, unless the steps begin with it.
func (a *attempt) what(limit int, steps []step) string {
	what := a.task()
	if what == "" || len(steps) > 0 && steps[0].message.Role == schema.User && einox.Text(steps[0].message) == what {
		return ""
	}
	return phrasesIn[a.language].task + "\n" + indent(text.Fit(what, limit/8, text.Tokens))
}

// outcome says how an attempt went. The note gets at most 1 in 16 of limit tokens.
func (a *attempt) outcome(limit int) string {
	p := phrasesIn[a.language]
	outcome := p.failure
	if a.success {
		outcome = p.success
	}
	out := fmt.Sprintf(p.outcome+"\n", outcome, strconv.FormatFloat(a.Score, 'g', 4, 64))
	if note, _ := a.Metadata[NoteKey].(string); strings.TrimSpace(note) != "" {
		out += p.note + "\n" + indent(text.Fit(note, limit/16, text.Tokens))
	}
	return out
}

// shortened shows an attempt with some of its steps, in at most limit tokens.
func (a *attempt) shortened(steps []step, limit int) string {
	head := a.what(limit, steps) + a.outcome(limit)
	return head + shortened(steps, limit-text.Tokens(head), share(limit))
}

// parts shows an attempt in as many parts as it needs.
func (a *attempt) parts(limit int) []string {
	const numbers = 20 // tokens of what says which part it is
	end := a.outcome(limit)
	chunks := chunksOf(a.steps, limit-text.Tokens(a.what(limit, nil)+end)-numbers)
	out := make([]string, len(chunks))
	for i, c := range chunks {
		out[i] = a.what(limit, a.steps[c.first-1:]) + end
		if len(chunks) > 1 {
			out[i] += fmt.Sprintf(phrasesIn[a.language].part, c.first, c.last, len(a.steps)) + "\n"
		}
		out[i] += c.text
	}
	return out
}
