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
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

// world is a store with the archives of the sessions of all cases.
type world struct {
	db       *sqlitestore.Store
	archives *archive.Archives
	roomy    *compaction.Compactor // everything fits
	filler   transcript.Words      // what stands for the result of a tool that said nothing
	sessions int
	calls    int // of the model, in the case that runs
}

func newWorld(t *testing.T) *world {
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	archives, err := archive.New(&archive.Config{Sessions: db})
	require.NoError(t, err)
	roomy, err := compaction.New(&compaction.Config{Budget: budget.Budget{Window: 1 << 30}})
	require.NoError(t, err)
	w := &world{db: db, archives: archives, roomy: roomy}
	w.filler = w.silence(t, "hello", "你好")
	return w
}

// silence returns the words that stand for the result of a tool that said nothing.
func (w *world) silence(t *testing.T, questions ...string) transcript.Words {
	words := make(transcript.Words)
	for _, q := range questions {
		call := schema.ToolCall{ID: "c", Function: schema.FunctionCall{Name: "f"}}
		r, err := w.roomy.Compact(t.Context(), &compaction.Request{Messages: []*schema.Message{
			schema.UserMessage(q), schema.AssistantMessage("", []schema.ToolCall{call}), schema.ToolMessage("", "c"),
		}})
		require.NoError(t, err)
		words.Add(r.Messages[2].Content)
	}
	return words
}

// scene is one case: a session of its own.
type scene struct {
	t       *rapid.T
	w       *world
	scope   backends.Scope
	p       backends.Partition
	archive *archive.Archive
	logged  int64 // how many messages the log holds
}

func (w *world) begin(t *rapid.T) *scene {
	w.sessions++
	w.calls = 0
	s := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", w.sessions)}
	x, err := w.archives.Of(s)
	require.NoError(t, err)
	p, err := s.Speaker()
	require.NoError(t, err)
	return &scene{t: t, w: w, scope: s, p: p, archive: x}
}

func (c *scene) end() {
	require.NoError(c.t, c.w.db.Delete(context.Background(), c.p, c.scope.SessionID))
}

// keep writes the log of the session.
func (c *scene) keep(log []*schema.Message) {
	if len(log) == 0 {
		return
	}
	c.logged = int64(len(log))
	a := &store.Append{Scope: c.scope}
	for i, m := range log {
		stored := *m
		stored.Extra, stored.ResponseMeta = nil, nil
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{
			ID: fmt.Sprint("m", i), Turn: einox.TurnOf(m), Time: time.Unix(1_795_000_000, 0).UTC(), Message: &stored,
		}})
	}
	_, err := c.w.db.Append(c.t.Context(), c.p, c.scope.SessionID, a)
	require.NoError(c.t, err)
}

// mended returns what becomes of a context that fits: calls and results are put
// right.
func (c *scene) mended(messages []*schema.Message) []*schema.Message {
	r, err := c.w.roomy.Compact(c.t.Context(), &compaction.Request{Messages: messages})
	require.NoError(c.t, err)
	return r.Messages
}

// repaired is mended, checked: providers take it, not a word is lost, and twice
// mended is once mended.
func (c *scene) repaired(messages []*schema.Message) []*schema.Message {
	mended := c.mended(messages)
	require.NoError(c.t, transcript.Check(mended), "repaired")
	require.Empty(c.t, transcript.WordsOf(messages...).Without(transcript.WordsOf(mended...)), "repaired")
	equal(c.t, each(c.t, mended), each(c.t, c.mended(mended)), "repaired twice")
	silent := func(m *schema.Message) bool { return m.Role == schema.Tool && m.Content == "" } // some providers want a word
	if transcript.Check(messages) == nil && !slices.ContainsFunc(messages, silent) {
		equal(c.t, each(c.t, messages), each(c.t, mended), "nothing was to be repaired")
	}
	return mended
}

// restored brings back all that left.
func (c *scene) restored(messages []*schema.Message) []*schema.Message {
	out, err := c.archive.Restore(c.t.Context(), messages)
	require.NoError(c.t, err)
	return out
}

// keeper is an archive of which one in so many writes fails. Steps write several at
// a time.
type keeper struct {
	archive *archive.Archive
	fails   int
	writes  atomic.Int64
}

// Put implements [compaction.Archive].
func (k *keeper) Put(ctx context.Context, messages []*schema.Message) (string, error) {
	if n := k.writes.Add(1); k.fails > 0 && n%int64(k.fails) == 0 {
		return "", errChance
	}
	return k.archive.Put(ctx, messages)
}

// reader reads what archives hold, as an agent with the tools does.
type reader struct {
	*scene
	read  map[string]bool
	words transcript.Words
}

var shown = regexp.MustCompile(`\b(log-[0-9]+(-[0-9]+)?|a-[a-z2-7]{20})(#[0-9]+)?`)

// follow reads all archives that a message stands in for or shows. A message may
// quote what looks like the id of an archive and is none.
func (r *reader) follow(m *schema.Message) {
	r.open(einox.RefOf(m), true)
	if einox.IsNote(m) || einox.RefOf(m) != "" {
		for _, ref := range shown.FindAllString(m.Content, -1) {
			r.open(ref, false)
		}
	}
}

func (r *reader) open(ref string, must bool) {
	if ref == "" || r.read[ref] {
		return
	}
	messages, err := r.archive.Messages(r.t.Context(), ref)
	if errors.Is(err, backends.ErrNotFound) && !must {
		return
	}
	require.NoError(r.t, err)
	r.read[ref] = true
	var text strings.Builder
	for more, at := true, 0; more; {
		page, err := r.archive.Read(r.t.Context(), &archive.ReadRequest{Ref: ref, Byte: at, Bytes: archive.MaxBytes})
		require.NoError(r.t, err)
		text.WriteString(page.Text)
		more, at = page.More, page.NextByte
	}
	r.words.Add(text.String())
	for _, m := range messages {
		r.follow(m)
	}
}

// chat is the model of a plan.
func (w *world) chat(p *plan) model.BaseChatModel {
	replies := map[string]testkit.Reply{
		"good":   summary("Ann waits for a parcel."),
		"long":   summary(strings.Repeat("and then this was said, and that, ", 20_000)),
		"chatty": testkit.Text("Certainly! What would you like me to do?"),
		"empty":  testkit.Text(""),
		"broken": testkit.Fail(backends.ErrUnavailable),
	}
	return testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		w.calls++
		how := p.model
		if how == "moody" {
			how = []string{"good", "broken", "chatty", "long"}[w.calls%4]
		}
		return replies[how](ctx, in, o)
	})
}

// summary answers with a summary, by the tool when there is one.
func summary(fact string) testkit.Reply {
	return func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		text := fmt.Sprintf(`{"goal":"help Ann","directives":["be brief"],"facts":[%q],"failed":[],"open":[],"next":["wait"]}`, fact)
		if len(o.Tools) > 0 {
			return testkit.Call("c", o.Tools[0].Name, text)(ctx, in, o)
		}
		return schema.AssistantMessage(text, nil), nil
	}
}
