// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

const (
	blockName   = "profile"
	blockTokens = 300 // the most that the block shows, estimated
)

// document gives a profile its fields: see [Profile.Fields].
type document = fields.Document

// Profile is a document of type T for each user. It is safe for concurrent use.
type Profile[T any] struct {
	*document
}

// New returns a profile with the fields of T, a struct. Its JSON Schema is made like the
// schemas of Eino's tools: by the tags json, jsonschema and jsonschema_description. All fields
// are optional, whatever the tags say: a person says few things at once. A type without a
// schema is ErrInvalid.
func New[T any]() (*Profile[T], error) {
	p := &Profile[T]{}
	schema, err := schemaOf[T]()
	if err != nil {
		return nil, fmt.Errorf("profile: %T: %w: %w", *new(T), backends.ErrInvalid, err)
	}
	var set fields.Set
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		property := schema.Properties[nameOf(f)]
		if property == nil {
			continue
		}
		resolved, err := property.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("profile: field %s: %w: %w", f.Name, backends.ErrInvalid, err)
		}
		form, _ := json.Marshal(property) // it was decoded from JSON
		set = append(set, fields.Field{Name: nameOf(f), Form: string(form), List: property.Type == "array", Check: func(v any) error {
			return errors.Join(resolved.Validate(v), keeper.Convert(v, reflect.New(f.Type).Interface()))
		}})
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("profile: %T: %w: it has no fields", *new(T), backends.ErrInvalid)
	}
	p.document = fields.NewDocument(set)
	return p, nil
}

func schemaOf[T any]() (*jsonschema.Schema, error) {
	if reflect.TypeFor[T]().Kind() != reflect.Struct {
		return nil, errors.New("it is not a struct")
	}
	out := &jsonschema.Schema{}
	return out, work.Catch("its schema", func() error { // a field with a function panics
		info, err := utils.GoStruct2ToolInfo[T]("profile", "")
		if err != nil {
			return err
		}
		made, err := info.ToJSONSchema()
		return errors.Join(err, keeper.Convert(made, out))
	})
}

// Value is the document of a user.
type Value[T any] struct {
	Document T
	// Evidence has the ids of the facts behind each field, by its name.
	Evidence map[string][]string
}

// Get returns the document of a user from the facts that hold now. It is the zero document
// before the first fact. Errors: ErrNoScope without a user, ErrUnavailable, ErrInvalid if
// no backend fills the profile.
func (p *Profile[T]) Get(ctx context.Context, s backends.Scope) (*Value[T], error) {
	held, err := p.held(ctx, s)
	if err != nil {
		return nil, err
	}
	return p.value(held)
}

// Document returns the document of a user as values of JSON, for programs that do not know T. It is
// empty before the first fact. Errors are those of Get.
func (p *Profile[T]) Document(ctx context.Context, s backends.Scope) (map[string]any, error) {
	held, err := p.held(ctx, s)
	if err != nil {
		return nil, err
	}
	return held.doc, nil
}

// held has the facts about the fields of a user.
type held struct {
	keep      *keeper.Keeper
	scope     backends.Scope
	partition backends.Partition
	facts     []*backends.Memory
	doc       map[string]any
	of        map[string][]*backends.Memory
}

// bound returns the keeper of the backend that fills the profile.
func (p *Profile[T]) bound() (*keeper.Keeper, error) {
	if k := fields.Keeper(p); k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("profile: %w: no backend fills it: set mem0.Config.Profile", backends.ErrInvalid)
}

func (p *Profile[T]) held(ctx context.Context, s backends.Scope) (*held, error) {
	keep, err := p.bound()
	if err != nil {
		return nil, err
	}
	h := &held{keep: keep}
	h.scope, h.partition, err = h.keep.Resolve(ctx, s, func(s backends.Scope) (backends.Partition, error) { return s.Partition(backends.PartitionUser) })
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if h.facts, err = h.keep.Lookup(ctx, h.partition, fields.Key); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	h.doc, h.of = fields.Of(p).Fold(h.facts, h.keep.Now())
	return h, nil
}

// next returns the id of a new statement about a field. It follows from all earlier
// statements: the first of several writers that saw the same ones wins, and the others
// conflict with it.
func (h *held) next(field string) string {
	parts := []string{fields.Key, field}
	for _, m := range h.facts {
		if _, ok := fields.Filled(m)[field]; ok {
			parts = append(parts, fmt.Sprint(m.ID, m.Version))
		}
	}
	return keeper.ContentID(h.partition, backends.KindFact, parts...)
}

// value decodes the document of the facts.
func (p *Profile[T]) value(h *held) (*Value[T], error) {
	out := &Value[T]{Evidence: map[string][]string{}}
	for name, facts := range h.of {
		for _, m := range facts {
			out.Evidence[name] = append(out.Evidence[name], m.ID)
		}
	}
	if err := keeper.Convert(h.doc, &out.Document); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return out, nil
}

// Update changes the document of a user as the program. change gets the present document. The
// fields that it changes become facts, which supersede the facts that stated them; the facts
// behind a cleared field are retracted. Changes of others at the same time stay: change is
// called again on top of them. A document that does not fit the schema is ErrInvalid, and the
// store stays as it is.
func (p *Profile[T]) Update(ctx context.Context, s backends.Scope, change func(doc *T) error) (_ *Value[T], err error) {
	defer work.Recover("profile", &err)
	keep, err := p.bound()
	if err == nil {
		ctx, err = keep.Begin(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	err = store.OnConflict(ctx, func() error {
		h, err := p.held(ctx, s)
		if err != nil {
			return err
		}
		now, err := p.value(h)
		if err != nil {
			return err
		}
		var zero, before, after map[string]any
		err = errors.Join(keeper.Convert(*new(T), &zero), keeper.Convert(now.Document, &before))
		if err == nil {
			err = change(&now.Document)
		}
		if err == nil {
			err = keeper.Convert(now.Document, &after)
		}
		if err != nil {
			return err
		}
		b, stamp := &store.Batch{}, h.keep.Stamps(len(fields.Of(p)))
		for _, f := range fields.Of(p) {
			value := after[f.Name]
			if fields.Same(value, before[f.Name]) {
				continue
			}
			if fields.Same(value, zero[f.Name]) {
				value = nil
			}
			edits, err := h.edit(ctx, &f, value, stamp)
			if err != nil {
				return fmt.Errorf("profile: field %q: %w", f.Name, err)
			}
			b.Mutations = append(b.Mutations, edits...)
		}
		if len(b.Mutations) > 0 {
			_, err = h.keep.Commit(ctx, h.partition, b, nil)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.Get(ctx, s)
}

// edit states the value of a field, unless it is nil, and takes the field from the facts that
// stated it. A fact that only stated this field ends.
func (h *held) edit(ctx context.Context, f *fields.Field, value any, stamp time.Time) (out []store.Mutation, err error) {
	var stated *store.Record
	if value != nil {
		if err := f.Check(value); err != nil {
			return nil, fmt.Errorf("%w: %w", backends.ErrInvalid, err)
		}
		stated = &store.Record{Memory: backends.Memory{
			ID: h.next(f.Name), Kind: backends.KindFact, Text: h.keep.Redact(line(f.Name, value)), Scope: h.scope, Observed: stamp, Created: stamp, Updated: stamp,
			Origin: backends.Origin{Author: author},
		}}
		fields.Fill(&stated.Memory, f.Name, h.keep.RedactJSON(value))
		put := store.Put(stated)
		put.Expect, put.Actor = store.MustNotExist, author
		out = append(out, put)
	}
	for _, m := range h.of[f.Name] {
		records, err := h.keep.Records(ctx, h.partition, m.ID)
		if err != nil || len(records) == 0 {
			return nil, errors.Join(err, fmt.Errorf("fact %s: %w", m.ID, backends.ErrConflict))
		}
		r := &records[0]
		of := fields.Filled(&r.Memory)
		var end store.Mutation
		switch {
		case len(of) > 1:
			delete(of, f.Name)
			end = store.Put(r)
		case stated != nil:
			end = store.Supersede(r.ID, stated)
		default:
			r.Invalidated, r.Updated = stamp, stamp
			end = store.Put(r)
		}
		end.Expect, end.Actor = m.Version, author
		out = append(out, end)
	}
	return out, nil
}

const author = "program"

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, f.Name)
}

// History returns the events of the facts that state a field now, and of their
// predecessors, oldest first. A field without a fact is ErrNotFound.
func (p *Profile[T]) History(ctx context.Context, s backends.Scope, field string) ([]backends.Event, error) {
	h, err := p.held(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []backends.Event
	for _, m := range h.of[field] {
		events, err := h.keep.History(ctx, h.partition, m.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, events...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("profile: field %q: %w: no fact states it", field, backends.ErrNotFound)
	}
	slices.SortStableFunc(out, func(a, b backends.Event) int { return cmp.Compare(a.Version, b.Version) })
	return out, nil
}

// Block returns the core block that shows the profile, for core.Config.Blocks: a line for each
// known field, in the order of T, within 300 tokens. The agent cannot edit it. Its
// Description is English, and may be set.
func (p *Profile[T]) Block() core.Block {
	return core.Block{Name: blockName, Description: "What is known of the user", Limit: 4 * max(500, blockTokens), View: p.view}
}

func (p *Profile[T]) view(ctx context.Context, s backends.Scope) (string, error) {
	h, err := p.held(ctx, s)
	if err != nil {
		return "", err
	}
	known, err := p.value(h)
	if err != nil {
		return "", err
	}
	out, room := "", blockTokens
	for _, f := range fields.Of(p) {
		if known.Evidence[f.Name] == nil {
			continue
		}
		shown := line(f.Name, h.doc[f.Name]) + "\n"
		if room -= text.Tokens(shown); room < 0 {
			return out + "…", nil
		}
		out += shown
	}
	return out, nil
}

// line shows a field.
func line(name string, value any) string {
	if s, ok := value.(string); ok {
		return name + ": " + text.Line(s, 500)
	}
	raw, _ := json.Marshal(value) // it is of JSON
	return name + ": " + string(raw)
}
