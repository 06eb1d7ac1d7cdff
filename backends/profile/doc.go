// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package profile is a typed document about each user, filled from the facts that are
// learnt anyway:
//
//	type Person struct {
//		Name    string   `json:"name,omitempty" jsonschema_description:"how to address the user"`
//		City    string   `json:"city,omitempty" jsonschema_description:"where the user lives"`
//		Plan    string   `json:"plan,omitempty" jsonschema:"enum=free,enum=pro"`
//		Hobbies []string `json:"hobbies,omitempty"`
//	}
//
//	person, err := profile.New[Person]()
//	backend, err := mem0.New(ctx, &mem0.Config{Store: db, Model: model, Profile: person})
//	known, err := person.Get(ctx, scope) // known.Document.City, known.Evidence["city"]
//	mem, err := middleware.New(ctx, &middleware.Config{
//		Backend: backend, Window: window, Core: &core.Config{Blocks: []core.Block{person.Block()}}, // shown in every prompt
//	})
//
// # Origin
//
// The model that learns facts says in the same call which field a fact states. Reflection does so
// for facts that were learnt before (reflection.Config.Profile). The value stands with the fact
// alone, under [backends.MetaProfile]: the document follows from the active facts. So the last
// statement about a field decides, by its time. A fact that is retracted, deleted, forgotten or
// corrected takes its value along, and a list loses that fact's elements. The origin of a value
// is its fact, with its history.
//
// A value is stored if the schema of its field takes it, and the Go type. Any other value of a
// model is left out of the fact, and comes back as [backends.OutcomeSkipped]. When T changes,
// the values that still fit stay, and the others are left out.
package profile
