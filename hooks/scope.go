// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/cloudwego/eino/adk"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox/adkx"
	"github.com/einomem/einomem/internal/work"
)

// ResolveScope returns the scope of the work under ctx. Each part comes from the first that has it:
// the run's [WithScopeOption], the context ([backends.WithScope]), the session values user_id,
// agent_id, session_id, workspace and namespace of the Eino run, Config.Scope.
//
// It fails closed: a scope needs a user or a workspace, else it is [backends.ErrNoScope]. An illegal
// part is [backends.ErrInvalid]. Both leave the run without memory. With Config.AgentMemory an agent
// is enough. Else the agent counts only beside a user, so that people whose id is missing keep apart
// from its memory. A run with a workspace alone finds experience, and records no turns.
func (h *Hooks) ResolveScope(ctx context.Context) (backends.Scope, error) {
	if err, ok := ctx.Value(badScope{}).(error); ok {
		return backends.Scope{}, err
	}
	session, err := sessionScope(adk.GetSessionValues(ctx))
	if err != nil {
		return backends.Scope{}, err
	}
	s, _ := backends.ScopeFrom(ctx)
	s, err = s.Or(session).Or(h.cfg.Scope).Normalize()
	if err != nil {
		return backends.Scope{}, err
	}
	if s.UserID == "" && !h.cfg.AgentMemory {
		s.AgentID = ""
	}
	if s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		return backends.Scope{}, fmt.Errorf("memory: %w: give a user id by WithScope, by the session value \"user_id\" or in the configuration; set Config.AgentMemory for an agent's own memory", backends.ErrNoScope)
	}
	return s, nil
}

// quietScope is ResolveScope that returns the zero scope for a failure, for callers that have
// reported it or may ignore it. Session values are other programs' code, which may panic.
func (h *Hooks) quietScope(ctx context.Context) (s backends.Scope) {
	_ = work.Catch("scope", func() (err error) {
		s, err = h.ResolveScope(ctx)
		return err
	})
	return s
}

// badScope is the context's key for the error of an unreadable scope in a run's options.
type badScope struct{}

type runOptions struct{ scope backends.Scope }

// WithScopeOption names the scope of one run through a [Runner]. Its parts come before the ones of
// the context and of the session values.
func WithScopeOption(s backends.Scope) adk.AgentRunOption {
	return adk.WrapImplSpecificOptFn(func(o *runOptions) { o.scope = s })
}

// withOptions puts the scope of the run's options into the context: the explicit one
// first, then the context's own, then the session values.
func (h *Hooks) withOptions(ctx context.Context, opts []adk.AgentRunOption) context.Context {
	if len(opts) == 0 {
		return ctx
	}
	given := adk.GetImplSpecificOptions[runOptions](nil, opts...).scope
	carried, _ := backends.ScopeFrom(ctx)
	var session backends.Scope
	err := work.Catch("session values", func() (err error) {
		values := adkx.SessionValues(ctx, opts)
		if zone := values[timeZone]; zone != nil {
			ctx = context.WithValue(ctx, zoneKey{}, zone)
		}
		session, err = sessionScope(values)
		return err
	})
	if err != nil {
		return context.WithValue(ctx, badScope{}, fmt.Errorf("memory: %w", err))
	}
	if s := given.Or(carried).Or(session); !s.IsZero() {
		ctx = backends.WithScope(ctx, s)
	}
	return ctx
}

// sessionScope reads a scope from the session values of a run.
func sessionScope(values map[string]any) (s backends.Scope, err error) {
	for _, part := range []struct {
		key   string
		field *string
	}{{"user_id", &s.UserID}, {"agent_id", &s.AgentID}, {"session_id", &s.SessionID}, {"workspace", &s.Workspace}, {"namespace", &s.Namespace}} {
		if v := values[part.key]; v != nil {
			if *part.field, err = scopeText(v); err != nil {
				return backends.Scope{}, fmt.Errorf("session value %q: %w", part.key, err)
			}
		}
	}
	return s, nil
}

// scopeText takes texts, and numbers as databases make them. It refuses anything else, instead of
// printing it: an address or a struct is no id.
func scopeText(v any) (string, error) {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String(), nil
	}
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.String:
		return r.String(), nil
	case r.CanInt(), r.CanUint():
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("%w: a %T is no id: use a string", backends.ErrInvalid, v)
}

// timeZone is the name of a person's zone among the session values of a run, and in the metadata
// of a standing memory.
const timeZone = "time_zone"

// zoneKey is the context's key for the zone of a wrapped run.
type zoneKey struct{}

// zoneOf returns the zone of the person for whom a run is made: its session value "time_zone", else
// that of a standing memory, else Config.Location. It reports the name of an unknown zone once.
func (h *Hooks) zoneOf(ctx context.Context, standing []backends.Hit) *time.Location {
	name := ctx.Value(zoneKey{})
	h.guard(ctx, StageZone, func() {
		if v := adk.GetSessionValues(ctx)[timeZone]; v != nil {
			name = v
		}
	})
	for i := range standing {
		if name == nil {
			name = standing[i].Metadata[timeZone]
		}
	}
	if name == nil || name == "" {
		return h.cfg.Location
	}
	zone, err := loadZone(name)
	if err != nil {
		if said := fmt.Sprint(name); h.badZone.Swap(said) != said {
			h.report(ctx, StageZone, fmt.Errorf("%s %q: %w: use a name such as \"Asia/Shanghai\"; times are shown in %s", timeZone, said, err, h.cfg.Location))
		}
		return h.cfg.Location
	}
	return zone
}

func loadZone(value any) (*time.Location, error) {
	name, err := scopeText(value)
	if err != nil {
		return nil, err
	}
	return time.LoadLocation(name)
}
