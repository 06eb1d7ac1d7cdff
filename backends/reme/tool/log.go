// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// The calls of a tool and a month are a session of the workspace, "tool/search/2026-03".
const (
	logPrefix   = "tool/"
	monthLayout = "2006-01"
)

func logName(tool, month string) string { return logPrefix + url.PathEscape(tool) + "/" + month }

// toolOfLog returns the tool and the month of a session's id, and whether the session is a
// log of calls.
func toolOfLog(session string) (tool, month string, ok bool) {
	rest, isLog := strings.CutPrefix(session, logPrefix)
	name, month, hasMonth := strings.Cut(rest, "/")
	_, noMonth := time.Parse(monthLayout, month)
	tool, noName := url.PathUnescape(name)
	return tool, month, isLog && hasMonth && noMonth == nil && noName == nil && tool != ""
}

func monthOf(t time.Time) string { return t.UTC().Format(monthLayout) }

// months returns the months that may have stored calls, newest first.
func (m *Memory) months() []string {
	now := m.keeper.Now().UTC()
	first, last := now.Add(-m.cfg.Keep), now.Add(clockSkew)
	var out []string
	for t := time.Date(last.Year(), last.Month(), 1, 0, 0, 0, 0, time.UTC); ; t = t.AddDate(0, -1, 0) {
		out = append(out, t.Format(monthLayout))
		if !t.After(first) {
			return out
		}
	}
}

// appendCalls adds calls of one tool and one month to its log in one write, and returns how many
// the log holds then. It skips calls whose ID the log has.
func (m *Memory) appendCalls(ctx context.Context, s backends.Scope, p backends.Partition, calls []*Call) (int64, error) {
	entries := make([]store.Entry, len(calls))
	for i, c := range calls {
		content, err := json.Marshal(c)
		if err != nil {
			return 0, fmt.Errorf("tool: call %s of tool %q: %w: %w", c.ID, c.Tool, backends.ErrInvalid, err)
		}
		message := &schema.Message{Role: schema.Tool, ToolName: c.Tool, Content: string(content)}
		entries[i] = store.Entry{Message: backends.Message{ID: c.ID, Turn: c.ID, Time: c.Time, Message: message}, AgentID: s.AgentID, UserID: c.UserID, Done: true, Tokens: max(c.Tokens, 0)}
	}
	tool := calls[0].Tool
	name := logName(tool, monthOf(calls[0].Time))
	a := &store.Append{Entries: entries, Scope: backends.Scope{Namespace: p.Namespace, Workspace: s.Workspace, SessionID: name}, TTL: m.cfg.Keep, Learnt: true}
	session, err := m.keeper.Store().Append(ctx, p, name, a)
	if err != nil {
		return 0, fmt.Errorf("tool: storing %d calls of tool %q: %w", len(calls), tool, err)
	}
	return session.LastSeq, nil
}

// readCalls reads the newest calls of a tool, at most limit, and how many there are.
func (m *Memory) readCalls(ctx context.Context, p backends.Partition, st *state, limit int) error {
	st.calls, st.seen, st.kept = nil, map[string]int64{}, 0
	for _, month := range m.months() {
		name := logName(st.Name, month)
		session, err := m.keeper.Store().Session(ctx, p, name)
		if errors.Is(err, backends.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("tool: looking for calls of tool %q: %w", st.Name, err)
		}
		st.seen[month] = session.LastSeq
		st.kept += session.LastSeq
		missing := limit - len(st.calls)
		if missing <= 0 {
			continue
		}
		entries, err := m.keeper.Store().Read(ctx, p, name, store.Range{Upto: session.LastSeq, Limit: missing, Last: true})
		if err != nil {
			return fmt.Errorf("tool: reading calls of tool %q: %w", st.Name, err)
		}
		for i := range entries {
			var c Call
			if json.Unmarshal([]byte(entries[i].Content), &c) == nil { // else a message of another program
				st.calls = append(st.calls, c)
			}
		}
	}
	m.addLoaded(st)
	slices.SortStableFunc(st.calls, byTime)
	return nil
}

// byTime orders calls by their beginnings; calls of one instant stay in the order of recording.
func byTime(a, b Call) int { return a.Time.Compare(b.Time) }

// metaLoaded holds the calls of a tool's memory from a library of ReMe.
const metaLoaded = "tool_call_results"

// addLoaded adds the calls of a loaded memory. Its guideline covers them.
func (m *Memory) addLoaded(st *state) {
	if st.guideline.record == nil {
		return
	}
	list, _ := st.guideline.record.Metadata[metaLoaded].([]any)
	for _, v := range list[max(0, len(list)-m.cfg.History):] {
		var c Call
		raw, err := json.Marshal(v)
		if err != nil || json.Unmarshal(raw, &c) != nil {
			continue
		}
		if c.Input, err = normalise(c.Input); err != nil || c.isEmpty() {
			continue
		}
		c.Tool = st.guideline.record.WhenToUse
		st.calls = append(st.calls, m.clean(c))
		st.kept++
	}
}

// tools returns the names of the tools with calls or a guideline, in order. It reads the lists of
// the workspace's sessions and memories.
func (m *Memory) tools(ctx context.Context, p backends.Partition) ([]string, error) {
	var all []string
	kept := m.months()
	err := store.Each(func(page store.Page) (*store.SessionPage, error) {
		return m.keeper.Store().List(ctx, store.SessionQuery{Partition: &p, Page: page})
	}, func(s store.Session) error {
		if name, month, ok := toolOfLog(s.ID); ok && slices.Contains(kept, month) {
			all = append(all, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tool: listing the tools of %s: %w", p, err)
	}
	memories, err := m.keeper.All(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, memory := range memories {
		if name := toolOf(p, memory); name != "" && memory.Active() && !memory.Expired(m.keeper.Now()) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// The stages of the reports.
const (
	stageStore     = "store calls"      // calls in, stored ones out; the others are failures
	stageDue       = "find due"         // fails if the state of a guideline is unknown
	stageGuideline = "write guidelines" // tools in, guidelines out, the others dropped
)

// RecordRequest asks to store calls.
type RecordRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	Calls []Call         // of any tools
}

// RecordResponse has the outcome of each call.
type RecordResponse struct {
	Calls  []RecordedCall  `json:"calls"`         // one for each call of the request, in its order
	Due    []string        `json:"due,omitempty"` // tools with RefreshAfter calls beyond their guidelines
	Report backends.Report `json:"report"`
}

// RecordedCall is the outcome of a call.
type RecordedCall struct {
	ID   string `json:"id"` // as stored
	Tool string `json:"tool"`
	// Outcome is OutcomeAdded, now or before under the same ID, or OutcomeFailed; Reason and Err
	// give the cause.
	Outcome backends.Outcome `json:"outcome"`
	Reason  string           `json:"reason,omitempty"`
	// Err is ErrInvalid for a call that cannot be stored, such as one older than Keep. After any
	// other error, recording the call again with its ID is harmless.
	Err error `json:"-"`
}

// Record stores calls: checked, redacted, bounded, and scored by rules unless they have a score (see
// Config.Judge).
// The calls of a tool that began in one month are one atomic write. Each ID is stored once; repeats
// of a call under other IDs are stored, too.
//
// The response has the outcome of each call. The error joins the errors of the store, or is
// ErrInvalid if all calls are invalid. A scope without a workspace is ErrNoScope, with a nil
// response.
func (m *Memory) Record(ctx context.Context, r *RecordRequest) (_ *RecordResponse, err error) {
	defer work.Recover("tool", &err)
	if r == nil {
		return nil, errNoRequest
	}
	ctx, s, p, err := m.keeper.Enter(ctx, r.Scope, backends.OpAdd)
	if err != nil {
		return nil, err
	}
	run := m.model.Begin(m.limits)
	stage := run.Stage(stageStore)
	stage.In(len(r.Calls))
	resp := &RecordResponse{Calls: make([]RecordedCall, len(r.Calls))}
	batches := map[string]*batch{} // by log
	for i := range r.Calls {
		c := r.Calls[i]
		c.UserID = cmp.Or(s.UserID, c.UserID)
		c, err := m.prepare(c)
		item := &resp.Calls[i]
		*item = RecordedCall{ID: c.ID, Tool: c.Tool, Outcome: backends.OutcomeAdded}
		if err != nil {
			item.fail(stage, fmt.Errorf("%w: %w", backends.ErrInvalid, err))
			continue
		}
		if c.Score == nil && m.cfg.Judge != byNobody {
			c.judgeByRules()
		}
		log := logName(c.Tool, monthOf(c.Time))
		if batches[log] == nil {
			batches[log] = &batch{}
		}
		batches[log].calls, batches[log].items = append(batches[log].calls, &c), append(batches[log].items, item)
	}
	logs := slices.Sorted(maps.Keys(batches))
	errs := each(len(logs), func(i int) error { return m.recordBatch(ctx, run, s, p, batches[logs[i]]) })
	for i, log := range logs {
		b := batches[log]
		for _, item := range b.items {
			item.fail(stage, errs[i])
		}
		if tool := b.calls[0].Tool; b.due && !slices.Contains(resp.Due, tool) {
			resp.Due = append(resp.Due, tool)
		}
	}
	resp.Report = run.Report()
	if err = errors.Join(errs...); len(batches) == 0 && len(r.Calls) > 0 {
		err = fmt.Errorf("tool: none of %d calls can be stored: %w", len(r.Calls), resp.Calls[0].Err)
	}
	return resp, err
}

// batch are calls of one log.
type batch struct {
	calls []*Call
	items []*RecordedCall
	due   bool // the guideline of the tool is due
}

// fail notes an error of a call; nil means that it is stored.
func (c *RecordedCall) fail(stage *ask.Stage, err error) {
	if err == nil {
		stage.Out(1)
		return
	}
	stage.Fail(err)
	c.Outcome, c.Reason, c.Err = backends.OutcomeFailed, err.Error(), err
}

// recordBatch stores calls of one log, and finds out whether the guideline of the tool is due.
func (m *Memory) recordBatch(ctx context.Context, run *ask.Run, s backends.Scope, p backends.Partition, b *batch) error {
	total, err := m.appendCalls(ctx, s, p, b.calls)
	if err != nil {
		return err
	}
	g, err := m.guidelineOf(ctx, p, b.calls[0].Tool)
	if err != nil { // the calls are stored all the same
		run.Stage(stageDue).Fail(err)
		return nil
	}
	b.due = g.uncovered(map[string]int64{monthOf(b.calls[0].Time): total}) >= int64(m.cfg.RefreshAfter)
	return nil
}
