// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/middleware"
)

// long asks for the full sizes.
var long = os.Getenv("EINOMEM_LONG") == "1"

// killWords is how many words a page has.
const killWords = 300

// tokens is how large the window is. A page alone does not fit into the narrow one.
func (l *life) tokens() int {
	if strings.Contains(l.Role, "narrow") {
		return 800
	}
	return 3000
}

// plan is the whole session of a child that reads: what everybody says, in order.
func plan(pages int) []*schema.Message {
	out := []*schema.Message{schema.UserMessage("Hello."), schema.AssistantMessage("Hello, Ann.", nil)}
	read := func(n int) {
		id := fmt.Sprint("c", n)
		out = append(out, schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: fmt.Sprintf(`{"n":%d}`, n)}}}),
			schema.ToolMessage(pageText(n, killWords), id, schema.WithToolName("read")))
	}
	out = append(out, schema.UserMessage("Read everything."))
	for n := range pages {
		read(n)
	}
	out = append(out, schema.AssistantMessage("I have read everything.", nil), schema.UserMessage("Read one more."))
	read(pages)
	return append(out, schema.AssistantMessage("It says more of the same.", nil), schema.UserMessage("Thanks."), schema.AssistantMessage("You are welcome.", nil))
}

// sayings returns what messages say, so that it can be compared and read.
func sayings(messages []*schema.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = fmt.Sprintf("%s: %s", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			out[i] += fmt.Sprintf("%s %s(%s)", c.ID, c.Function.Name, c.Function.Arguments)
		}
	}
	return out
}

// killContext is what a model was shown in one call.
type killContext struct {
	At       int // how much of the plan was said before
	Messages []*schema.Message
}

// write appends the context to the child's file: it is there when write returns,
// whatever happens to the process.
func (c *killContext) write(l *life) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.Shown, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// shown returns what a child wrote.
func (l *life) shown(t *testing.T) []killContext {
	t.Helper()
	data, err := os.ReadFile(l.Shown)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	var out []killContext
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var c killContext
		require.NoError(t, d.Decode(&c))
		out = append(out, c)
	}
	return out
}

// calls is how many contexts a child has written so far.
func (l *life) calls() int {
	data, _ := os.ReadFile(l.Shown)
	return bytes.Count(data, []byte("\n"))
}

func (l *life) scope() middleware.Scope {
	return middleware.Scope{UserID: l.User, AgentID: "helper", SessionID: "s1"}
}

// config is that of the child and of who looks after it.
func (l *life) config(db store.Sessions) *middleware.Config {
	cfg := windowed(l.tokens())
	cfg.Sessions = db
	cfg.Working = &working.Config{Sweep: -1, Lease: time.Second}
	// One that dies while it learns keeps the session's lease, which AwaitWrite waits for.
	cfg.AwaitWrite = strings.Contains(l.Role, "await")
	if strings.Contains(l.Role, "summaries") {
		cfg.Window.Model = testkit.New(keepSummary)
	}
	return cfg
}

// keepSummary is what a model answers that is asked for a summary.
func keepSummary(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "k", Type: "function", Function: schema.FunctionCall{
		Name: "keep_summary", Arguments: `{"goal":"read everything","directives":[],"facts":["hello was said"],"failed":[],"open":[],"next":[]}`,
	}}}), nil
}

// liveByReading has the session of the plan, turn by turn, and says so after each.
func liveByReading(t *testing.T, l *life, db store.Sessions) {
	cfg := l.config(db)
	mem, err := middleware.New(context.Background(), cfg)
	require.NoError(t, err)
	all := plan(l.Pages)
	var script []testkit.Reply
	for i, m := range all {
		if m.Role == schema.Assistant {
			script = append(script, func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
				return m, (&killContext{At: i, Messages: in}).write(l)
			})
		}
	}
	a, _ := reading(t, killWords, script, mem.AgentMiddleware())
	for i, m := range all {
		if m.Role == schema.User {
			if ctx := middleware.WithScope(context.Background(), l.scope()); strings.Contains(l.Role, "wrapped") {
				drain(t, mem.WrapRunner(a.runner).Query(ctx, m.Content))
			} else {
				a.reply(ctx, m.Content)
			}
			fmt.Println("said", i)
		}
	}
	require.NoError(t, mem.Close(context.Background()))
}

// said returns how much of the plan a child acknowledged: the turns that ended.
func (l *life) said(lines []string) int {
	acknowledged, all := 0, plan(l.Pages)
	for _, line := range lines {
		var user int
		if _, err := fmt.Sscanf(line, "said %d", &user); err == nil {
			for acknowledged = user + 1; acknowledged < len(all) && all[acknowledged].Role != schema.User; acknowledged++ {
			}
		}
	}
	return acknowledged
}

// survived checks what a child left in the store, of which so much was
// acknowledged, and goes on with the session.
func (l *life) survived(t *testing.T, db store.Sessions, acknowledged int) {
	t.Helper()
	ctx, all := context.Background(), plan(l.Pages)
	mem := open(t, l.config(db))
	p, err := l.scope().Speaker()
	require.NoError(t, err)
	readLog := func() []*schema.Message {
		log, err := db.Read(ctx, p, "s1", store.Range{Limit: 10_000})
		require.NoError(t, err)
		var out []*schema.Message
		for i := range log {
			require.EqualValues(t, i+1, log[i].Seq)
			if m := log[i].Message.Message; m.Content != "" || len(m.ToolCalls) > 0 {
				out = append(out, m)
			}
		}
		return out
	}
	log := readLog()
	require.GreaterOrEqual(t, len(log), acknowledged, "what was acknowledged is there")
	require.Equal(t, sayings(all[:len(log)]), sayings(log), "each message once, in order")

	for n, c := range l.shown(t) {
		require.NoError(t, transcript.Check(c.Messages), "call %d", n)
		back, err := mem.Window().Restore(ctx, l.scope(), c.Messages)
		require.NoError(t, err, "call %d: what the model was told to be in the archives is there", n)
		require.Equal(t, brief(sayings(all[:c.At])), brief(sayings(withoutOurs(back))), "call %d: all that was said before is shown or archived", n)
	}

	l.goesOn(t, mem, log)
	require.Equal(t, append(sayings(log), "user: And now?", "assistant: Now this."), sayings(readLog()))
}

// goesOn has the next turn of a session with that log.
func (l *life) goesOn(t *testing.T, mem *middleware.MemoryMiddleware, log []*schema.Message) {
	t.Helper()
	a, _ := reading(t, killWords, []testkit.Reply{testkit.Text("Now this.")}, mem.AgentMiddleware())
	a.reply(middleware.WithScope(context.Background(), l.scope()), "And now?")
	in := a.model.Calls()[0]
	require.NoError(t, transcript.Check(in))
	require.LessOrEqual(t, compaction.Budget{Window: l.tokens(), Counter: compaction.Estimate}.Usage(in).Over(), 0)
	back, err := mem.Window().Restore(context.Background(), l.scope(), in)
	require.NoError(t, err)
	require.Equal(t, append(brief(sayings(log)), brief([]string{"user: And now?"})...), brief(sayings(withoutOurs(back))), "the context shows or names all that was said")
}

// withoutOurs leaves out what nobody said.
func withoutOurs(messages []*schema.Message) []*schema.Message {
	var out []*schema.Message
	for _, m := range messages {
		madeUp := m.Role == schema.Tool && strings.HasPrefix(m.Content, "[No result")
		if m.Role != schema.System && !einox.IsNote(m) && !madeUp {
			out = append(out, m)
		}
	}
	return out
}

// roles are the lives that are killed.
var roles = []string{"reads", "reads, await", "reads, summaries", "reads, await, summaries", "reads, narrow", "reads, narrow, wrapped"}

// killSizes says how many pages a child reads, and at how many steps it is killed.
func killSizes() (pages, deaths int) {
	switch {
	case long:
		return 40, 84
	case testing.Short() || raced:
		return 8, 6
	}
	return 10, 12
}

// dies kills children of all roles at steps that are spread over their lives.
func dies(t *testing.T, new func(user string) *life, look func(l *life, acknowledged int)) {
	t.Helper()
	pages, deaths := killSizes()
	steps, dead, alive := 0, 0, 0
	born := func(role string, step int) (lines []string, killed bool) {
		l := new(fmt.Sprintf("ann %s %d", role, step))
		l.Role, l.Pages, l.Step = role, pages, step
		l.Shown = filepath.Join(t.TempDir(), "shown")
		lines, killed = l.run(t)
		look(l, l.said(lines))
		return lines, killed
	}
	for i, role := range roles {
		if raced && i%3 != 0 {
			continue
		}
		lines, killed := born(role, 0)
		require.False(t, killed)
		_, err := fmt.Sscanf(lines[len(lines)-1], "steps %d", &steps)
		require.NoError(t, err)
		require.Greater(t, steps, 2*pages)
		t.Logf("%s: %d steps", role, steps)
		for n := range max(deaths/len(roles), 1) {
			each := steps * len(roles) / deaths
			// A life has a few steps more or less than another: one may be over before.
			if _, killed := born(role, 1+n*each+rand.IntN(each)); killed {
				dead++
			} else {
				alive++
			}
		}
	}
	require.Greater(t, dead, 3*alive)
}

func TestWorkingMemoryIsKilledAtAnyStep(t *testing.T) {
	dies(t, func(user string) *life { return &life{User: user, Store: filepath.Join(t.TempDir(), "memory.db")} },
		func(l *life, acknowledged int) {
			t.Run(strings.ReplaceAll(l.User, ", ", " "), func(t *testing.T) {
				db := openFile(t, l.Store)
				t.Cleanup(func() { require.NoError(t, db.Close()) })
				l.survived(t, db, acknowledged)
			})
		})
}

func TestOnRedisWorkingMemoryIsKilledAtAnyCommand(t *testing.T) {
	server := testredis.Need(t).Start(t)
	db, err := redisstore.New(t.Context(), server.Client(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	dies(t, func(user string) *life { return &life{User: user, Store: server.URL()} },
		func(l *life, acknowledged int) {
			t.Run(strings.ReplaceAll(l.User, ", ", " "), func(t *testing.T) { l.survived(t, db, acknowledged) })
		})
}

// Its parent kills the child at a moment that nobody chose.
func TestWorkingMemoryIsKilledAtAnyMoment(t *testing.T) {
	pages, deaths := killSizes()
	for n := range deaths / 2 {
		l := &life{User: "ann", Store: filepath.Join(t.TempDir(), "memory.db"), Role: roles[n%len(roles)], Pages: pages, Shown: filepath.Join(t.TempDir(), "shown")}
		cmd, out := l.start(t)
		var lines []string
		calls := rand.IntN(pages)
		if out.Scan() { // the first turn
			lines = append(lines, out.Text())
		}
		for l.calls() < calls {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		for out.Scan() {
			lines = append(lines, out.Text())
		}
		wasKilled(t, cmd, lines)
		t.Run(fmt.Sprintf("%s after %d calls", strings.ReplaceAll(l.Role, ", ", " "), calls), func(t *testing.T) {
			db := openFile(t, l.Store)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			l.survived(t, db, l.said(lines))
		})
	}
}
