// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func rec(id, text string) *store.Record {
	return &store.Record{Memory: backends.Memory{ID: id, Text: text}}
}

func TestValidateSession(t *testing.T) {
	for id, ok := range map[string]bool{
		"": true, "s": true, "a:b/{c}": true, "🎈": true, strings.Repeat("x", backends.MaxScopePart): true,
		" ": false, " s": false, "s\n": false, "a*": false, "a\x00b": false, "\xff": false, strings.Repeat("x", backends.MaxScopePart+1): false,
	} {
		check(t, ok, store.ValidateSession(id), id)
	}
}

func check(t *testing.T, ok bool, err error, what string) {
	t.Helper()
	if ok {
		require.NoError(t, err, "%q", what)
		return
	}
	require.ErrorIs(t, err, backends.ErrInvalid, "%q", what)
}

func TestValidateID(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, " ": true, "*": true, "\x00": true, strings.Repeat("x", store.MaxID): true,
		"": false, "\xff": false, strings.Repeat("x", store.MaxID+1): false,
	} {
		check(t, ok, store.ValidateID("record", id), id)
	}
	require.ErrorContains(t, store.ValidateID("blob", ""), "blob")
}

func TestValidateBatch(t *testing.T) {
	long := strings.Repeat("x", store.MaxText+1)
	when := rec("a", "x")
	when.WhenToUse = long
	meta := rec("a", "x")
	meta.Metadata = map[string]any{"c": make(chan int)}
	badMeta, goodMeta, badScope := rec("a", "x"), rec("a", "x"), rec("a", "x")
	badMeta.Metadata = map[string]any{"k": []any{map[string]any{"deep": "\xff"}}}
	goodMeta.Metadata = map[string]any{"k": []any{"安", 1, true, nil, []string{"b"}}}
	badScope.Scope = backends.Scope{UserID: "*"}
	number := rec("a", "x")
	number.Metadata = map[string]any{"f": math.NaN()}
	nested := func(depth int) *store.Record {
		r := rec("a", "x")
		r.Metadata = map[string]any{}
		for v := r.Metadata; depth > 1; depth-- {
			next := map[string]any{}
			v["k"], v = []any{next}, next
			depth--
		}
		return r
	}
	for name, c := range map[string]struct {
		b  store.Batch
		ok bool
	}{
		"empty":                  {store.Batch{}, true},
		"key":                    {store.Batch{Key: "k"}, true},
		"put":                    {mutations(store.Put(rec("a", ""))), true},
		"longest text":           {mutations(store.Put(rec("a", long[1:]))), true},
		"text too long":          {mutations(store.Put(rec("a", long))), false},
		"when too long":          {mutations(store.Put(when)), false},
		"metadata no JSON":       {mutations(store.Put(meta)), false},
		"metadata NaN":           {mutations(store.Put(number)), false},
		"no operation":           {mutations(store.Mutation{}), false},
		"text not UTF-8":         {mutations(store.Put(rec("a", "\xff"))), false},
		"put of nothing":         {mutations(store.Put(nil)), false},
		"put without an id":      {mutations(store.Put(rec("", "x"))), false},
		"supersede":              {mutations(store.Supersede("a", rec("b", "x"))), true},
		"supersede itself":       {mutations(store.Supersede("a", rec("a", "x"))), false},
		"supersede nothing":      {mutations(store.Supersede("", rec("a", "x"))), false},
		"supersede by none":      {mutations(store.Supersede("a", nil)), false},
		"retract":                {mutations(store.Retract("a", time.Time{})), true},
		"retract nothing":        {mutations(store.Retract("", time.Time{})), false},
		"delete":                 {mutations(store.Delete("a")), true},
		"delete nothing":         {mutations(store.Delete("")), false},
		"increment":              {mutations(store.Increment("a", "n", -1)), true},
		"increment nothing":      {mutations(store.Increment("", "n", 1)), false},
		"increment no field":     {mutations(store.Increment("a", "", 1)), false},
		"increment by NaN":       {mutations(store.Increment("a", "n", math.NaN())), false},
		"restore":                {mutations(store.Restore("a", rec("a", "x"), []backends.Event{{MemoryID: "a", New: "x"}})), true},
		"restore a history":      {mutations(store.Restore("a", nil, []backends.Event{{MemoryID: "a"}})), true},
		"restore nothing":        {mutations(store.Restore("a", nil, nil)), false},
		"restore without an id":  {mutations(store.Restore("", rec("", "x"), nil)), false},
		"restore another record": {mutations(store.Restore("a", rec("b", "x"), nil)), false},
		"restore a bad record":   {mutations(store.Restore("a", rec("a", "\xff"), nil)), false},
		"restore other events":   {mutations(store.Restore("a", rec("a", "x"), []backends.Event{{MemoryID: "b"}})), false},
		"restore bad events":     {mutations(store.Restore("a", rec("a", "x"), []backends.Event{{MemoryID: "a", Old: "\xff"}})), false},
		"increment by infinity":  {mutations(store.Increment("a", "n", math.Inf(1))), false},
		"key not UTF-8":          {store.Batch{Key: "\xff"}, false},
		"key too long":           {store.Batch{Key: strings.Repeat("k", store.MaxID+1)}, false},
		"metadata not UTF-8":     {mutations(store.Put(badMeta)), false},
		"metadata list in UTF-8": {mutations(store.Put(goodMeta)), true},
		"metadata deep":          {mutations(store.Put(nested(999))), true},
		"metadata too deep":      {mutations(store.Put(nested(1003))), false},
		"scope not legal":        {mutations(store.Put(badScope)), false},
		"unknown operation":      {mutations(store.Mutation{Op: "merge", ID: "a"}), false},
		"second is bad":          {mutations(store.Delete("a"), store.Delete("")), false},
		"as many as may be":      {store.Batch{Mutations: slices.Repeat([]store.Mutation{store.Delete("a")}, store.MaxBatch)}, true},
		"too many":               {store.Batch{Mutations: slices.Repeat([]store.Mutation{store.Delete("a")}, store.MaxBatch+1)}, false},
		"embedding":              {store.Batch{Embedding: &store.Embedding{Model: "m", Dim: 1}}, true},
		"embedding no model":     {store.Batch{Embedding: &store.Embedding{Dim: 1}}, false},
		"embedding no dim":       {store.Batch{Embedding: &store.Embedding{Model: "m"}}, false},
		"session":                {store.Batch{Session: &store.SessionUpdate{}}, true},
		"session not legal":      {store.Batch{Session: &store.SessionUpdate{Session: " "}}, false},
		"session, bad lease":     {store.Batch{Session: &store.SessionUpdate{Acquire: &store.Acquire{}}}, false},
		"session, no release":    {store.Batch{Session: &store.SessionUpdate{Release: true}}, false},
	} {
		check(t, c.ok, c.b.Validate(), name)
	}
	check(t, false, (*store.Batch)(nil).Validate(), "nil")
	b := mutations(store.Delete("a"), store.Put(rec("b", "\xff")))
	require.ErrorContains(t, b.Validate(), "mutation 1 (put)")
	require.ErrorContains(t, b.Validate(), "record b")
}

func mutations(ms ...store.Mutation) store.Batch { return store.Batch{Mutations: ms} }

func TestValidateAppend(t *testing.T) {
	entry := func(id string, m *schema.Message) store.Append {
		return store.Append{Entries: []store.Entry{{Message: backends.Message{ID: id, Message: m}}}}
	}
	for name, c := range map[string]struct {
		a  store.Append
		ok bool
	}{
		"nothing":   {store.Append{}, true},
		"message":   {entry("m", schema.UserMessage("x")), true},
		"no text":   {entry("m", &schema.Message{}), true},
		"no id":     {entry("", schema.UserMessage("x")), false},
		"empty":     {entry("m", nil), false},
		"not UTF-8": {entry("m", schema.UserMessage("\xff")), false},
		"too long":  {entry("m", schema.UserMessage(strings.Repeat("x", store.MaxText+1))), false},
	} {
		check(t, c.ok, c.a.Validate(), name)
	}
	check(t, false, (*store.Append)(nil).Validate(), "nil")
}

func TestValidateUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		u  store.SessionUpdate
		ok bool
	}{
		"nothing":           {store.SessionUpdate{}, true},
		"acquire":           {store.SessionUpdate{Acquire: &store.Acquire{Owner: "w", For: 1}}, true},
		"acquire, no owner": {store.SessionUpdate{Acquire: &store.Acquire{For: 1}}, false},
		"acquire for none":  {store.SessionUpdate{Acquire: &store.Acquire{Owner: "w"}}, false},
		"release":           {store.SessionUpdate{Release: true, Token: 1}, true},
		"release of none":   {store.SessionUpdate{Release: true}, false},
		"session not legal": {store.SessionUpdate{Session: "a*"}, false},
	} {
		check(t, c.ok, c.u.Validate(), name)
	}
	check(t, false, (*store.SessionUpdate)(nil).Validate(), "nil")
}

func TestTitlesOfSessionsAreShortLines(t *testing.T) {
	for title, ok := range map[string]bool{
		"": true, "Trip to Bergen": true, " ": true, "🎈": true, strings.Repeat("é", 256): true,
		strings.Repeat("x", 256+1): false, "\xff": false, "a\nb": false, "\x00": false, "\x7f": false, "\u0085": false, "\u2028": true,
	} {
		check(t, ok, (&store.SessionUpdate{Title: &title}).Validate(), title)
	}
	long := strings.Repeat("x", 300)
	require.ErrorContains(t, (&store.SessionUpdate{Title: &long}).Validate(), "300 runes, at most 256")
}

func TestSizesAndPending(t *testing.T) {
	for watermark, pending := range map[int64]bool{1: true, 2: false} {
		require.Equal(t, pending, (&store.Session{LastSeq: 2, Watermark: watermark}).Pending())
	}
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 1000: 1000, 1001: 1000} {
		require.Equal(t, want, store.Page{Limit: limit}.Size())
	}
	for limit, want := range map[int]int{-1: 1000, 0: 1000, 1: 1, 10_000: 10_000, 10_001: 10_000} {
		require.Equal(t, want, store.Range{Limit: limit}.Size())
	}
}

func FuzzValidateID(f *testing.F) {
	for _, seed := range []string{"", "a", "\xff", "🎈", strings.Repeat("x", store.MaxID+1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		legal := id != "" && len(id) <= store.MaxID && utf8.ValidString(id)
		check(t, legal, store.ValidateID("record", id), id)
		b := mutations(store.Put(rec(id, id)))
		check(t, legal, b.Validate(), id)
	})
}

func FuzzValidateSession(f *testing.F) {
	for _, seed := range []string{"", "s", " s", "a*", "\x00", "\u0085", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if err := store.ValidateSession(id); err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			return
		}
		// A legal id stays as it is where scopes are trimmed.
		s, err := backends.Scope{SessionID: id}.Normalize()
		require.NoError(t, err)
		require.Equal(t, id, s.SessionID)
	})
}

// A fact changes, once, however often the batch is sent; a reader that knows the
// partition up to a cursor learns what changed since.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	var s store.Store = db
	ann := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	fact := func(id, text string) *store.Record {
		return &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}}
	}
	if _, err := s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(fact("1", "lives in Beijing"))}}); err != nil {
		log.Fatal(err)
	}
	seen, err := s.Changes(ctx, ann, "")
	if err != nil {
		log.Fatal(err)
	}

	move := &store.Batch{Key: "turn-7", Mutations: []store.Mutation{store.Supersede("1", fact("2", "lives in Shanghai"))}}
	for range 2 {
		applied, err := s.Apply(ctx, ann, move)
		fmt.Println("version", applied.Version, "replayed", applied.Replayed, err)
	}
	changed, err := s.Changes(ctx, ann, seen.Cursor)
	for _, r := range changed.Records {
		fmt.Printf("%s: %s, active %t\n", r.ID, r.Text, r.Active())
	}
	fmt.Println(err)
	// Output:
	// version 2 replayed false <nil>
	// version 2 replayed true <nil>
	// 1: lives in Beijing, active false
	// 2: lives in Shanghai, active true
	// <nil>
}

func TestAnErasedEntryKeepsItsPlaceAndLosesItsContent(t *testing.T) {
	call := schema.AssistantMessage("secret", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "f", Arguments: "secret"}}})
	call.Extra, call.ReasoningContent = map[string]any{"k": "secret"}, "secret"
	e := store.Entry{Seq: 2, AgentID: "bot", Done: true, Tokens: 7, Message: backends.Message{ID: "m2", Turn: "t1", Message: call}}
	want := store.Entry{Seq: 2, AgentID: "bot", Done: true, Erased: true, Message: backends.Message{ID: "m2", Turn: "t1",
		Message: &schema.Message{Role: schema.Assistant}}}
	require.Equal(t, want, e.Erase())
}
