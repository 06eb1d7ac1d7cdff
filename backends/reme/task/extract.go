// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
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
	Task        string       `json:"task,omitempty" jsonschema_description:"the kind of task in one general sentence, without names, numbers and quotations"`
	Experiences []experience `json:"experiences" alias:"memories,items,results" jsonschema_description:"empty if nothing is worth keeping"`
}

type experience struct {
	WhenToUse  string         `json:"when_to_use" alias:"condition" jsonschema_description:"the situation in which it helps"`
	Experience string         `json:"experience" alias:"memory,content" jsonschema_description:"what to do or avoid then, and why"`
	Tags       []string       `json:"tags,omitempty" jsonschema_description:"keywords"`
	Confidence float64        `json:"confidence,omitempty" jsonschema_description:"0 to 1"`
	StepType   string         `json:"step_type,omitempty" jsonschema:"enum=reasoning,enum=action,enum=observation,enum=decision"`
	ToolsUsed  []string       `json:"tools_used,omitempty" jsonschema_description:"names of the tools that it is about"`
	Steps      []int          `json:"steps" jsonschema_description:"numbers of the steps that show it, at most 3"`
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
	material []fenced   // one for each attempt

	found    []backends.Memory // the candidates worth keeping
	answered bool
}

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
		questions[i].found, questions[i].answered = s.answers[questions[i].key()]
	}
	err := parallel(ctx, len(questions), func(ctx context.Context, i int) error { return s.answer(ctx, &questions[i]) })
	answered := 0
	var out []backends.Memory
	for _, q := range questions {
		if q.answered {
			s.answers[q.key()] = q.found
			out = append(out, q.found...)
			answered++
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; nothing is stored; %d of %d questions were answered, and a repeat in this process does not ask them again", err, answered, len(questions))
	}
	return out, nil
}

// answer asks an open question, and then the judge about the answer.
func (s *summary) answer(ctx context.Context, q *question) (err error) {
	if q.answered {
		return nil
	}
	var cited []int
	q.found, cited, err = s.m.ask(ctx, s.run, q)
	if err == nil && len(q.found) > 0 && q.stage != stageSimple {
		q.found, err = s.m.judge(ctx, s.run, q.evidence(cited), q.found)
	}
	q.answered = err == nil
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
	question.Tool, question.Purpose = "extract_experiences", "Hand in what was learnt."
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
		out = append(out, q.candidate(&kept[i], name))
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
	own := map[string]any{
		metaTags: e.Tags, metaToolsUsed: e.ToolsUsed, metaSource: q.source, metaTaskID: of.TaskID, metaTaskQuery: task,
	}
	if e.Confidence > 0 && e.Confidence <= 1 {
		own[metaConfidence] = e.Confidence
	}
	if step := strings.ToLower(e.StepType); slices.Contains([]string{"reasoning", "action", "observation", "decision"}, step) {
		own[metaStepType] = step
	}
	maps.DeleteFunc(own, func(_ string, v any) bool { return reflect.ValueOf(v).IsZero() })
	own[metaOutcome] = of.Score
	meta := map[string]any{}
	maps.Copy(meta, e.Rest)
	delete(meta, metaTaskQuery)
	maps.Copy(meta, own) // the caller's keys go before the model's
	return backends.Memory{
		Kind: backends.KindTask, WhenToUse: e.WhenToUse, Text: e.Experience, Metadata: meta, Observed: of.Observed,
		Origin: backends.Origin{Session: of.Session, Turn: of.Turn},
	}
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

// ofPairs asks what sets the better of two attempts apart from the worse.
func (m *Memory) ofPairs(pairs [][2]*attempt) []question {
	prompt, half := func(p *prompts) string { return p.Comparative }, m.prompt/2
	out := make([]question, len(pairs))
	for i, p := range pairs {
		material := []fenced{{"better", p[0].shortened(p[0].steps, half)}, {"worse", p[1].shortened(p[1].steps, half)}}
		out[i] = question{stage: stageComparative, prompt: prompt, most: 2, source: "comparative", attempts: p[:], material: material}
	}
	return out
}

// summary says what the task was and how it went. The words of the task get 1 in 8 of limit tokens,
// and the note 1 in 16.
func (a *attempt) summary(limit int) string {
	p := phrasesIn[a.language]
	outcome := p.failure
	if a.success {
		outcome = p.success
	}
	var b strings.Builder
	if what := a.task(); what != "" {
		b.WriteString(p.task + "\n" + indent(text.Fit(what, limit/8, text.Tokens)))
	}
	fmt.Fprintf(&b, p.outcome+"\n", outcome, strconv.FormatFloat(a.Score, 'g', 4, 64))
	if note, _ := a.Metadata[NoteKey].(string); strings.TrimSpace(note) != "" {
		b.WriteString(p.note + "\n" + indent(text.Fit(note, limit/16, text.Tokens)))
	}
	return b.String()
}

// shortened shows an attempt with some of its steps, in at most limit tokens.
func (a *attempt) shortened(steps []step, limit int) string {
	head := a.summary(limit)
	return head + shortened(steps, limit-text.Tokens(head))
}

// parts shows an attempt in as many parts as it needs.
func (a *attempt) parts(limit int) []string {
	const numbers = 20 // tokens of what says which part it is
	head := a.summary(limit)
	chunks := chunksOf(a.steps, limit-text.Tokens(head)-numbers)
	out := make([]string, len(chunks))
	for i, c := range chunks {
		out[i] = head + c.text
		if len(chunks) > 1 {
			out[i] = head + fmt.Sprintf(phrasesIn[a.language].part, c.first, c.last, len(a.steps)) + "\n" + c.text
		}
	}
	return out
}

// maxEvidence is how many tokens of the attempts the judge sees. It is at most the least prompt
// there is, 512.
const maxEvidence = 512

// evidence returns the material for the judge: the task, how it went, and the cited steps,
// shortened. Without a cited step an attempt shows all its steps.
func (q *question) evidence(cited []int) []fenced {
	out := make([]fenced, len(q.attempts))
	for i, a := range q.attempts {
		steps := slices.DeleteFunc(slices.Clone(a.steps), func(s step) bool { return !slices.Contains(cited, s.number) })
		if len(steps) == 0 {
			steps = a.steps
		}
		out[i] = fenced{q.material[i].name, a.shortened(steps, maxEvidence/len(q.attempts))}
	}
	return out
}

// judgements are the judge's answer.
type judgements struct {
	Judgements []judgement `json:"judgements" alias:"verdicts,results" jsonschema_description:"one for each candidate"`
}

type judgement struct {
	Candidate int      `json:"candidate" alias:"index,id" jsonschema_description:"its number"`
	Valid     *bool    `json:"is_valid" alias:"valid" jsonschema_description:"whether it is worth keeping"`
	Score     *float64 `json:"score" jsonschema_description:"0 to 1"`
	Feedback  string   `json:"feedback,omitempty" jsonschema_description:"why, in a sentence"`
}

// Check refuses a judgement that leaves open whether the candidate is valid, or how good it is.
func (j *judgement) Check() error {
	if j.Valid == nil || j.Score == nil || !(*j.Score >= 0 && *j.Score <= 1) {
		return errors.New("it needs is_valid and a score from 0 to 1")
	}
	return nil
}

// judge returns the candidates worth keeping: the evidence bears them out, and they are valid and
// have a score of MinQuality or more. The score becomes their Quality. A candidate without a
// judgement is ErrModel: silence is no approval.
func (m *Memory) judge(ctx context.Context, run *ask.Run, evidence []fenced, candidates []backends.Memory) ([]backends.Memory, error) {
	stage := run.Stage(stageJudge)
	stage.In(len(candidates))
	var list strings.Builder
	for i, c := range candidates {
		list.WriteString(m.shown(fmt.Sprint("candidate ", i+1), c.WhenToUse, c.Text))
	}
	q := m.question(m.language.For(list.String()), func(p *prompts) string { return p.Judge }, append(slices.Clone(evidence), fenced{"candidates", list.String()})...)
	q.Tool, q.Purpose = "judge_experiences", "Hand in the judgements."
	answer, err := ask.For(ctx, run, q, func(j *judgements) error {
		if len(j.Judgements) == 1 && len(candidates) == 1 && j.Judgements[0].Candidate == 0 { // a single candidate may lack its number
			j.Judgements[0].Candidate = 1
		}
		return ask.EachOnce("candidate", 1, len(candidates), j.Judgements, func(j judgement) int { return j.Candidate })
	})
	if err != nil {
		fail(ctx, stage, err)
		return nil, fmt.Errorf("%s: %w", stageJudge, err)
	}
	slices.SortFunc(answer.Value.Judgements, func(a, b judgement) int { return a.Candidate - b.Candidate })
	var kept []backends.Memory
	for i, j := range answer.Value.Judgements {
		if c := candidates[i]; *j.Valid && *j.Score >= m.config.MinQuality {
			c.Quality = j.Score
			kept = append(kept, c)
		}
	}
	stage.Out(len(kept))
	stage.Drop(len(candidates) - len(kept))
	return kept, nil
}
