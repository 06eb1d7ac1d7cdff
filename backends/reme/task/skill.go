// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// The keys of a skill's Metadata, beside tools_used, freq and utility.
const (
	metaName  = "name"
	metaState = "state"
)

// State is how far an agent may trust a skill.
type State string

// The states of skills.
const (
	Draft     State = "draft"     // written down, still hidden from agents
	Proved    State = "proved"    // a verifier approved it, or attempts with it succeeded twice
	Withdrawn State = "withdrawn" // it failed too often, and is superseded or retracted
)

// Skill is a procedure for tasks of a sort. An agent follows its text; it is never run as code.
type Skill struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	WhenToUse string   `json:"when_to_use"`
	Steps     []string `json:"steps"`
	Tools     []string `json:"tools,omitempty"`
	State     State    `json:"state"`
	Uses      int      `json:"uses"`               // in tasks
	Successes int      `json:"successes"`          // of them
	Evidence  []string `json:"evidence,omitempty"` // ids of the experiences behind it
}

// How many successes prove a skill, and when it is withdrawn.
const provedBy = 2

var withdrawing = Rule{MinUses: 3, MaxUtility: 0.5}

// Offered is the filter of an agent's searches of a workspace: it drops unproved skills, and what is
// held back from the caller. See [Config].HoldBack.
func Offered(s backends.Scope) *backends.Filter { return keeper.Both(proved(), confirmed(s)) }

func proved() *backends.Filter {
	f := backends.Or(backends.Ne("kind", string(backends.KindSkill)), backends.Eq("metadata."+metaState, string(Proved)))
	return &f
}

// confirmed is the filter of a caller's searches for experience: their own memories, and the others
// unless they are held back.
func confirmed(s backends.Scope) *backends.Filter {
	counted := func(key string) backends.Filter {
		return backends.Filter{Op: "gte", Field: "metadata." + key, Value: 1}
	}
	own := backends.Eq("user_id", s.UserID)
	switch {
	case s.UserID+s.AgentID == "": // the program
		return nil
	case s.UserID == "":
		own = backends.Eq("agent_id", s.AgentID)
	}
	f := backends.Or(backends.Ne("metadata."+metaHeldBack, true), own, counted(keeper.MetaCorroborated), counted(keeper.MetaUtility))
	return &f
}

// Skills are procedures that agents made of their experience, in workspaces: drafted from
// successful attempts and lessons, offered once they proved themselves (as in Voyager, Wang et
// al. 2023), and withdrawn when they fail. They are safe for concurrent use.
type Skills struct{ *Memory }

// Skills returns the skills of the workspaces.
func (m *Memory) Skills() Skills { return Skills{m} }

// DraftRequest asks for a skill.
type DraftRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.
	Task  string         // The purpose of the skill, also for the search of lessons. Required.
	// Trajectories are attempts at such tasks; the model sees the successful ones. Optional where
	// the workspace has lessons.
	Trajectories []Trajectory
	TopK         int // How many lessons the model sees. Optional. Defaults to 10.
	// Verify tries the skill, and reports whether it works. Optional. Without it, or after a false,
	// the skill is a draft until outcomes prove it: see Record.
	Verify func(ctx context.Context, s *Skill) (bool, error)
}

// procedure is a model's answer.
type procedure struct {
	Name      string   `json:"name" jsonschema_description:"2 to 5 words"`
	WhenToUse string   `json:"when_to_use" alias:"description"`
	Steps     []string `json:"steps" jsonschema_description:"in order, each a sentence or two"`
	Tools     []string `json:"tools" alias:"tools_used" jsonschema_description:"names of the tools that the steps need"`
}

const maxSteps = 20

// Draft lets the model write a skill down, and stores it; if the workspace has one with the same
// words, it returns that. Errors: ErrNoScope, ErrInvalid without a model, a task, or anything to
// learn from, ErrDenied, ErrUnavailable, ErrModel, and the errors of Verify, beside the skill,
// which is a draft.
func (s Skills) Draft(ctx context.Context, r *DraftRequest) (_ *Skill, err error) {
	defer work.Recover("task: a skill", &err)
	if r == nil || strings.TrimSpace(r.Task) == "" || s.model == nil {
		return nil, fmt.Errorf("task: a skill: %w: it needs a request with a Task, and reme.Config.Model", backends.ErrInvalid)
	}
	ctx, scope, p, err := s.keeper.Enter(ctx, r.Scope, backends.OpAdd)
	if err != nil {
		return nil, err
	}
	found, err := s.keeper.Search(ctx, p, &backends.SearchRequest{Scope: p.Scope(), Query: r.Task, TopK: cmp.Or(r.TopK, 10), Kinds: []backends.Kind{backends.KindTask}})
	if err != nil {
		return nil, err
	}
	lessons := slices.DeleteFunc(found.Hits, func(h backends.Hit) bool { return h.Score < found.Hits[0].Score/2 }) // of other tasks
	attempts := slices.DeleteFunc(s.attempts(r.Trajectories, s.config.Threshold), func(a *attempt) bool { return !a.success })
	if len(attempts)+len(lessons) == 0 {
		return nil, fmt.Errorf("task: a skill for %q: %w: no attempt succeeded, and the workspace has no lessons about it", r.Task, backends.ErrInvalid)
	}
	written, err := s.write(ctx, r.Task, lessons, attempts)
	if err != nil {
		return nil, fmt.Errorf("task: a skill: %w", err)
	}
	m := s.memory(scope, p, &Skill{Name: written.Name, WhenToUse: written.WhenToUse, Steps: written.Steps, Tools: written.Tools})
	for i := range lessons {
		m.Origin.Evidence = append(m.Origin.Evidence, lessons[i].ID)
		keeper.Credit(m, lessons[i].From()...)
	}
	return s.add(ctx, p, m, r.Verify)
}

// write asks the model for the procedure that attempts and lessons show.
func (s Skills) write(ctx context.Context, task string, lessons []backends.Hit, attempts []*attempt) (*procedure, error) {
	material := []fenced{{"task", indent(text.Middle(s.redact(task), maxQueryShown))}}
	if len(lessons) > 0 {
		material = append(material, s.shownHits(lessons))
	}
	for _, a := range attempts {
		material = append(material, fenced{"attempt", a.shortened(a.steps, s.prompt/(len(attempts)+1))})
	}
	q := s.question(s.language.For(task), func(p *prompts) string { return p.Skill }, material...)
	q.Tool, q.Purpose = "write_skill", "Hand in the procedure."
	answer, err := ask.For(ctx, s.begin(), q, func(p *procedure) error {
		switch all := fmt.Sprint(*p); {
		case !text.HasWords(p.Name) || !text.HasWords(p.WhenToUse) || len(p.Steps) == 0 || len(p.Steps) > maxSteps:
			return fmt.Errorf("it needs name, when_to_use, and 1 to %d steps", maxSteps)
		case !s.config.KeepQuery && slices.ContainsFunc(attempts, func(a *attempt) bool { return a.quotes(all, minLent) }):
			return errors.New("it repeats what the user said: put it in general words")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &answer.Value, nil
}

// memory returns a skill in the form for the store, as a draft.
func (s Skills) memory(scope backends.Scope, p backends.Partition, written *Skill) *backends.Memory {
	var steps []string
	for _, step := range written.Steps {
		if step = text.Line(s.redact(step), 1000); step != "" {
			steps = append(steps, strconv.Itoa(len(steps)+1)+". "+step)
		}
	}
	m := &backends.Memory{
		Kind: backends.KindSkill, WhenToUse: text.Line(s.redact(written.WhenToUse), 1000), Text: strings.Join(steps, "\n"), Scope: scope,
		Metadata: map[string]any{metaName: text.Line(s.redact(written.Name), 64), metaState: string(Draft)}, Origin: backends.Origin{Session: scope.SessionID, Author: author},
	}
	if len(written.Tools) > 0 {
		m.Metadata[metaToolsUsed] = s.keeper.RedactJSON(written.Tools)
	}
	m.ID = keeper.ContentID(p, m.Kind, keeper.TextKey(m.Kind, m.WhenToUse, m.Text))
	m.Created = s.keeper.Stamps(1)
	m.Updated, m.Observed = m.Created, m.Created
	return m
}

// Add stores a skill that was written elsewhere: its Name, WhenToUse, Steps and Tools. With proved,
// for a skill that a person vouches for, it is proved; otherwise it is a draft. If the workspace
// has one with the same words, Add returns that.
func (s Skills) Add(ctx context.Context, scope backends.Scope, of *Skill, proved bool) (_ *Skill, err error) {
	defer work.Recover("task: a skill", &err)
	ctx, scope, p, err := s.keeper.Enter(ctx, scope, backends.OpAdd)
	if err == nil && (!text.HasWords(of.Name) || !text.HasWords(of.WhenToUse) || len(of.Steps) == 0) {
		err = fmt.Errorf("task: a skill: %w: it needs a name, when to use it, and steps", backends.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	var vouch func(context.Context, *Skill) (bool, error)
	if proved {
		vouch = func(context.Context, *Skill) (bool, error) { return true, nil }
	}
	return s.add(ctx, p, s.memory(scope, p, of), vouch)
}

// add stores a skill, unless it is there, and lets verify check it.
func (s Skills) add(ctx context.Context, p backends.Partition, m *backends.Memory, verify func(context.Context, *Skill) (bool, error)) (*Skill, error) {
	put := store.Put(&store.Record{Memory: *m})
	put.Expect, put.Actor = store.MustNotExist, author
	_, err := s.keeper.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{put}}, nil)
	if errors.Is(err, backends.ErrConflict) {
		m, err = s.keeper.Get(ctx, p, m.ID)
	}
	if err != nil {
		return nil, err
	}
	out := skillOf(m)
	if verify == nil || out.State != Draft {
		return out, nil
	}
	works, err := verify(ctx, out)
	if err != nil {
		return out, fmt.Errorf("task: verifying skill %q: %w", out.Name, err)
	}
	return s.count(ctx, p, m.ID, works, works)
}

func skillOf(m *backends.Memory) *Skill {
	s := &Skill{ID: m.ID, WhenToUse: m.WhenToUse, Uses: int(keeper.Number(m, keeper.MetaFreq)), Successes: int(keeper.Number(m, keeper.MetaUtility)), Evidence: slices.Clone(m.Origin.Evidence)}
	s.Name, _ = m.Metadata[metaName].(string)
	state, _ := m.Metadata[metaState].(string)
	s.State = State(state)
	for line := range strings.Lines(m.Text) {
		if line = strings.TrimSpace(line); line != "" {
			s.Steps = append(s.Steps, strings.TrimPrefix(line, strconv.Itoa(len(s.Steps)+1)+". "))
		}
	}
	for _, t := range union(m.Metadata[metaToolsUsed], nil) {
		s.Tools = append(s.Tools, fmt.Sprint(t))
	}
	return s
}

// SkillOutcome reports that a task used skills, and whether it succeeded.
type SkillOutcome struct {
	Scope     backends.Scope // Names the workspace. Optional where the context carries one.
	IDs       []string       // Of the skills. Required.
	Succeeded bool
}

// Record counts the uses of skills. A draft that succeeded twice is proved from then on, and
// supersedes a skill of its name. A skill that failed in at least half of three uses or more is
// withdrawn. Record returns the skills as they are then; unknown ids are ErrNotFound.
func (s Skills) Record(ctx context.Context, r *SkillOutcome) ([]Skill, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no outcome", backends.ErrInvalid)
	}
	ctx, _, p, err := s.keeper.Enter(ctx, r.Scope)
	var out []Skill
	for _, id := range r.IDs {
		if err == nil {
			var one *Skill
			if one, err = s.count(ctx, p, id, r.Succeeded, false); err == nil {
				out = append(out, *one)
			}
		}
	}
	return out, err
}

// count counts one use of a skill, and decides about it.
func (s Skills) count(ctx context.Context, p backends.Partition, id string, helped, verified bool) (out *Skill, err error) {
	err = store.OnConflict(ctx, func() error {
		records, err := s.keeper.Records(ctx, p, id)
		if err != nil {
			return err
		}
		if len(records) == 0 || records[0].Kind != backends.KindSkill {
			return fmt.Errorf("task: skill %s: %w", id, backends.ErrNotFound)
		}
		r := &records[0]
		b := &store.Batch{}
		freq, utility := keeper.Number(&r.Memory, keeper.MetaFreq)+1, keeper.Number(&r.Memory, keeper.MetaUtility)
		if helped {
			utility++
		}
		r.Metadata[keeper.MetaFreq], r.Metadata[keeper.MetaUtility] = freq, utility
		switch {
		case !r.Active():
		case withdrawing.forgets(freq, utility):
			r.Metadata[metaState], r.Invalidated, r.Updated = string(Withdrawn), s.keeper.Now(), s.keeper.Now()
		case r.Metadata[metaState] != string(Proved) && (verified || utility >= provedBy):
			r.Metadata[metaState] = string(Proved)
			if b.Mutations, err = s.replaced(ctx, p, r); err != nil {
				return err
			}
		}
		put := store.Put(r)
		put.Expect, put.Actor = r.Version, author
		b.Mutations = append([]store.Mutation{put}, b.Mutations...)
		_, err = s.keeper.Commit(ctx, p, b, nil)
		out = skillOf(&r.Memory)
		return err
	})
	return out, err
}

// replaced returns the writes by which a newly proved skill supersedes others of its name.
func (s Skills) replaced(ctx context.Context, p backends.Partition, by *store.Record) ([]store.Mutation, error) {
	all, err := s.all(ctx, p)
	var out []store.Mutation
	for _, m := range all {
		if m.ID != by.ID && m.Metadata[metaName] == by.Metadata[metaName] {
			end := store.Supersede(m.ID, by)
			end.Expect, end.Actor = m.Version, author
			out = append(out, end)
		}
	}
	return out, err
}

// all returns the proved skills of a workspace.
func (s Skills) all(ctx context.Context, p backends.Partition) ([]*backends.Memory, error) {
	all, err := s.keeper.All(ctx, p)
	return slices.DeleteFunc(slices.Clone(all), func(m *backends.Memory) bool {
		return m.Kind != backends.KindSkill || !m.Active() || m.Expired(s.keeper.Now()) || m.Metadata[metaState] != string(Proved)
	}), err
}

// Find returns the skills of a workspace that help with a task, the best first, at most topK: the
// proved ones, and with drafts also the others.
func (s Skills) Find(ctx context.Context, scope backends.Scope, task string, topK int, drafts bool) ([]Skill, error) {
	scope, p, err := s.keeper.Resolve(ctx, scope, keeper.Workspace)
	if err != nil {
		return nil, err
	}
	q := &backends.SearchRequest{Scope: scope, Query: task, TopK: topK, Kinds: []backends.Kind{backends.KindSkill}}
	if !drafts {
		q.Filter = proved()
	}
	found, err := s.keeper.Search(ctx, p, q)
	if err != nil {
		return nil, err
	}
	out := make([]Skill, len(found.Hits))
	for i := range found.Hits {
		out[i] = *skillOf(&found.Hits[i].Memory)
	}
	return out, nil
}
