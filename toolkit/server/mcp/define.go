// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/files"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// The hints of a tool to the client. All tools except reads and adds may destroy something.
var (
	no      = new(bool)
	reads   = &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no}
	adds    = &sdk.ToolAnnotations{DestructiveHint: no, OpenWorldHint: no}
	changes = &sdk.ToolAnnotations{OpenWorldHint: no}
	erases  = &sdk.ToolAnnotations{OpenWorldHint: no} // everything at once

	modes = map[*sdk.ToolAnnotations]access.Mode{adds: access.Write, changes: access.Write, erases: access.Write | access.Whole}
)

// groups are the groups of Config.Tools, in their order.
var groups = []string{"memory", "session", "files", "reme"}

// tools adds the tools of Config.Tools.
func (s *Server) tools() error {
	has := func(group string) bool { return slices.Contains(s.cfg.Tools, group) }
	for _, name := range s.cfg.Tools {
		if !slices.Contains(groups, name) {
			return fmt.Errorf("Config.Tools: %w: there is no group %q: there are %s", backends.ErrInvalid, name, strings.Join(groups, ", "))
		}
	}
	if has("memory") {
		s.memoryTools()
	}
	if has("session") && access.WindowOf(s.cfg.Memory) != nil {
		tool(s, grepTool, reads, "Search all that was said in this connection's session, also what left the context.", grep)
		tool(s, readTool, reads, "Read what was said in this connection's session again, in pages.", read)
	}
	switch {
	case has("reme") && s.cfg.Flows == nil, has("files") && s.cfg.Files == nil:
		return fmt.Errorf("Config.Tools: %w: files and reme need Config.Files and Config.Flows", backends.ErrInvalid)
	case has("reme"):
		for _, f := range s.cfg.Flows.List() {
			if !has("session") || f.Name != grepTool && f.Name != readTool {
				s.flowTool(f)
			}
		}
	}
	if has("files") {
		return s.fileTool()
	}
	return nil
}

func (s *Server) memoryTools() {
	tool(s, "search_memory", reads, "Search long-term memory for what is known from earlier conversations.", search)
	tool(s, "add_memory", adds, "Record lasting facts, preferences, decisions or plans in long-term memory. No secrets, no small talk.", add)
	tool(s, "forget", erases, "Erase everything that is remembered of this user. It cannot be undone. The user is asked first.", forget)
	if _, ok := backends.As[backends.Manager](s.cfg.Memory.Backend()); ok {
		tool(s, "list_memories", reads, "List memories in the order in which they were stored, in pages.", list)
		tool(s, "memory_history", reads, "Show what happened to one memory: its former texts, and what replaced what.", history)
		tool(s, "update_memory", changes, "Replace the text of one memory that is wrong or incomplete. Its former text stays in its history.", update)
		tool(s, "delete_memory", changes, "Delete one memory. Use it only when the user asks for it.", remove)
	}
}

// tool adds a tool of the connection's own scope. Its arguments are an In, and its result an Out,
// shown as JSON unless run returns a text.
func tool[In, Out any](s *Server, name string, does *sdk.ToolAnnotations, description string, run func(*call, In) (string, Out, error)) {
	t := &sdk.Tool{Name: name, Description: description, InputSchema: schemaOf(reflect.TypeFor[In]()), Annotations: does}
	define(s, t, func(c *call, in In) (says string, out Out, err error) {
		err = c.do(modes[does], func() error {
			says, out, err = run(c, in)
			return err
		})
		return says, out, err
	})
}

// define adds a tool. run returns the text for models, or "" for the JSON of its result, and that
// result.
func define[In, Out any](s *Server, t *sdk.Tool, run func(*call, In) (says string, out Out, err error)) {
	t.OutputSchema = resultOf(reflect.TypeFor[Out]())
	s.takes(t.Name, t.InputSchema)
	sdk.AddTool(s.mcp, t, func(ctx context.Context, r *sdk.CallToolRequest, in In) (res *sdk.CallToolResult, out Out, err error) {
		c, err := s.call(ctx, t.Name)
		if err != nil {
			return nil, out, err
		}
		c.request = r
		says := ""
		err = work.Catch(t.Name, func() (err error) {
			says, out, err = run(c, in)
			return err
		})
		switch {
		case c.ask != nil:
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{t.Name: c.ask}}, out, nil
		case err != nil:
			return nil, out, c.explain(err)
		case says == "": // the SDK shows the JSON
			return nil, out, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.ToValidUTF8(says, "\uFFFD")}}}, out, nil
	})
}

// schemaOf describes arguments. Unknown ones are ignored.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	s, _ := jsonschema.ForType(t, &jsonschema.ForOptions{IgnoreInvalidTypes: true}) // sdk.AddTool panics if it is nil
	return plain(s)
}

// plain returns a schema that every client takes. SDKs in TypeScript refuse all tools of a server
// for one boolean schema, and Gemini for one list of types. A null argument counts as left out, see
// [lenient]; a result that may be null has no type.
func plain(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	s.AdditionalProperties = nil
	if n := slices.Index(s.Types, "null"); n >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-n], nil
	}
	if s.Type == "" && s.Description == "" {
		s.Description = "any value" // else it becomes the schema true
	}
	plain(s.Items)
	for _, p := range s.Properties {
		plain(p)
	}
	return s
}

// resultOf names the fields of a result. It leaves their types open: an empty list may be null.
func resultOf(t reflect.Type) *jsonschema.Schema {
	all, _ := jsonschema.ForType(t, &jsonschema.ForOptions{IgnoreInvalidTypes: true})
	out := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for name, p := range all.Properties {
		out.Properties[name] = &jsonschema.Schema{Description: cmp.Or(p.Description, p.Type, strings.Join(p.Types, " or "), "any value")}
	}
	return out
}

// fileTool adds the tool of package files.
func (s *Server) fileTool() error {
	info, err := files.Info()
	if err != nil {
		return err
	}
	input, err := info.ToJSONSchema()
	if err != nil {
		return err
	}
	input.AdditionalProperties = nil
	t := &sdk.Tool{Name: info.Name, Description: info.Desc, InputSchema: input, Annotations: changes}
	define(s, t, func(c *call, in files.Command) (says string, out map[string]string, err error) {
		mode := access.Each // core blocks are the agent's, too
		if in.Writes() {
			mode |= access.Write
		}
		err = c.do(mode, func() error {
			says, err = s.cfg.Files.Do(c, c.Scope, &in)
			return err
		})
		return says, map[string]string{"text": says}, err
	})
	return nil
}

// flowTool adds one of ReMe's flows. It may name a workspace or a user, which the key must open.
func (s *Server) flowTool(f flows.Flow) {
	t := &sdk.Tool{Name: f.Name, Description: f.Description, InputSchema: schemaOf(f.Request), Annotations: reads}
	if f.Mode&access.Write != 0 {
		t.Annotations = changes
	}
	define(s, t, func(c *call, _ map[string]any) (says string, r *flows.Response, err error) {
		opened := c.scope
		open := func(want backends.Scope, m access.Mode) (backends.Scope, error) {
			if want.UserID == "" && want.Workspace == "" {
				want = c.scope
			}
			if want.UserID+want.AgentID == "" && m&(access.Whole|access.Program) == 0 { // the person who acts in the workspace
				want.UserID = c.scope.UserID
			}
			want, err := c.key.Open(want, m)
			if opened = want; err == nil && m&(access.Write|access.Whole) == access.Write|access.Whole {
				err = c.agreed("All experience of the workspace " + whose(want) + " will be erased.")
			}
			return want, err
		}
		r, err = s.cfg.Flows.Call(c, f.Name, open, c.scope.Namespace, c.request.Params.Arguments)
		if f.Mode&access.Write != 0 && c.ask == nil {
			c.audit(opened, err)
		}
		if err != nil {
			return "", nil, err
		}
		says, ok := r.Answer.(string)
		if !ok {
			answer, _ := json.Marshal(r.Answer)
			says = string(answer)
		}
		return says, r, nil
	})
}
