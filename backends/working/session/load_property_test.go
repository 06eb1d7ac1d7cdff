// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// chance is what a test makes things up by, from a seed.
func chance(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// madeUp makes a log up: turns with tools in parallel, interrupted, resumed after
// others began, told out of order, with marks of their ends.
func madeUp(r *rand.Rand) []said {
	turns := madeUpTurns(r)
	var log []said
	var open [][]said
	for len(turns) > 0 || len(open) > 0 {
		if len(turns) > 0 && (len(open) == 0 || r.IntN(30) == 0) {
			open = append(open, turns[0])
			turns = turns[1:]
		}
		k := len(open) - 1
		if r.IntN(8) == 0 {
			k = r.IntN(len(open))
		}
		at := 0
		if r.IntN(20) == 0 {
			at = r.IntN(len(open[k]))
		}
		one := open[k][at]
		if open[k] = slices.Delete(open[k], at, at+1); len(open[k]) == 0 {
			open = slices.Delete(open, k, k+1)
			one.done = r.IntN(4) > 0
		}
		log = append(log, one)
		if !one.done && r.IntN(8) == 0 {
			log = append(log, mark(one.turn))
			log[len(log)-1].id = fmt.Sprint(one.turn, "-", one.index, "done")
		}
	}
	return log
}

func madeUpTurns(r *rand.Rand) [][]said {
	var turns [][]said
	for range 1 + r.IntN(4) {
		h := transcript.New(r, &transcript.Shape{Rounds: 12, Tokens: 20, Broken: true})
		for _, m := range h.Messages {
			if m == nil || m.Role == schema.System || m.Role == "function" || einox.IsNote(m) || alike(m) {
				continue // not what the log has, or what nobody can repair by moving it
			}
			if m.Role == schema.User || len(turns) == 0 {
				turns = append(turns, nil)
			}
			n := len(turns) - 1
			turns[n] = append(turns[n], said{turn: fmt.Sprint("t", n), index: len(turns[n]), msg: m, tokens: 1 + r.IntN(60)})
		}
	}
	return turns
}

// alike reports whether calls of the message cannot be told apart.
func alike(m *schema.Message) bool {
	seen := map[string]bool{"": true}
	for _, c := range m.ToolCalls {
		if seen[c.ID] {
			return true
		}
		seen[c.ID] = true
	}
	return false
}

func TestLoadProperty(t *testing.T) {
	c := newClock()
	db := openSQLite(t, ":memory:", c.Now)
	n := 0
	longest := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, db, c)
		n++
		scope := ann
		scope.SessionID = fmt.Sprint("s", n)
		log := madeUp(chance(rapid.Uint64().Draw(t, "log")))
		longest = max(longest, len(log))
		w.say(scope, log...)
		r := &session.LoadRequest{Scope: scope}
		if rapid.Bool().Draw(t, "limit tokens") {
			r.Tokens = rapid.IntRange(1, 3000).Draw(t, "tokens")
		}
		if rapid.Bool().Draw(t, "limit messages") {
			r.Messages = rapid.IntRange(1, 100).Draw(t, "messages")
		}
		var upto int64
		if rapid.Bool().Draw(t, "summarised") {
			upto = rapid.Int64Range(0, int64(len(log))).Draw(t, "summary")
			gist := "the gist"
			_, err := db.Update(context.Background(), partition(t, scope), &store.SessionUpdate{Session: scope.SessionID, Summary: &gist, SummaryUpto: &upto})
			require.NoError(t, err)
		}
		checkHistory(t, w.entries(scope), upto, r, w.load(r))
	})
	require.Greater(t, longest, 100, "some logs take several pages")
}

// checkHistory holds what was loaded against the whole log.
func checkHistory(t tb, log []store.Entry, summary int64, r *session.LoadRequest, h *session.History) {
	t.Helper()
	asked := append(h.Messages[:len(h.Messages):len(h.Messages)], schema.UserMessage("and now?"))
	require.NoError(t, transcript.Check(asked))
	require.Equal(t, log[len(log)-1].Seq, h.Upto)
	require.Equal(t, h.From-1-summary, h.Earlier)

	// Every message is in the window once, or named by what stands before it.
	covered := map[int64]int{}
	for _, m := range h.Messages {
		seq := einox.SeqOf(m)
		switch ref := einox.RefOf(m); {
		case ref == "" && seq > 0:
			covered[seq]++
			e := log[seq-1]
			require.Equal(t, e.Turn, einox.TurnOf(m))
			require.Equal(t, e.Role, m.Role)
			require.Equal(t, e.Content, m.Content)
			index, ok := einox.IndexOf(m)
			require.True(t, ok)
			require.Equal(t, e.ID, fmt.Sprintf("%s-%d", e.Turn, index))
		case ref != "":
			from, upto := parseRef(t, ref)
			require.Equal(t, upto, seq)
			for s := from; s <= upto; s++ {
				covered[s]++
			}
		}
	}
	for i := range log {
		if e := &log[i]; e.Seq < h.From || !saysNothing(e.Message.Message) {
			require.Equal(t, 1, covered[e.Seq], "message %d of %d", e.Seq, len(log))
		}
	}
	if h.From > h.Upto {
		require.Equal(t, summary, h.Upto)
		return
	}
	checkBegin(t, log, summary, r, h)
	checkOrder(t, h)
}

// checkBegin: the window begins with a turn, the newest turn is whole, and the
// window is within the limits or has hardly more than the newest turn.
func checkBegin(t tb, log []store.Entry, summary int64, r *session.LoadRequest, h *session.History) {
	t.Helper()
	from := int(h.From) - 1
	begin := int(summary)
	require.Equal(t, h.Earlier > 0, begin < from)
	require.True(t, begins(log[begin:], from-begin), "it begins with a turn")
	last := len(log) - 1
	for last > from && saysNothing(log[last].Message.Message) {
		last--
	}
	tokens, messages := 0, 0
	for i := from; i < len(log); i++ {
		if !saysNothing(log[i].Message.Message) {
			tokens += log[i].Tokens
			messages++
		}
	}
	most := r.Messages
	if most == 0 {
		most = 1000
	}
	newest := begin
	for newest < last && (log[newest].Turn != log[last].Turn || saysNothing(log[newest].Message.Message)) {
		newest++
	}
	within := messages <= most && (r.Tokens == 0 || tokens <= r.Tokens)
	said := from
	for said < last && saysNothing(log[said].Message.Message) {
		said++
	}
	require.True(t, within || log[said].Turn == log[last].Turn, "within the limits, or the newest turn")
	if newest >= last-most && strings.HasSuffix(log[newest].ID, "-0") || contiguous(log[newest:last+1]) {
		require.LessOrEqual(t, from, newest, "the newest turn is whole")
	}
	if from == begin || !within {
		return
	}
	// What comes before would not fit, or is not worth its cut turns.
	before := from
	for moreTokens, more := tokens, messages; before > begin; {
		before--
		if !saysNothing(log[before].Message.Message) {
			moreTokens += log[before].Tokens
			more++
		}
		if saysNothing(log[before].Message.Message) || !begins(log[begin:], before-begin) {
			continue
		}
		fits := more <= most && (r.Tokens == 0 || moreTokens <= r.Tokens)
		require.False(t, fits && 2*messages < more, "a window from message %d has more than twice as much, and fits", before+1)
		require.False(t, fits && clean(log[begin:], before-begin), "a window from message %d cuts no turn, and fits", before+1)
	}
}

// begins reports whether what was said before a place was of another turn.
func begins(log []store.Entry, at int) bool {
	for i := at - 1; i >= 0; i-- {
		if !saysNothing(log[i].Message.Message) {
			return log[i].Turn != log[at].Turn
		}
	}
	return true
}

func contiguous(entries []store.Entry) bool {
	for i := range entries {
		if entries[i].Turn != entries[0].Turn {
			return false
		}
	}
	return true
}

// clean reports whether no turn lies on both sides of a place in the log.
func clean(log []store.Entry, at int) bool {
	before := map[string]bool{}
	for i := range log {
		if saysNothing(log[i].Message.Message) {
			continue
		}
		if i < at {
			before[log[i].Turn] = true
		} else if before[log[i].Turn] {
			return false
		}
	}
	return true
}

// checkOrder: messages of a turn stand together and in order, but for results,
// which stand behind their calls; turns stand in the order of their first message.
func checkOrder(t tb, h *session.History) {
	t.Helper()
	ended := map[string]bool{}
	turn, index := "", -1
	first := int64(0)
	begins := map[string]int64{}
	for _, m := range h.Messages {
		if id := einox.TurnOf(m); id != "" {
			if seq := einox.SeqOf(m); seq > 0 && (begins[id] == 0 || seq < begins[id]) {
				begins[id] = seq
			}
		}
	}
	for _, m := range h.Messages {
		id := einox.TurnOf(m)
		if id == "" {
			continue
		}
		if id != turn {
			require.False(t, ended[id], "the messages of a turn stand together")
			ended[turn] = true
			turn, index = id, -1
			require.Greater(t, begins[id], first)
			first = begins[id]
		}
		if at, ok := einox.IndexOf(m); ok && m.Role != schema.Tool {
			require.Greater(t, at, index)
			index = at
		}
	}
}

func parseRef(t tb, ref string) (from, upto int64) {
	t.Helper()
	n, err := fmt.Sscanf(strings.ReplaceAll(ref, "-", " "), "log %d %d", &from, &upto)
	if n == 1 {
		return from, from
	}
	require.NoError(t, err, ref)
	return from, upto
}

func saysNothing(m *schema.Message) bool {
	return strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 && m.ToolCallID == "" && len(m.UserInputMultiContent) == 0 && len(m.AssistantGenMultiContent) == 0 && len(m.MultiContent) == 0
}
