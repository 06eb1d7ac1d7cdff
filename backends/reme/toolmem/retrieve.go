// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
)

// RetrieveRequest asks what is known of tools: by name, by a task, or both.
type RetrieveRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	// Tools are names as they are, ToolNames names with commas between them.
	Tools     []string
	ToolNames string
	// Query is a task in words: the tools whose guidelines fit it best come after
	// those that are named. It finds tools that have a guideline, by the words of name
	// and guideline; by meaning it finds them by what of a tool is embedded, which is
	// its name.
	Query string
	TopK  int // Optional. How many tools Query finds. Defaults to 5.

	WithCalls bool // also the calls that the statistics are about
	// Last and Since choose them: the newest Last calls, none from before Since. Last
	// defaults to Config.Window, and with a Since to Config.History; at most 10,000.
	Last  int
	Since time.Time
}

// Tool is what is known of a tool.
type Tool struct {
	Name      string
	Guideline string // without statistics; empty if none was written yet
	// Statistics are those of now, not of when the guideline was written.
	Statistics Statistics
	New        int64            // calls that the guideline does not know of
	Calls      []Call           // if asked for, oldest first
	Memory     *backends.Memory // as stored; nil if no guideline was written yet
	Score      float64          // how well it fits the query; 0 for one that was named
	Text       string           // guideline and statistics, for a prompt
}

// RetrieveResponse is the answer to a [RetrieveRequest].
type RetrieveResponse struct {
	Tools   []Tool   // in the order of the names, then of the query
	Unknown []string // names of which nothing is known
	Answer  string   // all tools as text
	// Degraded names what failed while the query was still answered: see
	// backends.SearchResponse.
	Degraded error
}

// Retrieve returns what is known of tools, with statistics as they are now. A tool
// with calls and no guideline yet has statistics alone. Names that are not known are
// told of; if nothing at all is found for names, it is ErrNotFound beside the response.
func (m *Memory) Retrieve(ctx context.Context, r *RetrieveRequest) (*RetrieveResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("toolmem: %w: no request", backends.ErrInvalid)
	}
	_, p, err := m.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	tools, err := names(r.Tools, r.ToolNames)
	switch {
	case err != nil:
		return nil, err
	case len(tools) == 0 && strings.TrimSpace(r.Query) == "":
		return nil, fmt.Errorf("toolmem: %w: name tools, or give a query", backends.ErrInvalid)
	case r.Last < 0 || r.Last > 10_000:
		return nil, fmt.Errorf("toolmem: Last %d: %w: at most 10,000", r.Last, backends.ErrInvalid)
	}
	resp := &RetrieveResponse{}
	named := len(tools)
	found, err := m.search(ctx, p, r, resp)
	if err != nil {
		return nil, err
	}
	scores := map[string]float64{}
	for _, hit := range found {
		if name := cardName(p, &hit.Memory); name != "" {
			tools = append(tools, name)
			scores[name] = hit.Score
		}
	}
	if tools, err = names(tools, ""); err != nil { // each once
		return nil, err
	}
	all, err := m.lookup(ctx, p, r, tools)
	if err != nil {
		return nil, err
	}
	return resp.filled(p, all, tools, named, scores)
}

// filled puts what was found into the response.
func (resp *RetrieveResponse) filled(p backends.Partition, all []*Tool, tools []string, named int, scores map[string]float64) (*RetrieveResponse, error) {
	var texts []string
	for i, t := range all {
		if t == nil {
			resp.Unknown = append(resp.Unknown, tools[i])
			continue
		}
		if i >= named {
			t.Score = scores[t.Name]
		}
		resp.Tools = append(resp.Tools, *t)
		texts = append(texts, "# "+oneLine(t.Name)+"\n"+t.Text)
	}
	resp.Answer = strings.Join(texts, "\n\n---\n\n")
	if len(resp.Tools) == 0 && named > 0 {
		return resp, fmt.Errorf("toolmem: %w: nothing is known of the tools %q in %s", backends.ErrNotFound, resp.Unknown, p)
	}
	return resp, nil
}

// search returns the guidelines that fit the query.
func (m *Memory) search(ctx context.Context, p backends.Partition, r *RetrieveRequest, resp *RetrieveResponse) ([]backends.Hit, error) {
	if strings.TrimSpace(r.Query) == "" {
		return nil, nil
	}
	found, err := m.keeper.Search(ctx, p, &backends.SearchRequest{Query: r.Query, TopK: r.TopK, Kinds: []backends.Kind{backends.KindTool}})
	if err != nil {
		return nil, err
	}
	resp.Degraded = found.Degraded
	return found.Hits, nil
}

// lookup returns what is known of tools, nil for those of which nothing is.
func (m *Memory) lookup(ctx context.Context, p backends.Partition, r *RetrieveRequest, tools []string) ([]*Tool, error) {
	cards, err := m.cards(ctx, p, tools)
	if err != nil {
		return nil, err
	}
	out := make([]*Tool, len(tools))
	var all errgroup.Group
	all.SetLimit(m.cfg.Models.Limits().Concurrency)
	for i, name := range tools {
		all.Go(func() error {
			return guarded(func() (err error) {
				out[i], err = m.tool(ctx, p, r, name, cards[name])
				return err
			})
		})
	}
	return out, all.Wait()
}

// tool returns what is known of one tool, or nil.
func (m *Memory) tool(ctx context.Context, p backends.Partition, r *RetrieveRequest, name string, c *card) (*Tool, error) {
	last := r.Last
	switch {
	case last == 0 && r.Since.IsZero():
		last = m.cfg.Window
	case last == 0:
		last = m.cfg.History
	}
	log, err := m.read(ctx, p, name, max(last, m.cfg.History), r.Since)
	if err != nil {
		return nil, err
	}
	m.addLoaded(log, c, r.Since)
	known := c.usable(m.cfg.Clock())
	if log.total == 0 && !known {
		return nil, nil
	}
	calls := m.redacted(log.newest(last))
	t := &Tool{Name: name, Statistics: m.statistics(name, calls, log, c), New: c.unseen(log)}
	t.Statistics.Truncated = !r.Since.IsZero() && (len(log.calls) > last || log.more(r.Since))
	if known {
		memory := c.record.Memory.Clone()
		t.Guideline, t.Memory = m.redact(c.guideline()), &memory
	}
	if r.WithCalls {
		t.Calls = calls
	}
	text := t.Statistics.Text(m.language(append(materialOf(calls), t.Guideline)...))
	t.Text = strings.TrimSpace(t.Guideline + "\n\n" + text)
	return t, nil
}

// Forget removes what is known of a tool: its guideline, whose history stays, and its
// calls. Calls that are recorded meanwhile may stay. A tool that is not known is left
// so.
func (m *Memory) Forget(ctx context.Context, s backends.Scope, tool string) error {
	_, p, err := m.partition(ctx, s)
	if err != nil {
		return err
	}
	name, err := toolName(tool)
	if err != nil {
		return fmt.Errorf("toolmem: %w: %w", backends.ErrInvalid, err)
	}
	// A call may be recorded when it is as old as calls are kept, and its log is kept as
	// long from then on.
	for _, month := range months(m.cfg.Clock(), 2*m.cfg.Keep) {
		if err := m.cfg.Sessions.Delete(ctx, p, logName(name, month)); err != nil {
			return fmt.Errorf("toolmem: forgetting calls of tool %q: %w", name, err)
		}
	}
	err = m.keeper.Delete(ctx, p, &backends.DeleteRequest{ID: cardID(p, name)})
	if errors.Is(err, backends.ErrNotFound) {
		return nil
	}
	return err
}
