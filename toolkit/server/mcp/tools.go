// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/note"
	"github.com/einomem/einomem/internal/text"
)

// page is a limit within its range, with its default.
func page(limit, standard, most int) int { return min(max(cmp.Or(limit, standard), 1), most) }

// bullet is the line of a memory for models.
func bullet(h *backends.Hit) string {
	return text.Truncate(note.View{Language: backends.English}.Bullet(h, h.ID), 2000) + "\n"
}

type listIn struct {
	Kinds      []backends.Kind `json:"kinds,omitempty" jsonschema:"only these kinds, such as fact, task, personal or tool"`
	Superseded bool            `json:"include_superseded,omitempty" jsonschema:"also what holds no more"`
	Limit      int             `json:"limit,omitempty" jsonschema:"the size of a page, 1 to 200; 50 by default"`
	Cursor     string          `json:"cursor,omitempty" jsonschema:"the next of the page before"`
}

func list(c *call, in listIn) (says string, resp *backends.ListResponse, err error) {
	resp, err = c.Manager.List(c, &backends.ListRequest{
		Scope: c.Scope, Kinds: in.Kinds, IncludeSuperseded: in.Superseded, Limit: page(in.Limit, 50, 200), Cursor: in.Cursor,
	})
	if err != nil {
		return "", nil, err
	}
	resp.Memories = append([]backends.Memory{}, resp.Memories...)
	for _, m := range resp.Memories {
		says += bullet(&backends.Hit{Memory: m})
	}
	if resp.Next != "" {
		says += "(there is more: call it again with cursor " + resp.Next + ")"
	}
	return cmp.Or(says, "(no memories)"), resp, nil
}

type idIn struct {
	ID string `json:"id" jsonschema:"the id of the memory, as search_memory and list_memories show it"`
}

type historyOut struct {
	Events []backends.Event `json:"events"`
}

func history(c *call, in idIn) (says string, out historyOut, err error) {
	if in.ID, err = note.Find(c, c.Manager, c.Scope, in.ID); err == nil {
		out.Events, err = c.Manager.History(c, &backends.HistoryRequest{Scope: c.Scope, ID: in.ID})
	}
	return "", out, err
}

type deleteIn struct {
	idIn
	Erase bool `json:"erase,omitempty" jsonschema:"also its history, and the words of the turn that taught it; only where the user wants that"`
}

func remove(c *call, in deleteIn) (says string, deleted deleteIn, err error) {
	if in.ID, err = note.Find(c, c.Manager, c.Scope, in.ID); err != nil {
		return "", in, err
	}
	if in.Erase {
		if err := c.agreed(fmt.Sprintf("Memory %q will be erased with its history, and with what was said in the turn that taught it.", in.ID)); err != nil {
			return "", in, err
		}
	}
	return "", in, c.Manager.Delete(c, &backends.DeleteRequest{Scope: c.Scope, ID: in.ID, Erase: in.Erase})
}

// whose names the owner of a scope's memory.
func whose(s backends.Scope) string {
	return fmt.Sprintf("%q", cmp.Or(s.UserID, s.AgentID, s.Workspace))
}

var (
	errAsk       = errors.New("the user is asked") // It ends a call until they answered c.ask.
	errCannotAsk = errors.New("the client cannot ask its user")
)

// agreed returns nil once the user agreed. The word of a model does not count. A client that cannot
// ask its user is refused, unless Config.AllowForget says otherwise.
func (c *call) agreed(what string) error {
	able := c.request.ClientCapabilities()
	asks := able != nil && able.Elicitation != nil && (able.Elicitation.Form != nil || able.Elicitation.URL == nil)
	answer, asked := c.request.Params.InputResponses[c.name].(*sdk.ElicitResult)
	switch {
	case asks && asked && answer.Action == "accept", !asks && c.cfg.AllowForget:
		return nil
	case !asks:
		return errCannotAsk
	case asked:
		return backends.ErrDeclined
	}
	nothing := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	c.ask = &sdk.ElicitParams{Message: what + " It cannot be undone. Go on?", RequestedSchema: nothing}
	return errAsk
}

func forget(c *call, _ struct{}) (says string, receipt *backends.Receipt, err error) {
	err = c.agreed("Everything that is remembered of " + whose(c.Scope) + " will be erased: memories, sessions, files and histories, and what came from them elsewhere.")
	if err != nil {
		return "", nil, err
	}
	if receipt, err = c.Erase(c, c.Scope, nil); err != nil {
		return "", nil, err
	}
	says = fmt.Sprintf("Erased %d memories and %d sessions.", receipt.Memories, receipt.Sessions)
	for _, place := range slices.Sorted(maps.Keys(receipt.Places)) {
		says += fmt.Sprintf(" Erased of %s: %d.", place, receipt.Places[place])
	}
	return says, receipt, nil
}

const (
	grepTool = "grep_working_memory"
	readTool = "read_working_memory"
)

// archive returns the archive of the connection's session.
func (c *call) archive() (*archive.Archive, error) {
	if c.Scope.SessionID == "" {
		return nil, backends.ErrNoScope
	}
	return c.Window().Archives().Of(c.Scope)
}

func grep(c *call, in archive.GrepRequest) (says string, out *archive.GrepResponse, err error) {
	a, err := c.archive()
	if err != nil {
		return "", nil, err
	}
	in.Skip = []string{grepTool, readTool}
	out, err = a.Grep(c, &in)
	return "", out, err
}

func read(c *call, in archive.ReadRequest) (says string, out *archive.Page, err error) {
	a, err := c.archive()
	if err != nil {
		return "", nil, err
	}
	out, err = a.Read(c, &in)
	return "", out, err
}
