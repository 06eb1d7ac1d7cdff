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
	// Model summarises working memory. Optional: without one it is compacted alone.
	Model model.BaseChatModel

	// Folder confines the files of dump and load and those of working memory. Optional:
	// without it flows that need files are refused, and what summary_working_memory offloads
	// is in its answer alone. It stays the caller's to close.
	Folder *os.Root
	// Namespace is the one whose workspaces are dumped to Folder and loaded from it: their
	// files have the name of the workspace. Optional. Defaults to backends.DefaultNamespace.
	Namespace string

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
	cfg    Config
	memory *reme.Backend
	flows  []Flow
}

// New returns the flows, or backends.ErrInvalid for a configuration that cannot work.
func New(cfg *Config) (*Flows, error) {
	if cfg == nil || cfg.Backend == nil {
		return nil, fmt.Errorf("flows: %w: Config.Backend is required", backends.ErrInvalid)
	}
	memory, ok := backends.As[*reme.Backend](cfg.Backend)
	if !ok {
		return nil, fmt.Errorf("flows: %w: Config.Backend is %T, and holds no *reme.Backend", backends.ErrInvalid, cfg.Backend)
	}
	f := &Flows{cfg: *cfg, memory: memory}
	if f.cfg.Namespace == "" {
		f.cfg.Namespace = backends.DefaultNamespace
	}
	if f.cfg.Clock == nil {
		f.cfg.Clock = backends.SystemClock
	}
	f.taskFlows()
	f.personalFlows()
	f.toolFlows()
	f.libraryFlows()
	f.workingFlows()
	return f, nil
}

// List returns the flows.
func (f *Flows) List() []Flow { return slices.Clone(f.flows) }

// Call runs a flow. The body is the request as JSON; nil is an empty one. Members that a flow
// does not know are ignored, as ReMe does. The namespace is that of every scope that open is
// asked for.
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
	return r, nil
}

// call is one call of a flow.
type call struct {
	context.Context
	*Flows
	open      Open
	namespace string
	scope     backends.Scope // of the request, opened
}

// request is what all requests are: they name a scope.
type request interface{ scope() backends.Scope }

// workspace is the part of a request that names a workspace.
type workspace struct {
	WorkspaceID string `json:"workspace_id,omitempty"`
}

func (w workspace) scope() backends.Scope { return backends.Scope{Workspace: w.WorkspaceID} }

// define adds a flow whose request is an In. Its scope is open when serve is called.
func define[In request](f *Flows, flow Flow, serve func(c *call, in In) (*Response, error)) {
	flow.Request = reflect.TypeFor[In]()
	flow.call = func(c *call, body json.RawMessage) (*Response, error) {
		var in In
		err := decode(body, reflect.ValueOf(&in))
		if err == nil {
			s := in.scope()
			s.Namespace = c.namespace
			c.scope, err = c.open(s, flow.Write)
		}
		if err != nil {
			return nil, err
		}
		return serve(c, in)
	}
	f.flows = append(f.flows, flow)
}

// most is how many elements a list of a request may have.
const most = 10_000

// decode reads a request. Numbers in values of any type stay as they were written.
func decode(body json.RawMessage, in reflect.Value) error {
	if len(bytes.TrimSpace(body)) == 0 {
		body = json.RawMessage("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return fmt.Errorf("%w: the request is no JSON object: %w", backends.ErrInvalid, err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	wrong, missing := d.Decode(in.Interface()), &MissingError{}
	for name := range required(in.Elem().Type()) {
		if _, ok := members[name]; !ok {
			missing.Fields = append(missing.Fields, name)
		}
	}
	for _, field := range reflect.VisibleFields(in.Elem().Type()) {
		if v := in.Elem().FieldByIndex(field.Index); v.Kind() == reflect.Slice && v.Len() > most {
			wrong = fmt.Errorf("%s has %d elements, at most %d are allowed", field.Name, v.Len(), most)
		}
	}
	if len(missing.Fields) > 0 {
		slices.Sort(missing.Fields)
		return missing
	}
	if wrong != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, wrong)
	}
	return nil
}

// required returns the required fields of a request.
func required(t reflect.Type) map[string]reflect.Kind {
	out := map[string]reflect.Kind{}
	for _, field := range reflect.VisibleFields(t) {
		if name := field.Tag.Get("json"); name != "" && !strings.Contains(name, ",") {
			out[name] = field.Type.Kind()
		}
	}
	return out
}

// reply returns the response of a flow that did what was asked for.
func reply(answer any, metadata map[string]any) (*Response, error) {
	return &Response{Answer: answer, Success: true, Metadata: metadata}, nil
}

// refuse returns the response of a flow that found nothing to do it with.
func refuse(answer string, metadata map[string]any) (*Response, error) {
	r, err := reply(answer, metadata)
	r.Success = false
	return r, err
}
