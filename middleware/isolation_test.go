// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

var isolationSeed = flag.Uint64("isolation.seed", 0, "seed of TestIsolation; 0 takes one from the clock")

// hostile are scopes that a store, a key or a pattern could take for one another:
// prefixes, separators, wildcards, templates, look-alike letters, composed and
// decomposed accents, the same name as a user, an agent and in two namespaces.
var hostile = []middleware.Scope{
	{UserID: "a"}, {UserID: "a:"}, {UserID: "a:b"}, {UserID: "a:b:c"}, {UserID: "b"}, {UserID: "aa"}, {UserID: "A"},
	{Namespace: "a", UserID: "b:c"}, {Namespace: "a:b", UserID: "c"}, {Namespace: "a", UserID: "a"}, {Namespace: "default", UserID: "default"},
	{AgentID: "a"}, {AgentID: "a:b"}, {Namespace: "a", AgentID: "a"},
	{UserID: "{a}"}, {UserID: "{em:default:user:a}"}, {UserID: "em:{default:user:a}:m"}, {UserID: "{{.UserID}}"}, {UserID: "%s%d%n"}, {UserID: "%61"}, {UserID: "a%"}, {UserID: "a_"}, {UserID: "_"}, {UserID: "%"}, {UserID: "?"}, {UserID: "[a-z]"},
	{UserID: `a' OR '1'='1`}, {UserID: `a"; DROP TABLE memories; --`}, {UserID: "a\\"}, {UserID: "../a"}, {UserID: "a/b"}, {UserID: "user/a"},
	{UserID: "é"}, {UserID: "e\u0301"}, {UserID: "а"}, {UserID: "ａ"}, {UserID: "a\u200b"}, {UserID: "a\u0301"}, {UserID: "İ"}, {UserID: "ı"}, {UserID: "ſ"}, {UserID: "s"}, {UserID: "ß"}, {UserID: "ss"},
	{UserID: "👩"}, {UserID: "👩‍👩‍👧"}, {UserID: "用户"}, {UserID: "用戶"}, {UserID: "null"}, {UserID: "0"}, {UserID: "00"}, {UserID: strings.Repeat("a", 256)}, {UserID: strings.Repeat("a", 255)},
}

// TestIsolation lets many users do everything that a backend, a manager and the
// tools can do, each time with an eye on what is not theirs, and knows at each
// moment what everybody holds. Every memory carries its owner's mark: a mark of
// somebody else in any answer is a leak, and so is any difference at the end.
func TestIsolation(t *testing.T) {
	operations := 100_000
	if testing.Short() || raced {
		operations = 10_000
	}
	seed := *isolationSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test -run TestIsolation -isolation.seed=%d", seed)
	w := newCrowd(t, rand.New(rand.NewPCG(seed, 1)))
	for w.done < operations {
		u := w.users[w.rng.IntN(len(w.users))]
		w.act(u)
	}
	for _, u := range w.users {
		require.Equal(t, u.holds, w.listed(u), "%+v holds something else than it stored", u.scope)
	}
	t.Logf("%d operations, %v", w.done, w.counts)
}

// TestNotesOfHostileScopes sends every scope through an agent: told once, asked in
// the same session of the same name, each sees its own.
func TestNotesOfHostileScopes(t *testing.T) {
	b := verbatim(t, openStore(t))
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true})
	run := func(i int, text string) *agent {
		s := hostile[i]
		s.SessionID = "one: session {id} for % all?"
		a := newAgent(t, mem, testkit.Text("ok"))
		a.reply(middleware.WithScope(context.Background(), s), text)
		return a
	}
	for i := range hostile {
		run(i, fmt.Sprintf("My code word is mark%03dend.", i))
	}
	for i := range hostile {
		a := run(i, "What is my code word?")
		note := a.note(t, 0).Content
		require.Contains(t, note, fmt.Sprintf("mark%03dend", i), "%+v", hostile[i])
		require.Equal(t, 1, strings.Count(note, "mark"), "%+v saw %s", hostile[i], note)
	}
}
