// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

// disk is a store of which writes may fail, and the archive of a session on it.
type disk struct {
	store.Sessions
	archive *archive.Archive
	mu      sync.Mutex
	fails   func(write int) bool
	names   []string // of what was written
}

var errDisk = errors.New("the disk is full")

// PutBlob implements [store.Blobs].
func (d *disk) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = append(d.names, name)
	if d.fails != nil && d.fails(len(d.names)) {
		return errDisk
	}
	return d.Sessions.PutBlob(ctx, p, session, name, data)
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	db, err := sqlitestore.Open(t.Context(), sqlitestore.Memory, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	d := &disk{Sessions: db}
	all, err := archive.New(&archive.Config{Sessions: d})
	require.NoError(t, err)
	d.archive, err = all.Of(backends.Scope{UserID: "ann", SessionID: "s1"})
	require.NoError(t, err)
	return d
}

// toolRounds are rounds with a call each, whose results have size characters.
func toolRounds(from, to, size int) (out []*schema.Message) {
	for n := from; n <= to; n++ {
		id := fmt.Sprint("call", n)
		out = append(out, schema.UserMessage(fmt.Sprintf("question %d about the harbour", n)),
			schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: "search", Arguments: fmt.Sprintf(`{"n":%d}`, n)}}}),
			schema.ToolMessage(padded(fmt.Sprintf("result %d of the harbour", n), size), id, schema.WithToolName("search")),
			schema.AssistantMessage(fmt.Sprintf("answer %d", n), nil))
	}
	return out
}

// DEF-23: wherever the recent messages would begin, no result loses its call.
func TestDEF23CutsRespectPairing(t *testing.T) {
	in := append([]*schema.Message{schema.SystemMessage("You help.")}, toolRounds(1, 8, 20_000)...)
	in = append(in, schema.UserMessage("and now?"))
	for n := range 14 {
		p := remeParams(compaction.ModeCompress, recent(n), func(p *compaction.Params) {
			p.Model, p.MaxTotalTokens = testkit.New(harbour.calls(t)), 15_000
			p.Budget.Window, p.Budget.Answer = 100_000, -1
		})
		r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
		require.NoError(t, err)
		require.Less(t, len(r.Messages), len(in), n)
		require.NoError(t, transcript.Check(r.Messages), n)
		require.GreaterOrEqual(t, len(r.Messages)-2, n, "what is recent stays")
	}
}

// DEF-24: a second compression does not write over the archive of the first.
func TestDEF24ArchivesAreImmutable(t *testing.T) {
	d := newDisk(t)
	p := remeParams(compaction.ModeCompress, recent(1), func(p *compaction.Params) { p.Model = testkit.New(harbour.calls(t)) })
	c := remeOf(t, p)
	first := append(toolRounds(1, 6, 20_000), schema.UserMessage("go on"))
	r, err := c.Compact(t.Context(), &compaction.Request{Messages: first, Archive: d.archive})
	require.NoError(t, err)
	ref := einox.RefOf(r.Messages[0])
	one, err := d.archive.Messages(t.Context(), ref)
	require.NoError(t, err)

	again := append(slices.Clone(r.Messages), schema.AssistantMessage("going on", nil))
	again = append(append(again, toolRounds(7, 12, 20_000)...), schema.UserMessage("go on"))
	r, err = c.Compact(t.Context(), &compaction.Request{Messages: again, Archive: d.archive})
	require.NoError(t, err)
	require.NotEqual(t, ref, einox.RefOf(r.Messages[0]))
	still, err := d.archive.Messages(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, one, still)
	back, err := d.archive.Restore(t.Context(), r.Messages)
	require.NoError(t, err)
	require.Equal(t, texts(append(first, again[2:]...)), texts(back), "every original comes back, in its order")
}

func texts(messages []*schema.Message) (out []string) {
	for _, m := range messages {
		out = append(out, string(m.Role)+m.Content+m.ToolCallID)
	}
	return out
}

// DEF-25: what auto compresses is what compaction left: results that were offloaded
// are not put into the prompt again, and their references survive.
func TestDEF25AutoCompressesWhatWasCompacted(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	p := remeParams(compaction.ModeAuto, recent(3), func(p *compaction.Params) { p.Model, p.CompactRatioThreshold = m, 0.5 })
	in := append(chat(10, 8000)[:21], toolRounds(11, 11, 60_000)...)
	in = append(in, schema.UserMessage("go on"), schema.AssistantMessage("yes", nil), schema.UserMessage("and now?"))
	v := newVault()
	r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err)
	require.Len(t, m.Calls(), 1)
	shown := m.Calls()[0][1].Content
	require.NotContains(t, shown, "result 11")
	require.Contains(t, shown, v.order[0], "the model sees where the result is")
	require.Len(t, v.order, 2, "of compaction, and of compression")
	group := v.held[einox.RefOf(r.Messages[1])]
	i := slices.IndexFunc(group, func(m *schema.Message) bool { return m.Role == schema.Tool })
	require.Equal(t, v.order[0], einox.RefOf(group[i]))
}

// DEF-26: what could not be written is not replaced, and the report says so.
func TestDEF26FailedWriteReplacesNothing(t *testing.T) {
	in := append(toolRounds(1, 6, 20_000), schema.UserMessage("and now?"))
	for _, mode := range []compaction.Mode{compaction.ModeCompact, compaction.ModeCompress, compaction.ModeAuto} {
		d := newDisk(t)
		d.fails = func(int) bool { return true }
		p := remeParams(mode, recent(1), func(p *compaction.Params) { p.Model = testkit.New(harbour.calls(t)) })
		r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: in, Archive: d.archive})
		require.Error(t, err, "it does not fit")
		require.ErrorIs(t, r.Steps[0].Err, errDisk)
		require.Equal(t, in, r.Messages, mode)
	}
	d := newDisk(t)
	d.fails = func(write int) bool { return write%2 == 0 }
	r, _ := remeOf(t, remeParams(compaction.ModeCompact, recent(1))).Compact(t.Context(), &compaction.Request{Messages: in, Archive: d.archive})
	require.ErrorIs(t, r.Steps[0].Err, errDisk)
	back, err := d.archive.Restore(t.Context(), r.Messages)
	require.NoError(t, err, "every reference leads somewhere")
	require.Equal(t, texts(in), texts(back))
}

// DEF-27: names of archives come from code. Nothing that a caller or a model gives
// is part of one.
func TestDEF27NamesComeFromCode(t *testing.T) {
	d := newDisk(t)
	in := hugeTool()
	for _, hostile := range []string{"../../../etc/passwd", "c1/../../x", "C:\\temp", "a\x00b", "log-1-999", "{em:x}"} {
		in[2] = schema.AssistantMessage("", []schema.ToolCall{{ID: hostile, Type: "function", Function: schema.FunctionCall{Name: hostile, Arguments: hostile}}})
		in[3] = schema.ToolMessage(strings.Repeat("the pump must not run dry.\n", 3704), hostile, schema.WithToolName(hostile))
		p := remeParams(compaction.ModeAuto, recent(1), func(p *compaction.Params) {
			p.Model = testkit.New(answer{Goal: "pump", Facts: []string{"see " + hostile}}.calls(t))
			p.CompactRatioThreshold, p.MaxTotalTokens = 0.0001, 400
		})
		r, _ := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: in, Archive: d.archive})
		for _, m := range r.Messages {
			require.Regexp(t, `^(a-[a-z2-7]{20})?$`, einox.RefOf(m))
		}
	}
	require.NotEmpty(t, d.names)
	for _, name := range d.names {
		require.Regexp(t, `^archive/[a-z2-7]{20}$`, name)
	}
}

// DEF-31: the example of ReMe's README, where the huge result is the second-last
// message and two are kept, shrinks.
func TestDEF31ReadmeExampleShrinks(t *testing.T) {
	for _, mode := range []compaction.Mode{compaction.ModeCompact, compaction.ModeAuto} {
		p := remeParams(mode, recent(2), func(p *compaction.Params) { p.Model = testkit.New(testkit.Fail(errRateLimit)) })
		r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: hugeTool(), Archive: newVault()})
		require.NoError(t, err)
		require.Less(t, r.After.Tokens, r.Before.Tokens/100)
	}
	// recent messages that need not leave stay: the older result suffices
	in := append(toolRounds(1, 1, 60_000), toolRounds(2, 2, 60_000)...)
	r, err := remeOf(t, remeParams(compaction.ModeCompact, recent(4))).Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.NotEmpty(t, einox.RefOf(r.Messages[2]))
	require.Same(t, in[6], r.Messages[6])
	// and a small result never leaves, however full it is
	in = append(toolRounds(1, 1, 7900), schema.UserMessage(padded("long", 90_000)))
	r, err = remeOf(t, remeParams(compaction.ModeCompact, recent(0))).Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.Error(t, err)
	require.Equal(t, in, r.Messages)
}

// R20: what is offloaded is named by its call and its reference, found by searching
// and read in pages.
func TestR20(t *testing.T) {
	d := newDisk(t)
	in := hugeTool()
	lines := make([]string, 4000)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of the manual", i+1)
	}
	lines[2345] = "the pump must not run dry"
	in[3].Content = strings.Join(lines, "\n")
	r, err := remeOf(t, remeParams(compaction.ModeCompact)).Compact(t.Context(), &compaction.Request{Messages: in, Archive: d.archive})
	require.NoError(t, err)
	placeholder := r.Messages[3].Content
	require.Contains(t, placeholder, `read({"file":"manual"})`)
	ref := regexp.MustCompile(`a-[a-z2-7]{20}`).FindString(placeholder)
	require.Equal(t, einox.RefOf(r.Messages[3]), ref, "what the model reads is what it needs")

	found, err := d.archive.Grep(t.Context(), &archive.GrepRequest{Pattern: "pump", Refs: []string{ref}})
	require.NoError(t, err)
	require.Len(t, found.Matches, 1)
	require.Equal(t, 2346, found.Matches[0].Line)
	page, err := d.archive.Read(t.Context(), &archive.ReadRequest{Ref: found.Matches[0].Ref, Line: 2345, Lines: 3})
	require.NoError(t, err)
	require.Equal(t, "line 2345 of the manual\nthe pump must not run dry\nline 2347 of the manual", strings.TrimSpace(page.Text))
	var all strings.Builder
	for at := 0; ; at = page.NextByte {
		page, err = d.archive.Read(t.Context(), &archive.ReadRequest{Ref: ref, Byte: at, Bytes: 4096})
		require.NoError(t, err)
		all.WriteString(page.Text)
		if !page.More {
			break
		}
	}
	require.Equal(t, in[3].Content, all.String())
}
