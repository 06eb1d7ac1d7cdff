// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
)

// Config configures [Flows]. It is copied by New.
type Config struct {
	// Backend is a *reme.Backend, or one that was joined from one. Required. It stays the
	// caller's to close.
	Backend backends.Backend
	// Model summarises working memory, and is the agent of agentic_retrieve and react, which
	// need a model.ToolCallingChatModel. Optional: without one these two fail, and working
	// memory is compacted alone.
	Model model.BaseChatModel

	// Folder confines the files of dump and load and those of working memory. Optional:
	// without it dump, load, grep and read are refused, and what working memory offloads is
	// in the answer alone. It stays the caller's to close.
	Folder *os.Root
	// Namespace is the one whose workspaces are dumped to Folder and loaded from it: their
	// files have the name of the workspace. Optional. Defaults to backends.DefaultNamespace.
	Namespace string
	// Workspace takes the place of a workspace_id that is absent or empty, as ReMe's MCP clients
	// leave it. Optional. By default Open is asked for a scope without a workspace.
	Workspace string

	Clock backends.Clock // Optional. Defaults to backends.SystemClock.
}

// Open authorises a scope for reading, or where write is set for writing, and returns it
// normalised, or [backends.ErrDenied]. A flow asks it before it reads or writes anything, and
// goes by what it returns.
type Open func(s backends.Scope, write bool) (backends.Scope, error)

// Flow describes a flow.
type Flow struct {
	Name        string
	Description string
	Request     reflect.Type // a struct with json tags; a field without omitempty is required
	Write       bool         // it changes memories or files
	Long        bool         // it asks a model, or may take long otherwise

	call func(c *call, body json.RawMessage) (*Response, error)
}

// Response is ReMe's envelope.
type Response struct {
	Answer   any            `json:"answer"`   // a text, or the messages of working memory
	Success  bool           `json:"success"`  // false: what was asked for is not there, or was not done wholly; Answer or Metadata says why
	Metadata map[string]any `json:"metadata"` // never nil
}

// MissingError names the required fields that a request lacks. It is also
// [backends.ErrInvalid].
type MissingError struct{ Fields []string }

// Error implements error.
func (e *MissingError) Error() string { return "missing: " + strings.Join(e.Fields, ", ") }

// Unwrap returns backends.ErrInvalid.
func (e *MissingError) Unwrap() error { return backends.ErrInvalid }

// Flows are ReMe's flows over a backend. They are safe for concurrent use.
type Flows struct {
	cfg     Config
	memory  *reme.Backend
	manager backends.Manager
	flows   []Flow
}

// New returns the flows, or backends.ErrInvalid for a configuration that cannot work.
func New(cfg *Config) (*Flows, error) {
	if cfg == nil || cfg.Backend == nil {
		return nil, fmt.Errorf("flows: %w: Config.Backend is required", backends.ErrInvalid)
	}
	f := &Flows{cfg: *cfg}
	var ok bool
	if f.memory, ok = backends.As[*reme.Backend](cfg.Backend); !ok {
		return nil, fmt.Errorf("flows: %w: Config.Backend is %T, and holds no *reme.Backend", backends.ErrInvalid, cfg.Backend)
	}
	f.manager, _ = backends.As[backends.Manager](f.memory)
	if f.cfg.Namespace == "" {
		f.cfg.Namespace = backends.DefaultNamespace
	}
	if f.cfg.Clock == nil {
		f.cfg.Clock = backends.SystemClock
	}
	f.taskFlows()
	f.personalFlows()
	f.toolFlows()
	return f, nil
}

// List returns the flows in the order of ReMe's documents.
func (f *Flows) List() []Flow { return slices.Clone(f.flows) }

// Call runs a flow. The body is the request as JSON; nil is an empty one. Members that a flow
// does not know are ignored, as ReMe does. The namespace is that of every scope that open is asked for.
//
// Errors: backends.ErrNotFound for an unknown flow, a [*MissingError], backends.ErrInvalid for
// a body that cannot be read, those of open and of the backend. No Response comes with an
// error.
func (f *Flows) Call(ctx context.Context, name string, open Open, namespace string, body json.RawMessage) (*Response, error) {
	i := slices.IndexFunc(f.flows, func(w Flow) bool { return w.Name == name })
	switch {
	case i < 0:
		return nil, fmt.Errorf("flows: %w: no flow is named %.80q", backends.ErrNotFound, name)
	case open == nil:
		return nil, fmt.Errorf("flows: %w: a call needs an Open", backends.ErrDenied)
	}
	r, err := f.flows[i].call(&call{Context: ctx, Flows: f, open: open, namespace: namespace}, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Answer == nil {
		r.Answer = ""
	}
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	return r, nil
}

// call is one call of a flow.
type call struct {
	context.Context
	*Flows
	open      Open
	namespace string
}

// workspace opens the workspace of a request.
func (c *call) workspace(id string, write bool) (backends.Scope, error) {
	if id == "" {
		id = c.cfg.Workspace
	}
	return c.open(backends.Scope{Namespace: c.namespace, Workspace: id}, write)
}

// define adds a flow whose request is an In.
func define[In any](f *Flows, flow Flow, serve func(c *call, in *In) (*Response, error)) {
	flow.Request = reflect.TypeFor[In]()
	flow.call = func(c *call, body json.RawMessage) (*Response, error) {
		in := new(In)
		if err := decode(body, in, flow.Request); err != nil {
			return nil, err
		}
		return serve(c, in)
	}
	f.flows = append(f.flows, flow)
}

// decode reads a request. Numbers in values of any type stay as they were written.
func decode(body json.RawMessage, in any, t reflect.Type) error {
	if len(bytes.TrimSpace(body)) == 0 {
		body = json.RawMessage("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return fmt.Errorf("%w: the request is no JSON object: %w", backends.ErrInvalid, err)
	}
	var missing []string
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, ok := members[name]; !ok && name != "" && options != "omitempty" {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return &MissingError{missing}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(in); err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	return nil
}

// most is how many trajectories, tools, calls, ids or memories a request may have, and
// mostMessages how many messages.
const (
	most         = 1000
	mostMessages = 10_000
)

// bounded returns an error for a request with more than limit of something.
func bounded(what string, n, limit int) error {
	if n > limit {
		return fmt.Errorf("%w: %d %s: at most %d in a request", backends.ErrInvalid, n, what, limit)
	}
	return nil
}

// topK returns how many memories are wanted: 3 by default, as in ReMe.
func topK(n int) (int, error) {
	switch {
	case n == 0:
		return 3, nil
	case n < 0 || n > most:
		return 0, fmt.Errorf("%w: top_k %d: 1 to %d", backends.ErrInvalid, n, most)
	}
	return n, nil
}

// updated is what ReMe says of its writes.
func updated(deleted, inserted int) map[string]any {
	return map[string]any{"deleted_count": deleted, "inserted_count": inserted}
}
