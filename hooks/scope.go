// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"reflect"

	"github.com/cloudwego/eino/adk"

	"github.com/einomem/einomem/backends"
)

// ResolveScope returns the scope of what is done under ctx. Each part comes from
// the first that has it: the run's [WithScopeOption], the context
// ([backends.WithScope]), the session values of the Eino run, Config.Scope.
//
// It fails closed: a scope that names neither user nor agent nor workspace is
// [backends.ErrNoScope], and an illegal part is [backends.ErrInvalid]; there is
// no memory then.
func (h *Hooks) ResolveScope(ctx context.Context) (backends.Scope, error) {
	return h.resolve(ctx, adk.GetSessionValues(ctx))
}

// badScope is the context's key for the error of a scope that could not be read
// from a run's options.
type badScope struct{}

func (h *Hooks) resolve(ctx context.Context, values map[string]any) (backends.Scope, error) {
	if err, ok := ctx.Value(badScope{}).(error); ok {
		return backends.Scope{}, err
	}
	session, err := h.cfg.SessionKeys.scope(values)
	if err != nil {
		return backends.Scope{}, err
	}
	s, _ := backends.ScopeFrom(ctx)
	s, err = s.Or(session).Or(h.cfg.Scope).Normalize()
	if err != nil {
		return backends.Scope{}, err
	}
	if s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		return backends.Scope{}, fmt.Errorf("memory: %w: give a user id by WithScope, by the session value %q or in the configuration",
			backends.ErrNoScope, h.cfg.SessionKeys.UserID)
	}
	return s, nil
}

// scope reads a scope from the session values of a run.
func (k *SessionKeys) scope(values map[string]any) (s backends.Scope, err error) {
	for _, part := range []struct {
		key   string
		field *string
	}{{k.UserID, &s.UserID}, {k.AgentID, &s.AgentID}, {k.SessionID, &s.SessionID}, {k.Workspace, &s.Workspace}, {k.Namespace, &s.Namespace}} {
		v, ok := values[part.key]
		if !ok || v == nil {
			continue
		}
		if *part.field, err = scopeText(v); err != nil {
			return backends.Scope{}, fmt.Errorf("session value %q: %w", part.key, err)
		}
	}
	return s, nil
}

// scopeText takes texts, and numbers as databases make them. Anything else is
// refused rather than printed: an address or a struct is nobody's id.
func scopeText(v any) (string, error) {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String(), nil
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return r.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("%w: a %T names nobody: use a string", backends.ErrInvalid, v)
}
