// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit"
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
	var err error
	if has("memory") {
		err = s.memoryTools()
	}
	if has("session") && access.WindowOf(s.cfg.Memory) != nil {
		err = errors.Join(err,
			tool(s, grepTool, reads, "Search all that was said in this connection's session, also what left the context.", grep),
			tool(s, readTool, reads, "Read what was said in this connection's session again, in pages.", read))
	}
	switch {
	case has("reme") && s.cfg.Flows == nil, has("files") && s.cfg.Files == nil:
		return fmt.Errorf("Config.Tools: %w: files and reme need Config.Files and Config.Flows", backends.ErrInvalid)
	case has("reme"):
		for _, f := range s.cfg.Flows.List() {
			if !has("session") || f.Name != grepTool && f.Name != readTool {
				err = errors.Join(err, s.flowTool(f))
			}
		}
	}
	if has("files") {
		err = errors.Join(err, s.fileTool())
	}
	return err
}

// memoryTools adds the tools of long-term memory. Some come from package toolkit, with the same
// arguments, descriptions and results as an agent has.
func (s *Server) memoryTools() error {
	backend := s.cfg.Memory.Backend()
	manager, manages := backends.As[backends.Manager](backend)
	if manages {
		backend = managed{backend, manager}
	}
	kit, err := toolkit.New(context.Background(), &toolkit.Config{
		Backend: backend, Update: manages,
		ToolSetup: backends.ToolSetup{
			Scope: func(ctx context.Context) (backends.Scope, error) { return callOf(ctx).Scope, nil }, OnError: s.cfg.OnError,
		},
		Search: func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
			c := callOf(ctx)
			resp, err := c.Search(ctx, r)
			if err != nil {
				err = agenttool.Refusal(c.explain(err).Error())
			}
			return resp, err
		},
	})
	if err != nil {
		return err
	}
	for _, t := range kit {
		err = errors.Join(err, s.agentTool(t.(*einox.Tool)))
	}
	err = errors.Join(err, tool(s, "forget", erases, "Erase everything that is remembered of this user. It cannot be undone. The user is asked first.", forget))
	if manages {
		err = errors.Join(err,
			tool(s, "list_memories", reads, "List memories in the order in which they were stored, in pages.", list),
			tool(s, "memory_history", reads, "Show what happened to one memory: its former texts, and what replaced what.", history),
			tool(s, "delete_memory", changes, "Delete one memory. Use it only when the user asks for it.", remove))
	}
	return err
}

// managed is a backend that manages single memories, itself or by a part of it.
type managed struct {
	backends.Backend
	backends.Manager
}

// Used implements backends.UseCounter. A key that only reads changes no counter.
func (m managed) Used(ctx context.Context, s backends.Scope, hits []backends.Hit) {
	if c, ok := backends.As[backends.UseCounter](m.Backend); ok && callOf(ctx).key.Write {
		c.Used(ctx, s, hits)
	}
}

// callOf returns the call in which a tool of package toolkit runs.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

type callKey struct{}

// agentTool adds a tool of package toolkit, which reads its arguments itself. Its result is a text.
func (s *Server) agentTool(t *einox.Tool) error {
	input, err := t.About.ToJSONSchema()
	if err != nil {
		return err
	}
	input.AdditionalProperties = nil
	does := map[string]*sdk.ToolAnnotations{toolkit.SearchMemory: reads, toolkit.AddMemory: adds, toolkit.UpdateMemory: changes}[t.About.Name]
	s.serve(&sdk.Tool{Name: t.About.Name, Description: t.About.Desc, InputSchema: input, Annotations: does}, func(c *call) (says string, _ any, err error) {
		err = c.do(modes[does], func() (err error) {
			says, err = t.Run(context.WithValue(c, callKey{}, c), string(c.request.Params.Arguments))
			return err
		})
		return says, nil, err
	})
	return nil
}

// tool adds a tool of the connection's own scope. Its arguments are an In, and its result an Out,
// shown as JSON unless run returns a text.
func tool[In, Out any](s *Server, name string, does *sdk.ToolAnnotations, description string, run func(*call, In) (string, Out, error)) error {
	t := &sdk.Tool{Name: name, Description: description, InputSchema: schemaOf(reflect.TypeFor[In]()), Annotations: does}
	return define(s, t, func(c *call, in In) (says string, out Out, err error) {
		err = c.do(modes[does], func() error {
			says, out, err = run(c, in)
			return err
		})
		return says, out, err
	})
}

// define adds a tool that takes arguments as hosts send them: see [arguments]. run returns the text
// for models, or "" for the JSON of its result, and that result.
func define[In, Out any](s *Server, t *sdk.Tool, run func(*call, In) (says string, out Out, err error)) error {
	takes, err := argumentsOf(t.InputSchema)
	if err != nil {
		return err
	}
	t.InputSchema = show("", takes.schema.CloneSchemas())
	t.OutputSchema = resultOf(reflect.TypeFor[Out]())
	s.serve(t, func(c *call) (says string, out any, err error) {
		var in In
		if err = takes.read(c.request.Params.Arguments, &in); err == nil {
			says, out, err = run(c, in)
		}
		return says, out, err
	})
	return nil
}

// serve adds a tool. run returns its text for models, and its result, or nil.
func (s *Server) serve(t *sdk.Tool, run func(*call) (says string, out any, err error)) {
	s.mcp.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c, err := s.call(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		c.request = r
		var says string
		var out any
		err = work.Catch(t.Name, func() (err error) {
			says, out, err = run(c)
			return err
		})
		switch {
		case c.ask != nil:
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{t.Name: c.ask}}, nil
		case err != nil:
			return &sdk.CallToolResult{Content: textOf(c.explain(err).Error()), IsError: true}, nil
		case says == "" && out != nil:
			encoded, err := json.Marshal(out)
			return &sdk.CallToolResult{Content: textOf(string(encoded)), StructuredContent: out}, err
		}
		return &sdk.CallToolResult{Content: textOf(says), StructuredContent: out}, nil
	})
}

func textOf(says string) []sdk.Content {
	return []sdk.Content{&sdk.TextContent{Text: strings.ToValidUTF8(says, "\uFFFD")}}
}

// schemaOf describes arguments. Unknown ones are ignored.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	s, _ := jsonschema.ForType(t, &jsonschema.ForOptions{IgnoreInvalidTypes: true}) // nil: argumentsOf returns an error
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
	t := &sdk.Tool{Name: info.Name, Description: info.Desc, InputSchema: input, Annotations: changes}
	return define(s, t, func(c *call, in files.Command) (says string, out map[string]string, err error) {
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
}

// flowTool adds one of ReMe's flows. It may name a workspace or a user, which the key must open.
func (s *Server) flowTool(f flows.Flow) error {
	t := &sdk.Tool{Name: f.Name, Description: f.Description, InputSchema: schemaOf(f.Request), Annotations: reads}
	if f.Mode&access.Write != 0 {
		t.Annotations = changes
	}
	return define(s, t, func(c *call, in json.RawMessage) (says string, r *flows.Response, err error) {
		opened := c.scope
		open := func(want backends.Scope, m access.Mode) (backends.Scope, error) {
			if want.UserID == "" && want.Workspace == "" {
				want = c.unnamed(m)
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
		r, err = s.cfg.Flows.Call(c, f.Name, open, c.scope.Namespace, in)
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

// unnamed returns the scope of a flow that names none: the connection's, in the workspace "default"
// if it has no other, as for ReMe's clients, where the key opens that.
func (c *call) unnamed(m access.Mode) backends.Scope {
	s := c.scope
	s.Workspace = cmp.Or(s.Workspace, "default")
	if _, err := c.key.Open(s, m); err != nil {
		return c.scope
	}
	return s
}
