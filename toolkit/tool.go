// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// What a result may hold, so that one call never fills a context: in characters.
const (
	maxMemoryRunes = 2000
	maxResultRunes = 32_000
	maxErrorRunes  = 600
)

// define adds the tool with that name to the kit. Its arguments are an Arguments, whose
// fields are described and get their defaults by name, and none of its errors ends a
// run. It is run for the scope of the call, and for no longer than Config.Timeout. It
// returns the description, for what is to be added to it.
func define[Arguments any](k *kit, name string, defaults map[string]any, run func(ctx context.Context, s backends.Scope, a *Arguments) (string, error)) *schema.ToolInfo {
	t := k.renamed(k.text.tools[name])
	info, err := utils.GoStruct2ToolInfo[Arguments](k.name(name), t.desc())
	if err == nil {
		err = describe(info, t, defaults)
	}
	if err != nil {
		k.err = errors.Join(k.err, fmt.Errorf("describing %s: %w", name, err))
		return info
	}
	handler := func(ctx context.Context, arguments string) (string, error) {
		a := new(Arguments)
		missing, err := decode(arguments, a)
		switch {
		case err != nil:
			return "", refusef(k.text.unreadable, k.name(name), text.Truncate(err.Error(), maxErrorRunes))
		case missing != "":
			return "", refusef(k.text.missing, missing, t.line(missing))
		case slices.Contains(writing, name) && k.Private(ctx):
			return "", refusal(k.text.private)
		}
		scope, err := k.scope(ctx)
		if err != nil {
			k.report(ctx, name, err)
			return "", refusal(k.failure(name, err))
		}
		if k.Begin != nil {
			ctx = k.Begin(ctx, scope)
		}
		asks := k.Confirm != nil && (name == DeleteMemory || name == ForgetMemory || slices.Contains(writing, name))
		if k.Timeout > 0 && name != AddMemory && !asks {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, k.Timeout)
			defer cancel()
		}
		return run(ctx, scope, a)
	}
	k.tools = append(k.tools, &einox.Tool{
		About: info, Run: handler, Failed: func(ctx context.Context, err error) string { return k.failed(ctx, name, err) },
	})
	return info
}

// writing are the tools that write down what a model says.
var writing = []string{AddMemory, UpdateMemory, CoreMemoryAppend, CoreMemoryReplace}

// confirm returns Config.Confirm for a call of a tool, nil where there is none.
func (k *kit) confirm(tool string) backends.Confirm {
	if k.Confirm == nil {
		return nil
	}
	return func(ctx context.Context, c backends.Change) (bool, error) {
		c.Tool = k.name(tool)
		return k.Confirm(ctx, c)
	}
}

// describe completes the parameters that follow from a struct.
func describe(info *schema.ToolInfo, t toolText, defaults map[string]any) error {
	params, err := info.ToJSONSchema()
	if err != nil {
		return err
	}
	for p := params.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = t.line(p.Key)
		if v, ok := defaults[p.Key]; ok {
			p.Value.Default = v
		}
	}
	return nil
}

// refusal is an error of the model's own making, written for the model: it is shown as
// it is, and not reported.
type refusal string

func (r refusal) Error() string { return string(r) }

// refusef formats a refusal. What it repeats of the arguments need not be valid UTF-8;
// the text is.
func refusef(format string, args ...any) error {
	return refusal(strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD"))
}

// failed returns what the model reads of an error, and reports it, unless the model made it: by
// an id that there is not, or by what is invalid where no backend has a say.
func (k *kit) failed(ctx context.Context, name string, err error) string {
	var r refusal
	switch {
	case errors.As(err, &r):
		return string(r)
	case errors.Is(err, backends.ErrDeclined):
		return k.text.declined
	}
	own := errors.Is(err, backends.ErrNotFound) || errors.Is(err, backends.ErrInvalid) && !slices.Contains(longTerm, name)
	if !own && ctx.Err() == nil {
		k.report(ctx, name, err)
	}
	return k.failure(name, err)
}

// failure returns what the model reads of an error of a tool: what happened, and what to do now.
func (k *kit) failure(name string, err error) string {
	t, general := k.renamed(k.text.tools[name]), k.renamed(k.text.advice)
	advice := ""
	for _, sort := range []error{backends.ErrNoScope, backends.ErrNotFound, backends.ErrConflict, backends.ErrInvalid, backends.ErrModel} {
		if errors.Is(err, sort) {
			advice = cmp.Or(t.line(sort.Error()), general.line(sort.Error()))
			break
		}
	}
	if advice == "" {
		advice = cmp.Or(t.line("unavailable"), general.line("unavailable"))
	}
	message := t.line("error") + ": " + text.Truncate(err.Error(), maxErrorRunes) + "\n" + advice
	return strings.ToValidUTF8(message, "\uFFFD")
}

// callKey names a tool call, so that a run that is resumed may repeat it; "" outside a
// run. Models that number their calls from the start in each run use an id again: the
// session and the arguments are part of the key, and the user, because a block may be
// many users'.
func callKey(ctx context.Context, s backends.Scope, name string, arguments ...string) string {
	id := compose.GetToolCallID(ctx)
	if id == "" {
		return ""
	}
	return name + "/" + text.HashID(append([]string{s.UserID, s.AgentID, s.SessionID, id}, arguments...)...)
}
