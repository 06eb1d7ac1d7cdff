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
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/middleware"
)

// Every turn of these tests has a number of its own. The summariser takes over the
// numbers of whatever it is shown, so that a summary says of which turns it tells.
var turnNumber = regexp.MustCompile(`turns?(\d+)(?:to(\d+))?end`)

// skipped is how a summary names a stretch of the log that was not loaded.
var skipped = regexp.MustCompile(`earlier messages of this conversation are not shown\. They are kept under log-(\d+)-(\d+)`)

// numbered returns the numbers of the turns that a text tells of, ascending.
func numbered(text string) []int {
	var out []int
	for _, m := range turnNumber.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[1])
		upto, err := strconv.Atoi(m[2])
		if err != nil {
			upto = from
		}
		for n := from; n <= upto; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// named returns the numbers of the turns that a text says are not told of.
func named(text string) []int {
	var out []int
	for _, m := range skipped.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[1])
		upto, _ := strconv.Atoi(m[2])
		for seq := from; seq <= upto; seq++ {
			out = append(out, (seq-1)/2)
		}
	}
	return out
}

// inShort returns a text with the same numbers.
func inShort(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		out = append(out, fmt.Sprintf("turns%dto%dend", numbers[i], numbers[j]))
		i = j + 1
	}
	return strings.Join(out, " ")
}

// markedTurn is the turn n of a talk.
func markedTurn(l *life, id string, n int) *working.Turn {
	return &working.Turn{Scope: l.scope(), ID: id, Done: true, Messages: []*schema.Message{
		schema.UserMessage(fmt.Sprintf("turn%dend. %s", n, pageText(n, 20))), schema.AssistantMessage("Noted. "+pageText(n, 20), nil),
	}}
}

// summarised is a configuration in which past rounds are summarised by m, and
// nothing is done before that.
func summarised(l *life, db store.Sessions, m model.BaseChatModel) *middleware.Config {
	cfg := windowed(2000)
	cfg.Sessions, cfg.Working = db, &working.Config{Sweep: -1}
	cfg.Window.HistoryTokens = 1 << 30 // whatever is not summarised
	cfg.Window.Model = m
	cfg.Window.Steps = []compaction.Step{compaction.SummarizeRounds{Model: m}, compaction.ArchiveRounds{}}
	return cfg
}

// keepNumbers answers with the numbers that it is shown. before runs first.
func keepNumbers(before func()) testkit.Reply {
	return func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
		before()
		arguments, err := json.Marshal(map[string]any{"goal": "talk", "directives": []string{}, "facts": []string{inShort(numbered(in[len(in)-1].Content))}, "failed": []string{}, "open": []string{}, "next": []string{}})
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "k", Type: "function", Function: schema.FunctionCall{Name: "keep_summary", Arguments: string(arguments)}}}), err
	}
}

// liveByTalking appends a turn after another until it is killed, and says so.
func liveByTalking(t *testing.T, l *life, db store.Sessions) {
	mem, err := middleware.New(context.Background(), summarised(l, db, testkit.New(keepNumbers(func() {}))))
	require.NoError(t, err)
	for n := l.Pages; ; n++ {
		require.NoError(t, mem.Working().Append(context.Background(), markedTurn(l, fmt.Sprint("t", n), n)))
		fmt.Println("said", n)
	}
}

// liveBySummarising fits what was said, again and again, or once and slowly: then
// it waits to be told before the model answers, and its steps count from there.
func liveBySummarising(t *testing.T, l *life, db store.Sessions) {
	slowly := l.Role == "summarises slowly"
	in := bufio.NewScanner(os.Stdin)
	mem, err := middleware.New(context.Background(), summarised(l, db, testkit.New(keepNumbers(func() {
		fmt.Println("asked")
		if slowly {
			in.Scan()
			l.steps.Store(0)
		}
	}))))
	require.NoError(t, err)
	if slowly {
		l.steps.Store(math.MinInt32)
	}
	ctx, w := context.Background(), mem.Window()
	for n := 0; n == 0 || !slowly; n++ {
		history, err := w.History(ctx, l.scope())
		require.NoError(t, err)
		_, err = w.Fit(ctx, l.scope(), append(history, schema.UserMessage("And now?")))
		require.NoError(t, err)
		fmt.Println("fitted")
	}
}

// talked checks a session of which so many turns were acknowledged: every turn is in
// the log, once and whole, and it is behind what is summarised or told by the
// summary. It returns how far that reaches.
func (l *life) talked(t *testing.T, db store.Sessions, acknowledged int) int64 {
	t.Helper()
	ctx := context.Background()
	mem := open(t, summarised(l, db, testkit.New(keepNumbers(func() {}))))
	p, err := l.scope().Speaker()
	require.NoError(t, err)
	st, err := db.Session(ctx, p, "s1")
	require.NoError(t, err)
	turns := st.LastSeq / 2
	require.GreaterOrEqual(t, turns, int64(acknowledged))
	var log []store.Entry
	for int64(len(log)) < st.LastSeq {
		page, err := db.Read(ctx, p, "s1", store.Range{After: int64(len(log)), Limit: 10_000})
		require.NoError(t, err)
		require.NotEmpty(t, page)
		log = append(log, page...)
	}
	var all []string
	told := append(numbered(st.Summary), named(st.Summary)...)
	firstNamed := 0 // stretches before it are counted alone, when they are too many to name
	if strings.Contains(st.Summary, "older messages, which the archive above holds") {
		firstNamed = slices.Min(named(st.Summary))
	}
	for i := range log {
		n := i / 2
		require.Equal(t, fmt.Sprintf("t%d-%d", n, i%2), log[i].ID)
		all = append(all, sayings([]*schema.Message{log[i].Message.Message})...)
		if log[i].Seq <= st.SummaryUpto && n >= firstNamed {
			require.Contains(t, told, n, "it is summarised, and the summary tells of it or names it: %s", st.Summary)
		}
	}
	history, err := mem.Window().History(ctx, l.scope())
	require.NoError(t, err)
	require.NoError(t, transcript.Check(append(history, schema.UserMessage("And now?"))))
	fitted, err := mem.Window().Fit(ctx, l.scope(), append(history, schema.UserMessage("And now?")))
	require.NoError(t, err)
	require.NoError(t, transcript.Check(fitted.Messages))
	back, err := mem.Window().Restore(ctx, l.scope(), fitted.Messages)
	require.NoError(t, err)
	require.Equal(t, brief(append(all, "user: And now?")), brief(sayings(withoutOurs(back))))
	return st.SummaryUpto
}

// killedSummarising has a child summarise while turns are said, and kills it at
// every step between the model's answer and the end.
func killedSummarising(t *testing.T, db store.Sessions, at string) {
	const before, meanwhile = 40, 3
	kept, lost := 0, 0
	stride := 1
	if raced {
		stride = 4
	}
	for step, killed := 1, true; killed; step += stride {
		l := &life{Store: at, User: fmt.Sprint("ann", step), Role: "summarises slowly", Step: step}
		mem := open(t, summarised(l, db, testkit.New(keepNumbers(func() {}))))
		for n := range before {
			require.NoError(t, mem.Working().Append(t.Context(), markedTurn(l, fmt.Sprint("t", n), n)))
		}
		c, out := l.start(t)
		said := before
		var lines []string
		for out.Scan() {
			lines = append(lines, out.Text())
			if out.Text() != "asked" {
				continue
			}
			for range meanwhile {
				require.NoError(t, mem.Working().Append(t.Context(), markedTurn(l, fmt.Sprint("t", said), said)))
				said++
			}
			c.goOn(t)
		}
		killed = wasKilled(t, c, lines)
		require.Contains(t, lines, "asked")
		if l.talked(t, db, said) > 0 {
			kept++
		} else {
			lost++
		}
	}
	t.Logf("killed at %d steps: the summary was kept after %d, and not after %d", kept+lost-1, kept, lost)
	require.Positive(t, kept)
	require.Positive(t, lost)
}

func TestASummariserIsKilledAtAnyStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	db := openFile(t, path)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	killedSummarising(t, db, path)
}

func TestOnRedisASummariserIsKilledAtAnyCommand(t *testing.T) {
	server := testredis.Need(t).Start(t)
	db, err := redisstore.New(t.Context(), server.Client(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	killedSummarising(t, db, server.URL())
}

// killedInACrowd has one process talk and another one summarise what it said, and
// kills the latter over and over, and the former at the end.
func killedInACrowd(t *testing.T, db store.Sessions, at string) {
	deaths, upto, acknowledged := 3, int64(0), 0
	switch {
	case long:
		deaths = 10
	case raced:
		deaths = 1
	}
	l := &life{Store: at, User: "ann"}
	for range deaths {
		talker := &life{Store: at, User: "ann", Role: "talks", Pages: acknowledged}
		talks, heard := talker.start(t)
		for range 40 {
			require.True(t, heard.Scan())
		}
		summariser := &life{Store: at, User: "ann", Role: "summarises"}
		summarises, told := summariser.start(t)
		for told.Text() != "fitted" {
			require.True(t, told.Scan())
		}
		for range rand.IntN(8) {
			require.True(t, told.Scan())
		}
		require.NoError(t, summarises.Process.Kill())
		require.NoError(t, talks.Process.Kill())
		for told.Scan() {
		}
		for heard.Scan() {
			if _, err := fmt.Sscanf(heard.Text(), "said %d", &acknowledged); err != nil {
				break // it was cut off
			}
			acknowledged++
		}
		wasKilled(t, summarises, nil)
		wasKilled(t, talks, nil)
		upto = l.talked(t, db, acknowledged)
		p, err := l.scope().Speaker()
		require.NoError(t, err)
		st, err := db.Session(t.Context(), p, "s1")
		require.NoError(t, err)
		acknowledged = int(st.LastSeq / 2) // the next one goes on from there
	}
	require.Positive(t, upto)
	t.Logf("%d turns, %d messages summarised", acknowledged, upto)
}

func TestASummariserIsKilledWhileOthersTalk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	db := openFile(t, path)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	killedInACrowd(t, db, path)
}

func TestOnRedisASummariserIsKilledWhileOthersTalk(t *testing.T) {
	server := testredis.Need(t).Start(t)
	db, err := redisstore.New(t.Context(), server.Client(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	killedInACrowd(t, db, server.URL())
}
