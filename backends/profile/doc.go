// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package profile is a typed document about each user, filled by what is learnt anyway:
//
//	type Person struct {
//		Name    string   `json:"name,omitempty" jsonschema_description:"how to address the user"`
//		City    string   `json:"city,omitempty" jsonschema_description:"where the user lives"`
//		Plan    string   `json:"plan,omitempty" jsonschema:"enum=free,enum=pro"`
//		Hobbies []string `json:"hobbies,omitempty"`
//	}
//
//	person, err := profile.New[Person](nil)
//	backend, err := mem0.New(ctx, &mem0.Config{Store: db, Model: model, Profile: person})
//	known, err := person.Get(ctx, scope) // known.Document.City, known.Evidence["city"]
//	mem, err := middleware.New(ctx, &middleware.Config{
//		Backend: backend, Window: window, Core: &core.Config{Blocks: []core.Block{person.Block()}}, // shown in every prompt
//	})
//
// # Where it comes from
//
// The model that learns facts says in the same call which field a fact states, and reflection
// says it of facts that were learnt before (reflection.Config.Profile). The value stands with the
// fact, under [backends.MetaProfile], and nowhere else: the document follows from the facts that
// hold. So the last statement about a field decides, by when it was said; a fact that is
// retracted, deleted, forgotten or corrected takes its value along, a list loses what that fact
// said; and whoever asks where a value comes from gets the fact, with its history.
//
// A value is stored if the schema of its field takes it, and the Go type: what a model writes
// otherwise is no part of the fact, and comes back as [backends.OutcomeSkipped]. When T changes,
// what still fits stays, and what does not is left out.
package profile
