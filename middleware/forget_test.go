// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// office is memory in two processes, on one storage, for people who share a workspace.
type office struct {
	testing.TB
	raw func() string // all bytes of the storage
	of  [2]struct {
		db  store.Store
		b   backends.Backend
		mem *middleware.MemoryMiddleware
	}
}

func newOffice(t testing.TB, raw func() string, open func() store.Store) *office {
	o := &office{TB: t, raw: raw}
	for i := range o.of {
		of := &o.of[i]
		of.db = open()
		facts, err := mem0.New(t.Context(), &mem0.Config{Store: of.db, Model: testkit.New(testkit.Learn)})
		require.NoError(t, err)
		experience, err := reme.New(t.Context(), &reme.Config{Store: of.db, Model: testkit.New(testkit.Learn), Verdict: reme.VerdictOf("saw", "passed")})
		require.NoError(t, err)
		of.b = backends.Join(facts, experience)
		of.mem, err = middleware.New(t.Context(), windowed(8000, of.b, of.db))
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, of.mem.Close(context.Background()))
			require.NoError(t, of.b.Close(context.Background()))
		})
	}
	return o
}

// offices are on SQLite, where each process opens the file, and on an imitation of Redis; a
// number of each.
func offices(t *testing.T, times int, test func(t *testing.T, o *office)) {
	repeat := func(name string, test func(t *testing.T)) {
		for range times {
			t.Run(name, test)
		}
	}
	repeat("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		test(t, newOffice(t, bytesOf(t, path), func() store.Store { return testkit.File(t, path) }))
	})
	repeat("redis", func(t *testing.T) {
		m := miniredis.RunT(t)
		test(t, newOffice(t, m.Dump, func() store.Store {
			c := redis.NewClient(&redis.Options{Addr: m.Addr(), ContextTimeoutEnabled: true})
			t.Cleanup(func() { _ = c.Close() })
			return testkit.Redis(t, c, func(cfg *redisstore.Config) { cfg.Retry = time.Second })
		}))
	})
}

// bytesOf reads the files of an SQLite store. Another process does it: closing a file drops
// the locks that this one has on it.
func bytesOf(t testing.TB, path string) func() string {
	return func() string {
		all, err := exec.CommandContext(t.Context(), "cat", path, path+"-wal").Output()
		require.NoError(t, err)
		return string(all)
	}
}

// leftNothing requires that no words of a forgotten user are left, and that what they say
// afterwards is kept.
func (o *office) leftNothing(round int, user, words string) {
	o.Helper()
	for name, text := range map[string]string{"storage": o.raw(), "export": o.exported(user), "another's export": o.exported("bob")} {
		if at := strings.Index(text, words); at >= 0 {
			o.Fatalf("round %d: %s: …%s…", round, name, text[max(0, at-300):min(len(text), at+300)])
		}
	}
	fresh := fmt.Sprintf("fresh%04dend", round)
	o.says(1, user, fresh, func() {})
	o.quiet()
	require.Contains(o, o.exported(user), fresh, "round %d: what is said afterwards is kept", round)
}

// as is the context of a user's run.
func (o *office) as(user string) context.Context {
	return middleware.WithScope(o.Context(), middleware.Scope{UserID: user, Workspace: "lab", SessionID: "s of " + user})
}

// says has a user say words to an agent, which notes them down, saws, and repeats them.
// begun is called when the model is first asked.
func (o *office) says(process int, user, words string, begun func()) []string {
	script := []testkit.Reply{
		testkit.Call("c1", "add_memory", fmt.Sprintf(`{"thinking":"t","content":["FACT %s noted"]}`, words)),
		testkit.Call("c2", "saw", `{"n":1}`),
		testkit.Text("LESSON " + words + " | " + words + " needs a fine saw"),
	}
	first := script[0]
	script[0] = func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		begun()
		return first(ctx, in, opts)
	}
	mem := o.of[process].mem
	w := &workshop{t: o, mem: mem, ran: map[string]int{}}
	return testkit.Drain(agent(o, mem, testkit.New(script...), w.saw()).Query(o.as(user), "FACT "+words+" said"))
}

// quiet waits until both processes have nothing to do.
func (o *office) quiet() {
	for i := range o.of {
		_ = o.of[i].mem.Flush(context.Background()) // what is refused is an error
	}
}

func (o *office) exported(user string) string {
	var out bytes.Buffer
	_, err := o.of[0].mem.Export(o.Context(), middleware.Scope{UserID: user}, &out)
	require.NoError(o, err)
	return out.String()
}

// Whoever is forgotten while they talk, while it is learnt and while another process forgets
// them, too, leaves nothing, and what they say afterwards is kept.
func TestForgottenUserLeavesNoTrace(t *testing.T) {
	testkit.SlowUnderRace(t)
	testkit.Once(t)
	const rounds = 20
	times := 1
	if testkit.Long() {
		times = 2 // with -count=13 a thousand people
	}
	offices(t, times, func(t *testing.T, o *office) {
		o.says(0, "bob", "bobsword", func() {})
		o.quiet()
		bob := o.exported("bob")
		for round := range rounds {
			user, mark := fmt.Sprint("user", round), fmt.Sprintf("mark%04dend", round)
			o.says(round%2, user, mark, func() {})
			if round%3 == 0 {
				o.quiet() // else it is learnt while it is forgotten
			}
			begun := make(chan struct{})
			var both sync.WaitGroup
			both.Go(func() { o.says(0, user, mark, sync.OnceFunc(func() { close(begun) })) })
			<-begun
			for process := range 1 + round%2 {
				both.Go(func() {
					time.Sleep(rand.N(20 * time.Millisecond))
					_, err := o.of[process].mem.Forget(o.Context(), middleware.Scope{UserID: user})
					require.NoError(o, err)
				})
			}
			both.Wait()
			o.quiet()
			o.leftNothing(round, user, mark)
		}
		require.Equal(t, bob, o.exported("bob"))
	})
}
