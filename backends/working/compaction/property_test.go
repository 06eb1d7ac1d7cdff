// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

// plan is how a context is to be compacted.
type plan struct {
	cfg      *compaction.Config
	complete bool         // the steps are all that there are
	model    string       // how the model answers; "" when there is none
	fails    int64        // one in so many writes to the archive fails; 0: none
	calls    atomic.Int64 // of the model
}

// draw draws a plan for a context of so many tokens: often one that halves it, at times one
// that it fits, at times one that nothing fits.
func (p *plan) draw(t *rapid.T, tokens int) {
	limit := max(1, tokens*rapid.IntRange(1, 110).Draw(t, "percent")/100)
	b := compaction.Budget{Window: limit, Answer: -1, Tools: -1}
	p.fails = rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 1, 2, 3}).Draw(t, "fails")
	p.model = rapid.SampledFrom([]string{"good", "long", "chatty", "empty", "broken", "moody"}).Draw(t, "model")
	m := p.chat()
	p.cfg = &compaction.Config{Budget: b}
	switch name := rapid.SampledFrom([]string{"free", "default", "several", "compact", "compress", "auto"}).Draw(t, "steps"); name {
	case "free":
		p.model, p.complete = "", true
	case "default":
		p.cfg.Steps, p.complete = compaction.Default(m), true
	case "several":
		all := append(compaction.Default(m), compaction.OffloadTools{Over: 50, KeepRecent: 2, Preview: 40}, compaction.OffloadMessages{Over: 100, KeepRecent: 1, Preview: 20},
			compaction.OffloadTools{Over: 1, Preview: 5}, compaction.SummarizeRounds{Model: m, GroupTokens: 300})
		p.cfg.Steps = rapid.Permutation(all).Draw(t, "order")[:rapid.IntRange(1, len(all)).Draw(t, "many")]
	default:
		params := compaction.DefaultParams()
		params.WorkingSummaryMode, params.MaxTotalTokens, params.Model, params.Budget = compaction.Mode(name), limit, m, b
		params.MaxToolMessageTokens = rapid.SampledFrom([]int{2000, 200, 20}).Draw(t, "large")
		params.GroupTokenThreshold = rapid.SampledFrom([]int{0, 300}).Draw(t, "group")
		params.KeepRecentCount, params.PreviewCharLength = rapid.IntRange(0, 10).Draw(t, "recent"), rapid.SampledFrom([]int{0, 60}).Draw(t, "preview")
		var err error
		p.cfg, err = compaction.ReMe(params)
		require.NoError(t, err)
		return
	}
	if limit > 10 {
		p.cfg.Trigger = rapid.SampledFrom([]float64{1, 1, 1, 0.8}).Draw(t, "trigger")
	}
}

// replies are the ways in which models answer.
var replies = map[string]testkit.Reply{
	"good": answer{Goal: "help Ann", Facts: []string{"Ann waits for a parcel."}}.reply(), "long": answer{Facts: []string{strings.Repeat("and then this was said, and that, ", 20_000)}}.reply(),
	"chatty": testkit.Text("Certainly! What would you like me to do?"), "empty": testkit.Text(""), "broken": testkit.Fail(backends.ErrUnavailable),
}

// chat is the model of a plan.
func (p *plan) chat() model.BaseChatModel {
	return testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		how, n := p.model, p.calls.Add(1)
		if how == "moody" {
			how = []string{"good", "broken", "chatty", "long"}[n%4]
		}
		return replies[how](ctx, in, o)
	})
}

// distinct are the ids that histories have where these are as they should be.
var distinct = regexp.MustCompile(`^(call_|search-|read_file-|run_shell-|query_weather-|research_agent-)`)

// blurred reports whether the ids of a message's calls, or of its result, are not unique,
// or were not: of these only the words are the same when they come back.
func blurred(m *schema.Message) bool {
	id := m.ToolCallID
	if len(m.ToolCalls) > 0 {
		id = m.ToolCalls[0].ID
	}
	return len(m.ToolCalls)+len(m.ToolCallID) > 0 && !distinct.MatchString(id)
}

var reference = regexp.MustCompile(`\b(log-[1-9][0-9]*(-[1-9][0-9]*)?|a-[a-z2-7]{20})\b`)

// Whatever the history, the budget and the steps, and however often it goes on and is
// compacted again: what comes out is taken by providers, fits or says truly that it cannot,
// keeps what it must, and everything that left can be read, found and brought back. There
// are a thousand histories, three thousand with EINOMEM_LONG=1; each hundred is a test of its
// own, so that -run repeats a part.
func TestPropertyCompaction(t *testing.T) {
	testkit.SlowUnderRace(t)
	hundreds := 10
	if testkit.Long() {
		hundreds = 30
	}
	spy := testkit.Spy(testkit.SQLite(t))
	archives, err := archive.New(&archive.Config{Sessions: spy})
	require.NoError(t, err)
	roomy, err := compaction.New(&compaction.Config{Budget: compaction.Budget{Window: 1 << 30}})
	require.NoError(t, err)
	var filler []transcript.Words // what the repair says instead of a result
	for _, language := range []string{"hello", "你好"} {
		r, err := roomy.Compact(t.Context(), &compaction.Request{Messages: []*schema.Message{user(language), calls("c")}})
		require.NoError(t, err)
		filler = append(filler, transcript.WordsOf(r.Messages[2]))
	}
	sessions := 0
	property := func(t *rapid.T) {
		sessions++
		scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", sessions)}
		x, err := archives.Of(scope)
		require.NoError(t, err)
		partition, err := scope.Speaker()
		require.NoError(t, err)
		repair := func(messages []*schema.Message) []*schema.Message {
			r, err := roomy.Compact(t.Context(), &compaction.Request{Messages: messages})
			require.NoError(t, err)
			return r.Messages
		}
		restore := func(messages []*schema.Message) []*schema.Message {
			out, err := x.Restore(t.Context(), messages)
			require.NoError(t, err)
			return out
		}
		equal := func(want, got []string, what string) { // shows the first that differ only: they may be huge
			for i := range max(len(want), len(got)) {
				w, g := "(none)", "(none)"
				if i < len(want) {
					w = want[i]
				}
				if i < len(got) {
					g = got[i]
				}
				require.True(t, w == g, "%s: text %d of %d and %d:\n%.600s\n%.600s", what, i, len(want), len(got), w, g)
			}
		}
		same := func(want, got []*schema.Message, what string) { // as it is stored
			if slices.ContainsFunc(want, blurred) {
				others := slices.DeleteFunc(slices.Clone(want), einox.IsNote)
				require.Empty(t, transcript.WordsOf(others...).Without(append(filler, transcript.WordsOf(got...))...), what)
				return
			}
			equal(said(repair(want), false), said(repair(got), false), what)
		}

		source := testkit.Drawn(t)
		h := transcript.New(source, &transcript.Shape{Rounds: 4, Broken: rapid.Bool().Draw(t, "broken"), Logged: true, Tokens: 1200})
		log := &store.Append{Scope: scope}
		for i, m := range h.Log {
			stored := *m
			stored.Extra, stored.ResponseMeta = nil, nil
			log.Entries = append(log.Entries, store.Entry{Message: backends.Message{ID: fmt.Sprint("m", i), Turn: einox.MarkOf(m).Turn, Time: time.Unix(1_795_000_000, 0).UTC(), Message: &stored}})
		}
		if len(h.Log) > 0 {
			_, err = spy.Append(t.Context(), partition, scope.SessionID, log)
			require.NoError(t, err)
		}
		p := &plan{}
		p.draw(t, compaction.Estimate(strings.Join(said(h.Messages, true), ""))*4/5)
		budget, err := p.cfg.Budget.WithDefaults()
		require.NoError(t, err)
		compactor, err := compaction.New(p.cfg)
		require.NoError(t, err)
		writes := int64(0)
		spy.Arm(func(c *testkit.StoreCall) error {
			if c.Method == "PutBlob" {
				if writes++; p.fails > 0 && writes%p.fails == 0 {
					return errFull
				}
			}
			return nil
		})
		defer spy.Arm(nil)

		now := h.Messages
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			repaired := repair(now)
			require.NoError(t, transcript.Check(repaired), "repaired")
			require.Empty(t, transcript.WordsOf(now...).Without(transcript.WordsOf(repaired...)), "repaired")
			whole, rounds := restore(repaired), einox.Rounds(einox.Decode(repaired))
			running := rounds[len(rounds)-1]
			before := said(now, true)
			p.calls.Store(0)
			r, err := compactor.Compact(t.Context(), &compaction.Request{Messages: now, Archive: x})
			require.NotNil(t, r)
			require.NoError(t, transcript.Check(r.Messages), "providers take it")
			equal(before, said(now, true), "neither the slice nor a message is changed")
			same(whole, restore(r.Messages), "all comes back, in its order")

			require.Equal(t, budget.Usage(repaired), r.Before)
			require.Equal(t, budget.Usage(r.Messages), r.After)
			if r.After.Over() <= 0 {
				require.NoError(t, err)
			} else {
				require.ErrorAs(t, err, new(*compaction.OverError))
				if p.complete && p.fails == 0 {
					// All steps together leave the system prompts and the core blocks, the running
					// user messages, shortened, the newest exchange with placeholders for its results,
					// and one placeholder each for the past and for the older exchanges.
					const many, one = 300, 200 // tokens of a placeholder
					tokens, left, newest := 2*many, []*schema.Message(nil), running.From
					for _, e := range einox.Exchanges(einox.Decode(repaired), running) {
						newest = e.From
					}
					for i, m := range repaired {
						switch {
						case i >= newest && (m.Role == schema.Tool || m.Role == schema.User && einox.MarkOf(m).Kind == einox.Summary),
							i >= running.From && einox.DecodeOne(m).Asks() && einox.MarkOf(m).Private == "" && einox.MarkOf(m).Ref == "" && !einox.HasParts(m):
							tokens += min(compaction.Estimate.Message(m), one)
						case m.Role == schema.System, einox.MarkOf(m).Kind == einox.Core, einox.MarkOf(m).Kind == einox.Note, i >= newest, i >= running.From && einox.DecodeOne(m).Asks():
							left = append(left, m)
						}
					}
					require.Greater(t, tokens+budget.Usage(left).Tokens, r.After.Limit, "%d tokens are left of %d", r.After.Tokens, r.Before.Tokens)
				}
			}
			saved := 0
			for _, s := range r.Steps {
				saved += s.Saved
				require.GreaterOrEqual(t, s.Saved, 0, "%s made it larger", s.Step)
				require.True(t, s.Replaced > 0 || s.Saved == 0, "%s saved without replacing", s.Step)
			}
			require.Equal(t, r.Before.Tokens-r.After.Tokens, saved)
			require.EqualValues(t, p.calls.Load(), r.Usage.ModelCalls)
			if r.Before.Over() <= 0 && p.cfg.Trigger == 1 {
				require.Empty(t, r.Steps, "nothing was to be done")
			}

			rest := said(repaired, true)
			for i, text := range said(r.Messages, true) {
				if at := slices.Index(rest, text); at >= 0 {
					rest = rest[at+1:]
				} else {
					require.NotEmpty(t, einox.MarkOf(r.Messages[i]).Ref, "new, or out of its order, and no placeholder: %.300s", text)
				}
			}
			for i, m := range repaired {
				if asks := i >= running.From && einox.DecodeOne(m).Asks(); m.Role == schema.System || asks {
					shortened := func(n *schema.Message) bool {
						return asks && n.Role == schema.User && slices.Contains(said(restore([]*schema.Message{n}), false), said([]*schema.Message{m}, false)[0])
					}
					require.True(t, slices.ContainsFunc(r.Messages, func(n *schema.Message) bool { return reflect.DeepEqual(n, m) || shortened(n) }), "what the system says and the running user messages stay")
				}
			}
			if r.Summary != nil {
				require.True(t, 0 < r.Summary.Upto && r.Summary.Upto <= int64(len(h.Log)), "up to %d", r.Summary.Upto)
				for _, m := range r.Messages {
					seq := einox.MarkOf(m).Seq
					require.True(t, einox.MarkOf(m).Kind == einox.Summary || seq == 0 || seq > r.Summary.Upto, "message %d of the log stays, and the summary covers it", seq)
				}
			}

			// An agent with the tools follows all archives that the context stands for or shows. A
			// message may quote what looks like the id of an archive and is none.
			read, found := map[string]bool{}, transcript.WordsOf(r.Messages...)
			var follow func(ref string, shown string)
			follow = func(ref, shown string) {
				for _, id := range append(reference.FindAllString(shown, -1), ref) {
					if id == "" || read[id] {
						continue
					}
					read[id] = true
					for page := (&archive.Page{More: true}); page.More; {
						var err error
						if page, err = x.Read(t.Context(), &archive.ReadRequest{Ref: id, Byte: page.NextByte, Bytes: 64 << 10}); err != nil {
							require.NotEqual(t, ref, id, err)
							break
						}
						found.Add(page.Text)
						follow("", page.Text)
					}
				}
			}
			for _, m := range r.Messages {
				if ref := einox.MarkOf(m).Ref; ref != "" || einox.IsNote(m) {
					follow(ref, m.Content)
				}
			}
			here, gone := transcript.WordsOf(r.Messages...), []string(nil)
			for _, m := range whole {
				if !einox.IsNote(m) {
					require.Empty(t, transcript.WordsOf(m).Without(append(filler, found)...), "what %s said is nowhere to be read", m.Role)
					gone = append(gone, transcript.WordsOf(m).Without(append(filler, here)...)...)
				}
			}
			if len(gone) > 0 {
				slices.Sort(gone)
				word := rapid.SampledFrom(gone).Draw(t, "word")
				matches, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: strings.ToValidUTF8(word[:min(len(word), 1000)], ""), CaseSensitive: true})
				require.NoError(t, err)
				require.NotEmpty(t, matches.Matches, "%q is not found", word)
			}

			if r.After.Over() <= 0 && p.cfg.Trigger == 1 {
				again, err := compactor.Compact(t.Context(), &compaction.Request{Messages: r.Messages, Archive: x})
				require.NoError(t, err)
				equal(said(r.Messages, true), said(again.Messages, true), "it fits now")
				require.Empty(t, again.Steps)
			}
			if p.fails == 0 && p.model == "good" {
				again, _ := compactor.Compact(t.Context(), &compaction.Request{Messages: now, Archive: x})
				require.Zero(t, again.Usage.ModelCalls, "the same was asked before")
				equal(said(r.Messages, true), said(again.Messages, true), "the same comes out")
			}
			now = slices.Clone(r.Messages)
			for _, m := range transcript.New(source, &transcript.Shape{Rounds: 2, Tokens: 800}).Messages {
				if m.Role != schema.System && einox.MarkOf(m).Kind != einox.Core {
					now = append(now, m)
				}
			}
		}
		spy.Arm(nil)
		require.NoError(t, spy.Delete(context.Background(), partition, scope.SessionID))
	}
	for i := range hundreds {
		t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, property) })
	}
}
