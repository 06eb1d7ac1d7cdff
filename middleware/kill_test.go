// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
	"github.com/einomem/einomem/internal/test/transcript"
	"github.com/einomem/einomem/middleware"
)

// inChild is the testing.TB of a child: what fails ends the process, as an error of what
// testkit.RunChild runs does. Cleanups are left to the end of the process.
type inChild struct{ testing.TB }

func (inChild) Helper()                  {}
func (inChild) Cleanup(func())           {}
func (inChild) Context() context.Context { return context.Background() }
func (t inChild) Errorf(format string, a ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", a...)
	t.FailNow()
}
func (inChild) FailNow() { os.Exit(1) }

// life says what a child process does, and when it is killed: right before or after its
// n-th step, which is a call of the store or a command to Redis.
type life struct {
	Store string // a file, or the URL of a server
	User  string
	Role  string // "interrupt", "read", "talk", "summarise", "refund" or "forget", and how
	Pages int    // that it reads; the first turn that it talks of; the orders that it refunds
	Step  int    // at which it is killed; 0: at none
	till

	steps atomic.Int64
}

func (l *life) is(how string) bool { return strings.Contains(l.Role, how) }

// child is what a child process does.
func child(spec string) error {
	t, l := inChild{}, &life{}
	require.NoError(t, json.Unmarshal([]byte(spec), l))
	role, _, _ := strings.Cut(l.Role, ",")
	map[string]func(testing.TB){"interrupt": l.interrupt, "read": l.read, "talk": l.talk, "summarise": l.summarise, "refund": l.refund, "forget": l.forget}[role](t)
	fmt.Println("steps", l.steps.Load())
	return nil
}

// open opens the child's store.
func (l *life) open(t testing.TB) store.Store {
	step := func() {
		if l.steps.Add(1) == int64(l.Step) {
			testkit.Die()
		}
	}
	if !strings.HasPrefix(l.Store, "redis:") {
		db := testkit.Spy(testkit.File(t, l.Store))
		db.Arm(func(c *testkit.StoreCall) error {
			c.Before, c.After = step, step
			return nil
		})
		return dying{db, l.After}
	}
	o, err := redis.ParseURL(l.Store)
	require.NoError(t, err)
	o.ContextTimeoutEnabled = true
	c := redis.NewClient(o)
	db := onRedis(t, c)
	c.AddHook(testredis.Hook(func(_ []redis.Cmder, send func() error) error {
		step()
		defer step()
		return send()
	}))
	return db
}

func (l *life) start(t testing.TB) *testkit.Child {
	t.Helper()
	spec, err := json.Marshal(l)
	require.NoError(t, err)
	return testkit.StartChild(t, string(spec))
}

// run lets a child live to its end. It returns what it printed, the steps that it took if
// it was not killed, and whether it was.
func (l *life) run(t testing.TB) (lines []string, steps int, killed bool) {
	t.Helper()
	c := l.start(t)
	lines = c.Rest()
	for _, line := range lines {
		_, _ = fmt.Sscanf(line, "steps %d", &steps)
	}
	return lines, steps, c.Wait(t)
}

// everywhere runs subtests that kill children: on SQLite, where each call of at returns a
// file of its own, and on a Redis that all share.
func everywhere(t *testing.T, kill func(t *testing.T, at func() (url string, db store.Store))) {
	t.Run("sqlite", func(t *testing.T) {
		kill(t, func() (string, store.Store) {
			path := filepath.Join(t.TempDir(), "memory.db")
			return path, testkit.File(t, path)
		})
	})
	t.Run("redis", func(t *testing.T) {
		server := testredis.Need(t).Start(t)
		db := onRedis(t, server.Client(t))
		kill(t, func() (string, store.Store) { return server.URL(), db })
	})
}

// traveller opens an agent that asks before it books. l.Role says how memory comes in
// (middleware, runner or both), and whether the model streams.
func (l *life) traveller(t testing.TB, script ...testkit.Reply) (testkit.Run, *middleware.MemoryMiddleware, *mem0.Backend) {
	b := verbatim(t, testkit.File(t, filepath.Join(l.Store, "memory.db")))
	mem := open(t, &middleware.Config{Backend: b})
	inner := testkit.Runner(testkit.Agent(t, "assistant", testkit.New(script...), func(cfg *adk.ChatModelAgentConfig) {
		if !l.is("runner") {
			testkit.Attach(cfg, mem)
		}
	}, testkit.Approval(t)), l.is("streaming"), testkit.Checkpoints(l.Store))
	if l.is("middleware") {
		return inner, mem, b
	}
	return mem.WrapRunner(inner), mem, b
}

// interrupt has the first half of a turn, whose scope is in the run's session values alone.
func (l *life) interrupt(t testing.TB) {
	runner, mem, _ := l.traveller(t, testkit.Call("c1", "ask", "{}"))
	events := runner.Query(t.Context(), "Book the train to Oslo.", adk.WithCheckPointID("cp"), adk.WithSessionValues(map[string]any{"user_id": "ann", "session_id": "s1"}))
	fmt.Println(testkit.Last(testkit.Drain(events)))
	require.NoError(t, mem.Flush(t.Context()))
	require.NoError(t, mem.Close(t.Context()))
}

// The second half of a turn, in another process, completes the first: the turn is learnt
// once and whole. A middleware finds its user in the checkpoint; a wrapped runner alone
// needs the scope again.
func TestATurnIsResumedInAnotherProcess(t *testing.T) {
	for _, way := range []string{"middleware", "runner", "both", "middleware, streaming", "runner, streaming", "both, streaming"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l := &life{Store: t.TempDir(), Role: "interrupt, " + way}
			lines, _, killed := l.run(t)
			require.False(t, killed)
			require.Equal(t, []string{"interrupted", "steps 0"}, lines)

			runner, mem, b := l.traveller(t, testkit.Text("The 14:05 is booked."))
			ctx := context.Background()
			if strings.HasPrefix(way, "runner") {
				ctx = as("ann", "s1")
			}
			require.Equal(t, "assistant: The 14:05 is booked.", testkit.Last(testkit.Resume(t, ctx, runner, "cp")))
			require.NoError(t, mem.Flush(t.Context()))
			require.ElementsMatch(t, []string{"Book the train to Oslo.", "The 14:05 is booked."}, memories(t, b, "ann"))
		})
	}
}

// pageWords is how many words a page has that a killed child reads.
const pageWords = 300

// reading is the whole session of a child that reads: what is said, in order.
func reading(pages int) []*schema.Message {
	out := append(testkit.Turn("Hello.", "Hello, Ann."), schema.UserMessage("Read everything."))
	for n := range pages {
		out = append(out, testkit.PageRead(n, pageWords)...)
	}
	out = append(out, schema.AssistantMessage("I have read everything.", nil), schema.UserMessage("Read one more."))
	out = append(out, testkit.PageRead(pages, pageWords)...)
	return append(append(out, schema.AssistantMessage("It says more of the same.", nil)), testkit.Turn("Thanks.", "You are welcome.")...)
}

func (l *life) scope() middleware.Scope {
	return middleware.Scope{UserID: l.User, AgentID: "helper", SessionID: "s1"}
}

// reader returns the memory of a child that reads, and of those who look after it.
func (l *life) reader(t testing.TB, db store.Sessions) *middleware.MemoryMiddleware {
	tokens := 3000
	if l.is("narrow") { // a page alone does not fit
		tokens = 800
	}
	cfg := windowed(tokens, &testkit.Backend{}, db)
	// A process that is killed while it learns keeps the session's lease, for which
	// AwaitWrite waits.
	cfg.AwaitWrite, cfg.Working = l.is("await"), &working.Config{Sweep: -1, Lease: time.Second}
	if l.is("summaries") {
		cfg.Window.(*window.Config).Model = testkit.New(keepNumbers(nil))
	}
	return open(t, cfg)
}

// shown is what a reader's model was shown in one call, and how much was said before.
type shown struct {
	Said     int
	Messages []*schema.Message
}

// read has the session of a reader, turn by turn, and reports each, and what its model was
// shown.
func (l *life) read(t testing.TB) {
	mem, all := l.reader(t, l.open(t)), reading(l.Pages)
	var script []testkit.Reply
	for i, m := range all {
		if m.Role != schema.Assistant {
			continue
		}
		script = append(script, func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
			line, err := json.Marshal(shown{i, in})
			fmt.Printf("shown %s\n", line)
			return m, err
		})
	}
	var runner testkit.Run = agent(t, mem, testkit.New(script...), testkit.Reader(t, pageWords))
	if l.is("wrapped") {
		runner = mem.WrapRunner(runner.(*adk.Runner))
	}
	said := 0
	for i, m := range all {
		if m.Role == schema.User {
			said = i + 1 + len(testkit.Drain(runner.Query(middleware.WithScope(t.Context(), l.scope()), m.Content)))
			fmt.Println("said", said)
		}
	}
	require.Equal(t, len(all), said)
	require.NoError(t, mem.Close(t.Context()))
}

// A process with working memory is killed at steps that are spread over its life, and at
// moments that its parent takes at random.
func TestWorkingMemoryIsKilled(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	t.Parallel() // it mostly waits for other processes
	// survived checks what a reader left in the store, and goes on with its session: what was
	// acknowledged is there, each message once and in order, and each context that the model
	// was shown has or names all that was said before.
	survived := func(t *testing.T, l *life, db store.Store, lines []string) {
		t.Helper()
		ctx, all, mem := context.Background(), testkit.Lines(reading(l.Pages)), l.reader(t, db)
		acknowledged := 0
		for _, line := range lines {
			_, _ = fmt.Sscanf(line, "said %d", &acknowledged)
		}
		log := testkit.Logged(t, db, l.scope())
		require.GreaterOrEqual(t, len(log), acknowledged)
		require.Equal(t, testkit.Brief(all[:len(log)]), testkit.Brief(log))
		requireAll := func(want []string, in []*schema.Message) {
			require.NoError(t, transcript.Check(in))
			back, err := mem.Window().Restore(ctx, l.scope(), in)
			require.NoError(t, err, "what the model can read in the archives is there")
			require.Equal(t, testkit.Brief(want), testkit.Brief(testkit.Lines(testkit.Conversation(back))))
		}
		for n, line := range lines {
			var c shown
			if text, ok := strings.CutPrefix(line, "shown "); ok && (json.Unmarshal([]byte(text), &c) == nil || n < len(lines)-1) {
				require.NotEmpty(t, c.Messages)
				requireAll(all[:c.Said], c.Messages)
			}
		}
		answer, m := ask(t, middleware.WithScope(ctx, l.scope()), mem, "And now?", testkit.Text("Now this."))
		require.Equal(t, "assistant: Now this.", answer)
		requireFits(t, mem, m.Calls()...)
		requireAll(append(slices.Clone(log), "user: And now?"), m.Calls()[0])
		require.Equal(t, append(log, "user: And now?", "assistant: Now this."), testkit.Logged(t, db, l.scope()))
	}
	pages, deaths := 10, 2
	if testkit.Long() {
		pages, deaths = 40, 14
	} else if testing.Short() {
		pages, deaths = 8, 1
	}
	ways := []string{"read", "read, await", "read, summaries", "read, await, summaries", "read, narrow", "read, narrow, wrapped"}
	everywhere(t, func(t *testing.T, at func() (string, store.Store)) {
		dead, alive := 0, 0
		for _, way := range ways {
			live := func(step int) (steps int, killed bool) {
				l := &life{User: fmt.Sprintf("ann %s %d", way, step), Role: way, Pages: pages, Step: step}
				var db store.Store
				l.Store, db = at()
				lines, steps, killed := l.run(t)
				t.Run(strings.ReplaceAll(l.User, ", ", " "), func(t *testing.T) { survived(t, l, db, lines) })
				return steps, killed
			}
			steps, killed := live(0)
			require.False(t, killed)
			require.Greater(t, steps, 2*pages)
			for n := range deaths {
				each := steps / deaths // a life has a few steps more or less than another
				if _, killed := live(1 + n*each + rand.IntN(each)); killed {
					dead++
				} else {
					alive++
				}
			}
		}
		require.Greater(t, dead, alive)
	})
	for n := range 3 * deaths {
		l := &life{User: "ann", Store: filepath.Join(t.TempDir(), "memory.db"), Role: ways[n%len(ways)], Pages: pages}
		c := l.start(t)
		var lines []string
		for range 2 + rand.IntN(pages) { // the first turn, and some calls of the model
			line, ok := c.Line()
			require.True(t, ok)
			lines = append(lines, line)
		}
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		c.Kill()
		lines = append(lines, c.Rest()...)
		c.Wait(t)
		t.Run(fmt.Sprintf("%s after %d lines", strings.ReplaceAll(l.Role, ", ", " "), len(lines)), func(t *testing.T) {
			survived(t, l, testkit.File(t, l.Store), lines)
		})
	}
}

// summariser returns a memory that summarises past rounds before it does anything else.
func (l *life) summariser(t testing.TB, db store.Sessions, before func()) *middleware.MemoryMiddleware {
	m := testkit.New(keepNumbers(before))
	cfg := windowed(2000, &testkit.Backend{}, db)
	cfg.Working = &working.Config{Sweep: -1}
	w := cfg.Window.(*window.Config)
	w.Model, w.HistoryTokens = m, 1<<30 // whatever is not summarised
	w.Steps = []compaction.Step{compaction.SummarizeRounds{Model: m}, compaction.ArchiveRounds{}}
	return open(t, cfg)
}

func (l *life) turn(n int) *working.Turn {
	return &working.Turn{Scope: l.scope(), ID: fmt.Sprint("t", n), Done: true, Messages: numberedTurn(n, 20)}
}

// talk appends one turn after another until it is killed, and reports each.
func (l *life) talk(t testing.TB) {
	mem := l.summariser(t, l.open(t), nil)
	for n := l.Pages; ; n++ {
		require.NoError(t, mem.Working().Append(t.Context(), l.turn(n)))
		fmt.Println("said", n)
	}
}

// summarise fits what was said, over and over, or once and slowly: then it waits for a
// line before the model answers, and its steps count from there.
func (l *life) summarise(t testing.TB) {
	in := bufio.NewScanner(os.Stdin)
	mem := l.summariser(t, l.open(t), func() {
		fmt.Println("asked")
		if l.is("slowly") {
			in.Scan()
			l.steps.Store(0)
		}
	})
	if l.is("slowly") {
		l.steps.Store(math.MinInt32)
	}
	for n := 0; n == 0 || !l.is("slowly"); n++ {
		history, err := mem.Window().History(t.Context(), l.scope())
		require.NoError(t, err)
		_, err = mem.Window().(*window.Window).Fit(t.Context(), l.scope(), append(history, schema.UserMessage("And now?")))
		require.NoError(t, err)
		fmt.Println("fitted")
	}
}

func TestASummariserIsKilled(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	t.Parallel() // it mostly waits for other processes
	// skipped is how a summary names a stretch of the log that was not loaded.
	skipped := regexp.MustCompile(`earlier messages of this conversation are not shown\. They are kept under log-(\d+)-(\d+)`)
	// summarised checks a session of which so many turns were acknowledged: each turn is in
	// the log, once and whole, and each that the summary stands for is in it, or named by it.
	// It returns how far the summary reaches, and how many turns there are.
	summarised := func(t *testing.T, l *life, db store.Store, acknowledged int) (upto int64, turns int) {
		t.Helper()
		ctx, mem := t.Context(), l.summariser(t, db, nil)
		p, err := l.scope().Speaker()
		require.NoError(t, err)
		st, err := db.Session(ctx, p, "s1")
		require.NoError(t, err)
		turns = int(st.LastSeq / 2)
		require.GreaterOrEqual(t, turns, acknowledged)
		covered, firstNamed := numbersIn(st.Summary), turns
		for _, m := range skipped.FindAllStringSubmatch(st.Summary, -1) {
			from, _ := strconv.Atoi(m[1])
			to, _ := strconv.Atoi(m[2])
			firstNamed = min(firstNamed, (from-1)/2)
			for n := (from - 1) / 2; n <= (to-1)/2; n++ {
				covered = append(covered, n)
			}
		}
		if !strings.Contains(st.Summary, "older stretches") { // which are counted alone when they are too many to name
			firstNamed = 0
		}
		log := testkit.Entries(t, db, l.scope())
		var said []string
		for i := range log {
			n := i / 2
			require.Equal(t, fmt.Sprintf("t%d-%d", n, i%2), log[i].ID)
			said = append(said, testkit.Line(log[i].Message.Message))
			if log[i].Seq <= st.SummaryUpto && n >= firstNamed {
				require.Contains(t, covered, n, st.Summary)
			}
		}
		history, err := mem.Window().History(ctx, l.scope())
		require.NoError(t, err)
		fitted, err := mem.Window().(*window.Window).Fit(ctx, l.scope(), append(history, schema.UserMessage("And now?")))
		require.NoError(t, err)
		require.NoError(t, transcript.Check(fitted.Messages))
		back, err := mem.Window().Restore(ctx, l.scope(), fitted.Messages)
		require.NoError(t, err)
		require.Equal(t, testkit.Brief(append(said, "user: And now?")), testkit.Brief(testkit.Lines(testkit.Conversation(back))))
		return st.SummaryUpto, turns
	}
	// A process summarises while turns are said, and is killed at every step between the
	// model's answer and its end.
	t.Run("at any step", func(t *testing.T) {
		const before, meanwhile = 40, 3
		everywhere(t, func(t *testing.T, at func() (string, store.Store)) {
			kept, lost := 0, 0
			url, db := at()
			for step, killed := 1, true; killed; step++ {
				l := &life{Store: url, User: fmt.Sprint("ann", step), Role: "summarise, slowly", Step: step}
				mem, said := l.summariser(t, db, nil), 0
				say := func(turns int) {
					for range turns {
						require.NoError(t, mem.Working().Append(t.Context(), l.turn(said)))
						said++
					}
				}
				say(before)
				c := l.start(t)
				for line, ok := c.Line(); ok; line, ok = c.Line() {
					if line == "asked" {
						say(meanwhile)
						require.NoError(t, c.Send(""))
					}
				}
				killed = c.Wait(t)
				require.Greater(t, said, before, "the model was asked")
				if upto, _ := summarised(t, l, db, said); upto > 0 {
					kept++
				} else {
					lost++
				}
			}
			require.Positive(t, kept)
			require.Positive(t, lost)
		})
	})
	// One process talks and another summarises what it said: the latter is killed over and
	// over, and the former at the end.
	t.Run("while others talk", func(t *testing.T) {
		deaths := 3
		if testkit.Long() {
			deaths = 10
		}
		everywhere(t, func(t *testing.T, at func() (string, store.Store)) {
			url, db := at()
			acknowledged, upto := 0, int64(0)
			for range deaths {
				l := &life{Store: url, User: "ann", Role: "talk", Pages: acknowledged}
				talker := l.start(t)
				for range 40 {
					_, ok := talker.Line()
					require.True(t, ok)
				}
				summariser := (&life{Store: url, User: "ann", Role: "summarise"}).start(t)
				for line := ""; line != "fitted"; {
					line, _ = summariser.Line()
				}
				for range rand.IntN(8) {
					_, ok := summariser.Line()
					require.True(t, ok)
				}
				summariser.Kill()
				talker.Kill()
				summariser.Rest()
				for _, line := range talker.Rest() {
					if _, err := fmt.Sscanf(line, "said %d", &acknowledged); err == nil { // else it was cut off
						acknowledged++
					}
				}
				summariser.Wait(t)
				talker.Wait(t)
				upto, acknowledged = summarised(t, l, db, acknowledged) // the next one goes on from there
			}
			require.Positive(t, upto)
		})
	})
}
