// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package agenttool makes the tools that an agent calls: a schema from a struct, arguments read
// as models send them, the scope looked up at each call, and errors as text for the model.
package agenttool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Bounds in characters, so that one call never fills a context.
const (
	MaxResultRunes = 32_000
	MaxErrorRunes  = 600
)

// Kit is shared by the tools that one call of its owner makes. It is immutable once they are made.
type Kit struct {
	backends.ToolSetup
	Texts  map[string]Text   // By the tools' own names.
	Advice Text              // Advice about an error, if the tool's own text lacks it.
	Names  map[string]string // Other names for tools, by their own.
	// Judged reports whether a backend decides what is invalid. Else that is the model's own
	// mistake, and goes unreported.
	Judged bool

	fixed *phrases
	tools []tool.BaseTool
	err   error
}

// Init fills the empty fields of s, and returns ErrInvalid for an unusable setup.
func (k *Kit) Init() error {
	if k.Scope == nil {
		return fmt.Errorf("no Scope: %w: pass a function that says whose memory a call is about", backends.ErrInvalid)
	}
	if err := k.Language.Validate(); err != nil {
		return err
	}
	if k.fixed = &english; k.Language == backends.Chinese {
		k.fixed = &chinese
	}
	k.Timeout = cmp.Or(k.Timeout, 10*time.Second)
	if k.Private == nil {
		k.Private = backends.IsIncognito
	}
	return nil
}

// Tools returns the tools that were defined, or the first error of defining them.
func (k *Kit) Tools() ([]tool.BaseTool, error) { return slices.Clip(k.tools), k.err }

// Spec says how a tool is called.
type Spec struct {
	Name     string         // Its own name.
	Defaults map[string]any // Of its arguments, for the schema.
	Writes   bool           // It writes the model's words: refused in a private turn.
	Asks     bool           // It may ask Confirm, and is exempt from Timeout if that is set.
	Slow     bool           // It may ask a model, and is exempt from Timeout.
}

// Define adds a tool. Its arguments are a struct, whose fields are described by name. Errors of
// run become text for the model. Define returns the description, so that more can be added.
func Define[Arguments any](k *Kit, s Spec, run func(ctx context.Context, s backends.Scope, a *Arguments) (string, error)) *schema.ToolInfo {
	t := k.Renamed(k.Texts[s.Name])
	info, err := utils.GoStruct2ToolInfo[Arguments](k.Name(s.Name), t.desc())
	if err == nil {
		err = describe(info, t, s.Defaults)
	}
	if err != nil {
		k.err = errors.Join(k.err, fmt.Errorf("describing %s: %w", s.Name, err))
		return info
	}
	handler := func(ctx context.Context, arguments string) (string, error) {
		a := new(Arguments)
		missing, err := decode(arguments, a)
		switch {
		case err != nil:
			return "", Refusef(k.fixed.unreadable, k.Name(s.Name), text.Truncate(err.Error(), MaxErrorRunes))
		case missing != "":
			return "", k.Missing(s.Name, missing)
		case s.Writes && k.Private(ctx):
			return "", Refusal(k.fixed.private)
		}
		scope, err := k.scope(ctx)
		if err != nil {
			k.Report(ctx, s.Name, err)
			return "", Refusal(k.Failure(s.Name, err))
		}
		if k.Begin != nil {
			ctx = k.Begin(ctx, scope)
		}
		if k.Timeout > 0 && !s.Slow && (k.Confirm == nil || !s.Asks) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, k.Timeout)
			defer cancel()
		}
		return run(ctx, scope, a)
	}
	k.tools = append(k.tools, &einox.Tool{
		About: info, Run: handler, Failed: func(ctx context.Context, err error) string { return k.failed(ctx, s.Name, err) },
	})
	return info
}

// ConfirmAs returns Confirm for a call of a tool, or nil.
func (k *Kit) ConfirmAs(name string) backends.Confirm {
	if k.Confirm == nil {
		return nil
	}
	return func(ctx context.Context, c backends.Change) (bool, error) {
		c.Tool = k.Name(name)
		return k.Confirm(ctx, c)
	}
}

// describe completes the parameters that follow from a struct.
func describe(info *schema.ToolInfo, t Text, defaults map[string]any) error {
	params, err := info.ToJSONSchema()
	if err != nil {
		return err
	}
	for p := params.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = t.Line(p.Key)
		if v, ok := defaults[p.Key]; ok {
			p.Value.Default = v
		}
	}
	return nil
}

// Refusal is an error of the model's own making, written for the model: it is shown as it is,
// and goes unreported.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// Refusef formats a Refusal, as valid UTF-8 whatever the arguments hold.
func Refusef(format string, args ...any) error {
	return Refusal(strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD"))
}

// Missing refuses a call that lacks an argument.
func (k *Kit) Missing(tool, argument string) error {
	return Refusef(k.fixed.missing, argument, k.Renamed(k.Texts[tool]).Line(argument))
}

// failed returns the text of an error for the model, and reports the error. Errors of the model's
// own making go unreported: an unknown id, or invalid arguments if no backend judges them.
func (k *Kit) failed(ctx context.Context, name string, err error) string {
	var r Refusal
	switch {
	case errors.As(err, &r):
		return string(r)
	case errors.Is(err, backends.ErrDeclined):
		return k.fixed.declined
	}
	own := errors.Is(err, backends.ErrNotFound) || errors.Is(err, backends.ErrInvalid) && !k.Judged
	if !own && ctx.Err() == nil {
		k.Report(ctx, name, err)
	}
	return k.Failure(name, err)
}

// Failure returns the text of a tool's error for the model: the failure, and the next step.
func (k *Kit) Failure(name string, err error) string {
	t, general := k.Renamed(k.Texts[name]), k.Renamed(k.Advice)
	advice := ""
	for _, sort := range []error{backends.ErrNoScope, backends.ErrNotFound, backends.ErrConflict, backends.ErrInvalid, backends.ErrModel} {
		if errors.Is(err, sort) {
			advice = cmp.Or(t.Line(sort.Error()), general.Line(sort.Error()))
			break
		}
	}
	if advice == "" {
		advice = cmp.Or(t.Line("unavailable"), general.Line("unavailable"))
	}
	message := t.Line("error") + ": " + text.Truncate(err.Error(), MaxErrorRunes) + "\n" + advice
	return strings.ToValidUTF8(message, "\uFFFD")
}

// Name returns the name that a tool has.
func (k *Kit) Name(own string) string { return cmp.Or(k.Names[own], own) }

// Renamed returns a text with the names that the tools have.
func (k *Kit) Renamed(t Text) Text { return Text(text.Rename(string(t), k.Names)) }

// Report reports a failure of a tool.
func (k *Kit) Report(ctx context.Context, tool string, err error) {
	work.Report(ctx, k.OnError, k.Name(tool), err)
}

// scope returns the scope of a call's memory, or ErrNoScope if it is unknown.
func (k *Kit) scope(ctx context.Context) (backends.Scope, error) {
	s, err := k.Scope(ctx)
	if err != nil {
		return backends.Scope{}, err
	}
	if s, err = s.Normalize(); err != nil {
		return backends.Scope{}, err
	}
	if s.IsZero() {
		return backends.Scope{}, fmt.Errorf("%w: nothing says whose memory this is", backends.ErrNoScope)
	}
	return s, nil
}

// CallKey names a tool call, so that a resumed run may repeat it; "" outside a run. Models that
// number their calls from the start in each run use an id again. So session and arguments are
// part of the key, and the user too, because a block may have many users.
func CallKey(ctx context.Context, s backends.Scope, name string, arguments ...string) string {
	id := compose.GetToolCallID(ctx)
	if id == "" {
		return ""
	}
	return name + "/" + text.HashID(append([]string{s.UserID, s.AgentID, s.SessionID, id}, arguments...)...)
}
