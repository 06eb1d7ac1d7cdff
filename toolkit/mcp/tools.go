// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit/access"
)

// maxAdded is how many bytes one add_memory or update_memory may note down.
const maxAdded = 64 << 10

const (
	grepTool = "grep_working_memory"
	readTool = "read_working_memory"
)

// What a tool does: its hints to the client.
const (
	reads = iota
	adds
	changes // or deletes
)

// tools adds all tools.
func (s *Server) tools() error {
	errs := []error{
		define[searchIn, searchOut](s, "search_memory", reads, "Search long-term memory for what is known from earlier conversations.", search),
		define[addIn, addOut](s, "add_memory", adds, "Record lasting facts, preferences, decisions or plans in long-term memory. No secrets, no small talk.", add),
		define[forgetIn, backends.Erased](s, "forget", changes, "Erase everything that is remembered of this user. It cannot be undone. The user is asked first.", forget),
	}
	if s.manager != nil {
		errs = append(errs,
			define[listIn, listOut](s, "list_memories", reads, "List memories in the order in which they were stored, in pages.", list),
			define[idIn, historyOut](s, "memory_history", reads, "Show what happened to one memory: its former texts, and what replaced what.", history),
			define[updateIn, backends.Memory](s, "update_memory", changes, "Replace the text of one memory that is wrong or incomplete. Its former text stays in its history.", update),
			define[idIn, idIn](s, "delete_memory", changes, "Delete one memory. Use it only when the user asks for it.", remove))
	}
	if s.cfg.Memory.Window() != nil {
		errs = append(errs,
			define[grepIn, archive.GrepResponse](s, grepTool, reads, "Search all that was said in this connection's session, also what left the context.", grep),
			define[readIn, archive.Page](s, readTool, reads, "Read what was said in this connection's session again, in pages.", read))
	}
	if s.cfg.Files != nil {
		errs = append(errs, s.fileTool())
	}
	if s.cfg.Flows != nil {
		errs = append(errs, s.flowTools())
	}
	return errors.Join(errs...)
}

// define adds a tool whose arguments are an In, and whose result is an Out.
func define[In, Out any](s *Server, name string, does int, description string, run func(c *call, in *In) (says string, out any, err error)) error {
	input, err := jsonschema.For[In](nil)
	output, fault := jsonschema.For[Out](nil)
	if err = errors.Join(err, fault); err != nil {
		return fmt.Errorf("describing %s: %w", name, err)
	}
	s.add(name, does, description, loose(input), output, func(c *call) (string, any, error) {
		in := new(In)
		err := json.Unmarshal(c.request.Params.Arguments, in)
		if err == nil {
			err = c.owner()
		}
		if err != nil {
			return "", nil, err
		}
		return run(c, in)
	})
	return nil
}

// loose has a schema ignore what it does not know.
func loose(s *jsonschema.Schema) *jsonschema.Schema {
	if s != nil {
		if s.Properties != nil {
			s.AdditionalProperties = nil
		}
		loose(s.Items)
		for _, p := range s.Properties {
			loose(p)
		}
	}
	return s
}

// add adds a tool.
func (s *Server) add(name string, does int, description string, input, output any, run func(c *call) (says string, out any, err error)) {
	destroys, open := does == changes, false
	t := &sdk.Tool{
		Name: name, Description: description, InputSchema: input, OutputSchema: output,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: does == reads, DestructiveHint: &destroys, OpenWorldHint: &open},
	}
	sdk.AddTool(s.mcp, t, func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (res *sdk.CallToolResult, out any, err error) {
		c, err := s.call(ctx, r.Extra, name)
		if err != nil {
			return nil, nil, err
		}
		if c.request = r; r.Params.Arguments == nil {
			r.Params.Arguments = json.RawMessage("{}")
		}
		says := ""
		err = work.Catch(name, func() (err error) {
			says, out, err = run(c)
			return err
		})
		var ask *question
		switch {
		case errors.As(err, &ask):
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{askForget: ask.ElicitParams}}, nil, nil
		case err != nil:
			return nil, nil, c.explain(err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.ToValidUTF8(says, "\uFFFD")}}}, out, nil
	})
}

// page is a limit within its range, with its default.
func page(limit, standard, most int) int { return min(max(cmp.Or(limit, standard), 1), most) }

// bullet is the line by which models read a memory.
func bullet(m *backends.Memory) string {
	return text.Bullet(m.ID, m.Since(), m.Origin.Speaker, text.Truncate(m.Text, 2000), m.WhenToUse) + "\n"
}

type searchIn struct {
	Query string `json:"query" jsonschema:"what to search for: a question, a name, a topic"`
	Limit int    `json:"limit,omitempty" jsonschema:"the most memories to return, 1 to 50; 10 by default"`
}

type searchOut struct {
	Memories []backends.Hit `json:"memories"`
}

func search(c *call, in *searchIn) (says string, out any, err error) {
	resp, err := access.Search(c, c.cfg.Memory, &backends.SearchRequest{Scope: c.scope, Query: text.Truncate(in.Query, 4000), TopK: page(in.Limit, 10, 50)})
	if err != nil {
		return "", nil, err
	}
	if resp.Degraded != nil {
		work.Report(c, c.cfg.OnError, c.name, resp.Degraded)
	}
	for i := range resp.Hits {
		says += bullet(&resp.Hits[i].Memory)
	}
	return cmp.Or(says, "(no relevant memories found)"), searchOut{append([]backends.Hit{}, resp.Hits...)}, nil
}

type addIn struct {
	Content []string `json:"content" jsonschema:"complete sentences that are clear without this conversation, one for each item"`
}

type addOut struct {
	Items []backends.Item `json:"items"`
}

func add(c *call, in *addIn) (says string, out any, err error) {
	if size := len(strings.Join(in.Content, "")); size == 0 || size > maxAdded {
		return "", nil, fmt.Errorf("%w: content has %d bytes: record what matters in a few sentences, at most %d bytes", backends.ErrInvalid, size, maxAdded)
	}
	r := &backends.AddRequest{Scope: c.scope, Author: backends.AuthorAgent}
	turn := backends.NewID()
	for i, s := range in.Content {
		r.Messages = append(r.Messages, backends.Message{ID: fmt.Sprint(turn, "-", i), Turn: turn, Message: schema.AssistantMessage(s, nil)})
	}
	var items []backends.Item
	err = c.write(func() error {
		resp, err := c.cfg.Memory.Backend().Add(c, r)
		if err != nil {
			return err
		}
		items = resp.Items
		stored := len(items) == 0
		for i := range items {
			it := &items[i]
			says += string(it.Outcome) + ": " + bullet(&it.Memory)
			stored = stored || it.Err == nil
			err = errors.Join(err, it.Err)
		}
		if err != nil && stored { // the rest is
			work.Report(c, c.cfg.OnError, c.name, err)
			err = nil
		}
		return err
	})
	return cmp.Or(says, "Nothing was recorded: memory found nothing in it to store."), addOut{append([]backends.Item{}, items...)}, err
}

type listIn struct {
	Kinds      []backends.Kind `json:"kinds,omitempty" jsonschema:"only these kinds, such as fact, task, personal or tool"`
	Superseded bool            `json:"include_superseded,omitempty" jsonschema:"also what holds no more"`
	Limit      int             `json:"limit,omitempty" jsonschema:"the size of a page, 1 to 200; 50 by default"`
	Cursor     string          `json:"cursor,omitempty" jsonschema:"the next of the page before"`
}

type listOut struct {
	Memories []backends.Memory `json:"memories"`
	Next     string            `json:"next,omitempty" jsonschema:"the cursor of the next page"`
}

func list(c *call, in *listIn) (says string, out any, err error) {
	resp, err := c.manager.List(c, &backends.ListRequest{
		Scope: c.scope, Kinds: in.Kinds, IncludeSuperseded: in.Superseded, Limit: page(in.Limit, 50, 200), Cursor: in.Cursor,
	})
	if err != nil {
		return "", nil, err
	}
	for i := range resp.Memories {
		says += bullet(&resp.Memories[i])
	}
	if resp.Next != "" {
		says += "(there is more: call it again with cursor " + resp.Next + ")"
	}
	return cmp.Or(says, "(no memories)"), listOut{append([]backends.Memory{}, resp.Memories...), resp.Next}, nil
}

type idIn struct {
	ID string `json:"id" jsonschema:"the id of the memory, as search_memory and list_memories show it"`
}

type historyOut struct {
	Events []backends.Event `json:"events"`
}

func history(c *call, in *idIn) (says string, out any, err error) {
	events, err := c.manager.History(c, &backends.HistoryRequest{Scope: c.scope, ID: in.ID})
	for _, e := range events {
		says += fmt.Sprintf("- %s %s by %s: %s\n", e.Time.Format("2006-01-02 15:04"), e.Type, e.Actor, text.Line(cmp.Or(e.New, e.Old), 2000))
	}
	return says, historyOut{events}, err
}

type updateIn struct {
	idIn
	Content string `json:"content" jsonschema:"the whole new text"`
}

func update(c *call, in *updateIn) (says string, out any, err error) {
	content := strings.TrimSpace(in.Content)
	if content == "" || len(content) > maxAdded {
		return "", nil, fmt.Errorf("%w: content has %d bytes: a memory is a few sentences, at most %d bytes", backends.ErrInvalid, len(content), maxAdded)
	}
	var m *backends.Memory
	if err = c.write(func() (err error) {
		m, err = c.manager.Update(c, &backends.UpdateRequest{Scope: c.scope, ID: in.ID, Text: &content})
		return err
	}); err != nil {
		return "", nil, err
	}
	return "Updated: " + bullet(m), m, nil
}

func remove(c *call, in *idIn) (says string, out any, err error) {
	err = c.write(func() error { return c.manager.Delete(c, &backends.DeleteRequest{Scope: c.scope, ID: in.ID}) })
	return "Deleted: " + text.Line(in.ID, 100), in, err
}

type forgetIn struct {
	Confirm string `json:"confirm,omitempty" jsonschema:"only where the client cannot ask the user: whose memory it is, once the user agreed"`
}

// question is what the user is asked before forget goes on.
type question struct{ *sdk.ElicitParams }

// Error implements error.
func (q *question) Error() string { return q.Message }

const askForget = "forget"

func forget(c *call, in *forgetIn) (says string, out any, err error) {
	if c.key.Allow(c.scope, true) != nil {
		return "", nil, c.write(nil) // which refuses it, and logs that
	}
	whose := cmp.Or(c.scope.UserID, c.scope.AgentID, c.scope.Workspace)
	what := fmt.Sprintf("everything that is remembered of %q: memories, sessions, files and histories, and what came from them elsewhere", whose)
	able := c.request.ClientCapabilities()
	answer, asked := c.request.Params.InputResponses[askForget].(*sdk.ElicitResult)
	switch asks := able != nil && able.Elicitation != nil; {
	case asks && !asked:
		nothing := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
		return "", nil, &question{&sdk.ElicitParams{Message: "Erase " + what + "? This cannot be undone.", RequestedSchema: nothing}}
	case asks && answer.Action != "accept":
		return "", nil, backends.ErrDeclined
	case !asks && in.Confirm != whose:
		return "", nil, fmt.Errorf("%w: this would erase %s. Ask the user; if they agree, call it again with confirm: %q", backends.ErrInvalid, what, whose)
	}
	var receipt *backends.Receipt
	if err = c.write(func() (err error) {
		receipt, err = c.cfg.Memory.Forget(c, c.scope)
		return err
	}); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("Erased %d memories and %d sessions.", receipt.Memories, receipt.Sessions), receipt.Erased, nil
}
