// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/toolkit/server/access"
)

// Config configures [Flows]. [New] copies it.
type Config struct {
	// Backend is a *reme.Backend, or a join with one. Required. It stays the caller's to close.
	Backend backends.Backend
	// Model summarises working memory. Optional. Without one it is only compacted.
	Model model.BaseChatModel

	// Folder confines the files of dump, load and working memory. Optional. Without it flows that
	// need files are refused, and the offloaded parts of summary_working_memory are only in its
	// answer. It stays the caller's to close.
	Folder *os.Root
}

// Open authorises a use of a scope, and returns the scope to use, or [backends.ErrDenied]: see
// [access.Key.Open]. A flow calls it before it reads or writes anything, and uses the scope that it
// returns.
type Open func(s backends.Scope, m access.Mode) (backends.Scope, error)

// Flow describes a flow.
type Flow struct {
	Name        string
	Description string
	Request     reflect.Type // a struct with json tags; the server checks that fields without omitempty are present
	Mode        access.Mode  // whether it changes memories or files
	Long        bool         // it calls a model, or may take long otherwise

	call func(c *call, body json.RawMessage) (*Response, error)
}

// Response is ReMe's envelope.
type Response struct {
	Answer   any            `json:"answer"`   // a text, or the messages of working memory
	Success  bool           `json:"success"`  // false: the result is missing or incomplete; Answer or Metadata says why
	Metadata map[string]any `json:"metadata"` // never nil
}

// Flows are ReMe's flows over a backend. They are safe for concurrent use.
type Flows struct {
	cfg    Config
	memory *reme.Backend
	flows  []Flow
	files  sync.Mutex // held while a call writes files
}

// New returns the flows. It returns backends.ErrInvalid for an unusable configuration.
func New(cfg *Config) (*Flows, error) {
	if cfg == nil || cfg.Backend == nil {
		return nil, fmt.Errorf("flows: %w: Config.Backend is required", backends.ErrInvalid)
	}
	memory, ok := backends.As[*reme.Backend](cfg.Backend)
	if !ok {
		return nil, fmt.Errorf("flows: %w: Config.Backend is %T, and holds no *reme.Backend", backends.ErrInvalid, cfg.Backend)
	}
	if err := checkFolder(cfg.Folder); err != nil {
		return nil, fmt.Errorf("flows: %w", err)
	}
	f := &Flows{cfg: *cfg, memory: memory}
	f.define()
	return f, nil
}

// Properties of a flow, beside its name.
const (
	write    = 1 << iota // see Flow.Mode
	long                 // see Flow.Long
	personal             // its subject is a person, whose workspace_id may be a user's
)

// define adds all flows.
func (f *Flows) define() {
	add(f, "retrieve_task_memory", 0, "Finds what was learnt from earlier tasks that resemble the query.",
		func(c *call, in retrieve) (*Response, error) { return c.retrieveTask(in, formatMemories) })
	add(f, "retrieve_task_memory_simple", 0, "Finds what was learnt from earlier tasks, as a list for a prompt.",
		func(c *call, in retrieve) (*Response, error) { return c.retrieveTask(in, mergeMemories) })
	add(f, "summary_task_memory", write|long, "Learns from attempts at tasks, each with its messages and a score from 0 to 1.",
		func(c *call, in summary) (*Response, error) { return c.summaryTask(in, false) })
	add(f, "summary_task_memory_simple", write|long, "Learns from attempts at tasks with one question to the model each, and no judge.",
		func(c *call, in summary) (*Response, error) { return c.summaryTask(in, true) })
	add(f, "record_task_memory", write, "Counts that memories were used, and with update_utility that they helped.", (*call).recordTask)
	add(f, "delete_task_memory", write, "Deletes what was used freq_threshold times, and helped in few of them.", (*call).deleteTask)
	add(f, "retrieve_personal_memory", personal, "Finds what is known about a user.", (*call).retrievePersonal)
	add(f, "summary_personal_memory", personal|write|long, "Learns about a user from what they said.", (*call).summaryPersonal)
	add(f, "add_tool_call_result", write, "Records calls of tools and how they went.", (*call).addTool)
	add(f, "summary_tool_memory", write|long, "Writes the guidelines of tools from their recent calls.", (*call).summaryTool)
	add(f, "retrieve_tool_memory", 0, "Returns guidelines, statistics and recent calls of tools.", (*call).retrieveTool)
	add(f, "vector_store", write|long, "Lists, deletes, copies, dumps and loads the memories of a workspace.", (*call).vectorStore)
	add(f, "summary_working_memory", write|long, "Makes a context smaller: results of tools go to files, older messages into a summary.",
		func(c *call, in working) (*Response, error) { return c.summaryWorking(in, c.cfg.Folder != nil) })
	add(f, "summary_working_memory_for_as", long, "Makes a context smaller, for callers that write the files themselves.",
		func(c *call, in working) (*Response, error) { return c.summaryWorking(in, false) })
	add(f, "grep_working_memory", 0, "Finds the lines of a file of working memory that have a text.", (*call).grepWorking)
	add(f, "read_working_memory", 0, "Reads lines of a file of working memory.", (*call).readWorking)
}

// List returns the flows.
func (f *Flows) List() []Flow { return slices.Clone(f.flows) }

// Call runs a flow. The body is the request, a JSON object. A flow ignores unknown members, as ReMe
// does. Every scope that open gets has the namespace.
//
// Errors: backends.ErrNotFound for an unknown flow, backends.ErrInvalid for an unreadable body, and
// the errors of open and of the backend. The Response is nil beside an error.
func (f *Flows) Call(ctx context.Context, name string, open Open, namespace string, body json.RawMessage) (*Response, error) {
	i := slices.IndexFunc(f.flows, func(w Flow) bool { return w.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("flows: %w: no flow is named %.80q", backends.ErrNotFound, name)
	}
	r, err := f.flows[i].call(&call{Context: ctx, Flows: f, open: open, namespace: namespace}, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// call is one call of a flow.
type call struct {
	context.Context
	*Flows
	open      Open
	namespace string
	scope     backends.Scope // of the request, after Open
}

// owner is the part of a request that names the owner of the memory.
type owner struct {
	WorkspaceID string `json:"workspace_id,omitempty"`
	UserID      string `json:"user_id,omitempty" jsonschema:"whose personal memory; in place of a workspace"`
}

// scope returns the scope of a request. ReMe's clients have a workspace for each user, so that of
// personal memory is a user, where the caller opens that user.
func (o owner) scope(ofPerson bool) backends.Scope {
	if ofPerson || o.UserID != "" {
		return backends.Scope{UserID: cmp.Or(o.UserID, o.WorkspaceID)}
	}
	return backends.Scope{Workspace: o.WorkspaceID}
}

// request is implemented by all requests: they name a scope.
type request interface {
	scope(ofPerson bool) backends.Scope
}

// add adds a flow whose request is an In. Its scope is open when serve runs.
func add[In request](f *Flows, name string, is int, does string, serve func(c *call, in In) (*Response, error)) {
	flow := Flow{Name: name, Description: does, Request: reflect.TypeFor[In](), Long: is&long != 0}
	if is&write != 0 {
		flow.Mode = access.Write
	}
	flow.call = func(c *call, body json.RawMessage) (*Response, error) {
		var in In
		if d, ok := any(&in).(interface{ defaults() }); ok {
			d.defaults()
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber() // numbers of any type stay as written
		if err := d.Decode(&in); err != nil {
			return nil, fmt.Errorf("%w: the request: %w", backends.ErrInvalid, err)
		}
		s := in.scope(is&personal != 0)
		s.Namespace = c.namespace
		var err error
		c.scope, err = c.open(s, flow.Mode)
		if w := in.scope(false); errors.Is(err, backends.ErrDenied) && w.Workspace != "" && s.Workspace == "" {
			w.Namespace = c.namespace
			c.scope, err = c.open(w, flow.Mode) // no user of that name: the caller's own, in that workspace
		}
		if err == nil && flow.Mode&access.Write != 0 {
			c.Context, err = c.memory.Begin(c.Context, c.scope)
		}
		if err != nil {
			return nil, err
		}
		return serve(c, in)
	}
	f.flows = append(f.flows, flow)
}

// reply returns the response of a flow that succeeded.
func reply(answer any, metadata map[string]any) (*Response, error) {
	return &Response{Answer: answer, Success: true, Metadata: metadata}, nil
}

// refuse returns the response of a flow whose subject is missing.
func refuse(answer string, metadata map[string]any) (*Response, error) {
	return &Response{Answer: answer, Metadata: metadata}, nil
}
