// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

var (
	ann  = backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}
	noon = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
)

// shelf is the archives of a store.
type shelf struct {
	testing.TB
	*archive.Archives
	store *testkit.Store
	turns int
}

func open(t testing.TB, redact func(string) string) *shelf {
	return openOn(t, testkit.SQLite(t), redact)
}

func openOn(t testing.TB, st store.Store, redact func(string) string) *shelf {
	s := &shelf{TB: t, store: testkit.Spy(st)}
	var err error
	s.Archives, err = archive.New(&archive.Config{Sessions: s.store, Redact: redact})
	require.NoError(t, err)
	return s
}

func (s *shelf) of(scope backends.Scope) (*archive.Archive, backends.Partition) {
	x, err := s.Of(scope)
	require.NoError(s, err)
	p, err := scope.Speaker()
	require.NoError(s, err)
	return x, p
}

func (s *shelf) put(scope backends.Scope, messages ...*schema.Message) string {
	x, _ := s.of(scope)
	ref, err := x.Put(context.Background(), messages)
	require.NoError(s, err)
	return ref
}

// log appends a turn to the log.
func (s *shelf) log(scope backends.Scope, messages ...*schema.Message) {
	s.turns++
	a := &store.Append{Scope: scope}
	for i, m := range messages {
		turn := fmt.Sprint("t", s.turns)
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: fmt.Sprint(turn, "-", i), Turn: turn, Time: noon.Add(time.Duration(i) * time.Minute), Message: m}})
	}
	_, p := s.of(scope)
	_, err := s.store.Append(context.Background(), p, scope.SessionID, a)
	require.NoError(s, err)
}

// messages returns what an id stands for.
func (s *shelf) messages(scope backends.Scope, id string) ([]*schema.Message, error) {
	x, _ := s.of(scope)
	return x.Restore(context.Background(), []*schema.Message{placeholder(id)})
}

func placeholder(id string) *schema.Message {
	return einox.Mark{Ref: id}.On(schema.UserMessage("in the place of " + id))
}

func summary(id, text string) *schema.Message {
	return einox.Mark{Kind: einox.Summary, Ref: id}.On(schema.UserMessage(text))
}

func TestPutWritesNothingThatTheLogHolds(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	s.log(ann, schema.UserMessage("a"), schema.AssistantMessage("b", nil), schema.AssistantMessage("", nil), schema.UserMessage("c"), schema.AssistantMessage("d", nil))
	log, err := s.messages(ann, "log-1-5")
	require.NoError(t, err)
	require.Len(t, log, 4, "the third only ends a turn")
	for want, messages := range map[string][]*schema.Message{
		"log-1":   log[:1],
		"log-1-2": log[:2],
		"log-2-4": log[1:3], // over the end of the turn
		"log-1-5": {summary("log-1-2", "ab"), log[2], log[3]},
		"log-1-4": {summary("log-1-3", "ab"), log[2]},
		"log-2-5": {log[1], einox.Mark{Ref: "log-4"}.On(schema.ToolMessage("preview", "c")), log[3]},
	} {
		ref, err := x.Put(t.Context(), messages)
		require.NoError(t, err)
		require.Equal(t, want, ref)
		originals, err := x.Restore(t.Context(), messages)
		require.NoError(t, err)
		named, err := s.messages(ann, ref)
		require.NoError(t, err)
		require.Equal(t, originals, named, "what the id names is what the messages stand for")
	}
	note := *log[1]
	note = *einox.Mark{Kind: einox.Note}.On(&note)
	for name, messages := range map[string][]*schema.Message{
		"out of order":           {log[1], log[0]},
		"a gap":                  {log[0], log[2]},
		"twice":                  {log[0], log[0]},
		"not of the log":         {schema.UserMessage("x")},
		"one not of the log":     {log[0], schema.UserMessage("x"), log[1]},
		"a placeholder of blobs": {log[0], summary("a-aaaaaaaaaaaaaaaaaaaa", "x")},
		"an id that is none":     {summary("log-0", "x")},
		"a note":                 {log[0], &note},
		"beyond the log":         {log[3], einox.Mark{Seq: 9}.On(schema.UserMessage("x"))},
	} {
		ref, err := x.Put(t.Context(), messages)
		require.NoError(t, err, name)
		require.Regexp(t, `^a-[a-z2-7]{20}$`, ref, name)
	}
}

// An id follows from the content: what was stored is never replaced by something else.
func TestAnIDNamesOneContentForEver(t *testing.T) {
	s := open(t, nil)
	x, p := s.of(ann)
	m := schema.ToolMessage("a long result", "c1", schema.WithToolName("read"))
	m.Extra = map[string]any{"f": func() {}, "_einomem_turn": "t1"}
	first, err := x.Put(t.Context(), []*schema.Message{m, nil})
	require.NoError(t, err)
	second, err := x.Put(t.Context(), []*schema.Message{nil, m})
	require.NoError(t, err)
	require.Equal(t, first, second)
	want := *m
	want.Extra = map[string]any{"_einomem": `{"turn":"t1"}`}
	got, err := s.messages(ann, first)
	require.NoError(t, err)
	require.Equal(t, []*schema.Message{&want}, got)
	require.Len(t, m.Extra, 2, "the caller's message is as it was")

	refs := map[string]string{}
	for _, text := range []string{"a", "b", "a ", "c"} {
		refs[s.put(ann, schema.UserMessage(text))] = text
	}
	require.Len(t, refs, 4)
	for ref, text := range refs {
		got, err := s.messages(ann, ref)
		require.NoError(t, err)
		require.Equal(t, text, got[0].Content)
	}

	ref := s.put(ann, schema.UserMessage("<b> & 茶"))
	require.Equal(t, "a-nutrv2zu5lsajubmhjph", ref)
	data, err := s.store.GetBlob(t.Context(), p, ann.SessionID, "archive/"+ref[2:])
	require.NoError(t, err)
	require.Equal(t, `{"format":2,"messages":[{"role":"user","content":"<b> & 茶"}]}`, string(data), "what older versions wrote must stay readable")
}

// An archive that the release before wrote has a string for each part of a mark.
func TestArchivesOfOlderReleasesAreRead(t *testing.T) {
	s := open(t, nil)
	s.log(ann, schema.UserMessage("first"), schema.AssistantMessage("second", nil))
	_, p := s.of(ann)
	const old = `{"format":1,"messages":[{"role":"user","content":"[Earlier.]","marks":{"_einomem":"summary","_einomem_archive":"log-1-2","_einomem_seq":"2"}},{"role":"user","content":"hi"}]}`
	const id = "a-yediwvhkaqm3qexe6aml"
	require.NoError(t, s.store.PutBlob(t.Context(), p, ann.SessionID, "archive/"+id[2:], []byte(old)))
	got, err := s.messages(ann, id)
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second", "hi"}, []string{got[0].Content, got[1].Content, got[2].Content}, "its reference is followed")
}

func TestPutRefusesWhatCannotBeReadAgain(t *testing.T) {
	s := open(t, nil)
	x, p := s.of(ann)
	for _, messages := range [][]*schema.Message{nil, {}, {nil}} {
		_, err := x.Put(t.Context(), messages)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	loop, deep := map[string]any{}, map[string]any{}
	loop["self"] = loop
	for at, i := deep, 0; i < 20_000; i++ {
		next := map[string]any{}
		at["in"], at = next, next
	}
	for _, extra := range []map[string]any{{"f": func() {}}, loop, deep} {
		_, err := x.Put(t.Context(), []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: "text", Text: "x", Extra: extra}}}})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	page, err := s.store.ListBlobs(t.Context(), p, ann.SessionID, "", store.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Blobs)
}

func TestTextsAndMarksAreRedacted(t *testing.T) {
	s := open(t, func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") })
	x, p := s.of(ann)
	const pw = "pw hunter2"
	m := &schema.Message{
		Role: schema.Assistant, Content: pw, ReasoningContent: pw, ToolCalls: []schema.ToolCall{{Function: schema.FunctionCall{Name: "f", Arguments: pw}}},
		MultiContent: []schema.ChatMessagePart{{Text: pw}}, UserInputMultiContent: []schema.MessageInputPart{{Text: pw}}, AssistantGenMultiContent: []schema.MessageOutputPart{{Text: pw}},
	}
	m = einox.Mark{Stands: `{"messages":1234567,"asked":["pw hunter2 & more"]}`}.On(m)
	ref := s.put(ann, m)
	data, err := s.store.GetBlob(t.Context(), p, ann.SessionID, "archive/"+ref[2:])
	require.NoError(t, err)
	require.NotContains(t, string(data), "hunter2")
	require.Contains(t, einox.MarkOf(m).Stands, "hunter2", "the caller's message is as it was")
	page, err := x.Read(t.Context(), &archive.ReadRequest{Ref: ref})
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(page.Text, "pw [secret]"))
	got, err := s.messages(ann, ref)
	require.NoError(t, err)
	require.JSONEq(t, `{"messages":1234567,"asked":["pw [secret] & more"]}`, einox.MarkOf(got[0]).Stands)
}

// idle is a backend that learns nothing.
type idle struct{ backends.Backend }

func (idle) Close(context.Context) error { return nil }

// The log and a blob keep the same of a message, so that it is known again.
func TestTheLogAndBlobsKeepTheSame(t *testing.T) {
	url, redact := "https://x/cat.png", func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	s := open(t, redact)
	x, _ := s.of(ann)
	index := 1
	turn := []*schema.Message{
		{Role: schema.User, Extra: map[string]any{"x": make(chan int)}, UserInputMultiContent: []schema.MessageInputPart{{Type: "text", Text: "needle hunter2 \xff"}, {Type: "image_url", Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}}},
		{Role: schema.Assistant, Content: "needle <b>", ReasoningContent: "hunter2?\xff", ResponseMeta: &schema.ResponseMeta{FinishReason: "x"}, ToolCalls: []schema.ToolCall{{Index: &index, ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "f", Arguments: "{\"a\":\"hunter2\"}"}, Extra: map[string]any{"f": func() {}}}}},
		schema.ToolMessage("needle\xffhunter2", "c1", schema.WithToolName("f")),
		{Role: schema.Assistant, MultiContent: []schema.ChatMessagePart{{Type: "text", Text: "needle hunter2"}}, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: "text", Text: "hunter2"}}},
	}
	ref := s.put(ann, turn...)
	mem, err := working.New(t.Context(), &working.Config{Sessions: s.store, Backend: idle{}, Redact: redact, Sweep: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close(context.Background())) }()
	require.NoError(t, mem.Append(t.Context(), &working.Turn{Scope: ann, ID: "t1", Messages: turn, Time: noon}))

	found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "needle"})
	require.NoError(t, err)
	require.Len(t, found.Matches, 4, "each is found once")
	log, err := s.messages(ann, "log-1-4")
	require.NoError(t, err)
	blob, err := s.messages(ann, ref)
	require.NoError(t, err)
	for i := range log {
		require.Contains(t, found.Matches[i].Ref, "log-")
		require.EqualValues(t, i+1, einox.MarkOf(log[i]).Seq)
		require.Equal(t, "t1", einox.MarkOf(log[i]).Turn)
		require.Equal(t, i+1, einox.MarkOf(log[i]).Nth)
		require.Equal(t, blob[i], einox.Mark{}.On(log[i]))
	}
	require.Equal(t, "log-1-4", s.put(ann, log...))
}

func TestRestoreGoesThroughAllLevels(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	ref := s.put(ann, schema.UserMessage("0"))
	for i := range 3000 {
		ref = s.put(ann, placeholder(ref), schema.UserMessage(fmt.Sprint(i+1)))
	}
	out, err := x.Restore(t.Context(), []*schema.Message{placeholder(ref), nil})
	require.NoError(t, err)
	require.Len(t, out, 3002)
	require.Equal(t, "3000", out[3000].Content)

	for ref, want := range map[string]error{"a-aaaaaaaaaaaaaaaaaaaa": backends.ErrNotFound, "log-3": backends.ErrNotFound, "../x": backends.ErrInvalid} {
		_, err := x.Restore(t.Context(), []*schema.Message{schema.UserMessage("x"), placeholder(ref)})
		require.ErrorIs(t, err, want)
	}
	// An entry of the log stands for nothing, whatever text stands there.
	s.log(ann, placeholder("log-1"))
	out, err = s.messages(ann, "log-1")
	require.NoError(t, err)
	require.Equal(t, "in the place of log-1", out[0].Content)
	// Entries that say nothing are there all the same: a summary may end with one.
	s.log(ann, schema.UserMessage(""))
	out, err = s.messages(ann, "log-2")
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestNothingButArchivesIsReached(t *testing.T) {
	s := open(t, nil)
	s.log(ann, schema.UserMessage("mine"))
	x, p := s.of(ann)
	for _, name := range []string{"open-turn/x", "archive/../x", "archive/short", "a-aaaaaaaaaaaaaaaaaaaa"} {
		require.NoError(t, s.store.PutBlob(t.Context(), p, ann.SessionID, name, []byte(`{"format":1,"messages":[{"role":"user","content":"secret"}]}`)))
	}
	refused := func(id string, want error) {
		_, err := s.messages(ann, id)
		if id != "" { // is no placeholder
			require.ErrorIs(t, err, want, "%q", id)
			require.Less(t, len(err.Error()), 400)
		}
		_, err = x.Read(t.Context(), &archive.ReadRequest{Ref: id})
		require.ErrorIs(t, err, want, "%q", id)
		_, err = x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret", Refs: []string{id}})
		require.ErrorIs(t, err, want, "%q", id)
	}
	for _, id := range []string{
		"", "#", "log", "log-", "log-0", "log-0-0", "log--1", "log-1-", "log-2-1", "log-01", "log-+1", "log-1-2-3", "log-1#0", "a-aaaaaaaaaaaaaaaaaaaa#0",
		"log-99999999999999999999-1", "log-1-99999999999999999999", "LOG-1", " log-1", "log-1 ", "log-1\n", "log-１",
		"a-", "a", "a-short", "a-" + strings.Repeat("A", 20), "a-" + strings.Repeat("a", 21), "a-" + strings.Repeat("1", 20), "a-../../../../etc/pass", "a-\x00aaaaaaaaaaaaaaaaaaa",
		"../", "/etc/passwd", "archive/aaaaaaaaaaaaaaaaaaaa", "open-turn/x", "a-aaaaaaaaaaaaaaaaaaaa/..", "s2/a-aaaaaaaaaaaaaaaaaaaa", "\x00", "\xff", strings.Repeat("log-1", 10_000),
	} {
		refused(id, backends.ErrInvalid)
	}
	for _, id := range []string{"log-2", "log-2-9", "log-999999999999999", "a-aaaaaaaaaaaaaaaaaaaa"} {
		refused(id, backends.ErrNotFound)
	}
	found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret"})
	require.NoError(t, err)
	require.Empty(t, found.Matches)
	require.Empty(t, found.Unreadable)
}

func TestSessionsDoNotSeeOneAnother(t *testing.T) {
	s := open(t, nil)
	scopes := []backends.Scope{
		ann, {UserID: "ann", SessionID: "s2"}, {UserID: "bob", SessionID: "s1"}, {AgentID: "ann", SessionID: "s1"}, {UserID: "ann", SessionID: "s1", Namespace: "other"}, {UserID: "ann"},
	}
	refs := make([]string, len(scopes))
	for i, scope := range scopes {
		s.log(scope, schema.UserMessage(fmt.Sprint("logged secret ", i)), schema.UserMessage("x"))
		refs[i] = s.put(scope, schema.UserMessage(fmt.Sprint("archived secret ", i)))
	}
	for i, scope := range scopes {
		x, _ := s.of(scope)
		found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret"})
		require.NoError(t, err)
		require.Len(t, found.Matches, 2)
		for _, m := range found.Matches {
			require.True(t, strings.HasSuffix(m.Text, fmt.Sprint("secret ", i)), m.Text)
		}
		for k, ref := range refs {
			_, err := s.messages(scope, ref)
			_, errRead := x.Read(t.Context(), &archive.ReadRequest{Ref: ref})
			_, errGrep := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret", Refs: []string{ref}})
			for _, err := range []error{err, errRead, errGrep} {
				if k == i {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, backends.ErrNotFound)
				require.NotContains(t, err.Error(), "secret")
			}
		}
	}
	_, err := s.Of(backends.Scope{SessionID: "s1", Workspace: "w"})
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = s.Of(backends.Scope{UserID: "a*"})
	require.ErrorIs(t, err, backends.ErrInvalid)
	for _, cfg := range []*archive.Config{nil, {}} {
		_, err = archive.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, p := s.of(ann)
	require.NoError(t, s.store.Delete(t.Context(), p, ann.SessionID))
	for _, id := range []string{refs[0], "log-1"} {
		_, err := s.messages(ann, id)
		require.ErrorIs(t, err, backends.ErrNotFound, "archives end with their session")
	}
}

func TestADamagedBlobIsReportedAndHidesNoOther(t *testing.T) {
	s := open(t, nil)
	ref := s.put(ann, schema.UserMessage("one word"))
	s.log(ann, schema.UserMessage("another word"))
	x, p := s.of(ann)
	name := "archive/" + ref[2:]
	data, err := s.store.GetBlob(t.Context(), p, ann.SessionID, name)
	require.NoError(t, err)
	require.NoError(t, s.store.PutBlob(t.Context(), p, ann.SessionID, name, bytes.Replace(data, []byte("word"), []byte("ward"), 1)))
	for _, err := range []error{
		func() error { _, err := s.messages(ann, ref); return err }(),
		func() error { _, err := x.Read(t.Context(), &archive.ReadRequest{Ref: ref}); return err }(),
		func() error {
			_, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "word", Refs: []string{ref}})
			return err
		}(),
	} {
		require.ErrorContains(t, err, "damaged")
		require.ErrorContains(t, err, ref)
		require.NotErrorIs(t, err, backends.ErrNotFound)
		require.NotErrorIs(t, err, backends.ErrInvalid, "the caller did nothing wrong")
	}
	found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "word"})
	require.NoError(t, err)
	require.Len(t, found.Matches, 1, "one damaged blob does not hide the rest")
	require.Equal(t, []string{ref}, found.Unreadable)
}

func TestAStoreThatIsDownIsNotAnEmptyOne(t *testing.T) {
	s := open(t, nil)
	s.log(ann, schema.UserMessage("x"))
	ref := s.put(ann, schema.UserMessage("y"))
	x, _ := s.of(ann)
	s.store.FailOn(backends.ErrUnavailable, "Read", "GetBlob", "PutBlob")
	for _, id := range []string{ref, "log-1"} {
		_, err := s.messages(ann, id)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.NotErrorIs(t, err, backends.ErrNotFound)
		_, err = x.Read(t.Context(), &archive.ReadRequest{Ref: id})
		require.ErrorIs(t, err, backends.ErrUnavailable)
	}
	for _, methods := range [][]string{{"Read"}, {"GetBlob"}, {"ListBlobs"}} {
		s.store.FailOn(backends.ErrUnavailable, methods...)
		_, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "x"})
		require.ErrorIs(t, err, backends.ErrUnavailable)
	}
	s.store.FailOn(backends.ErrUnavailable, "PutBlob")
	got, err := x.Put(context.Background(), []*schema.Message{schema.UserMessage("x")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.Empty(t, got)
}

func TestArchivesOnEveryStore(t *testing.T) {
	test := func(t *testing.T, s *shelf) {
		x, _ := s.of(ann)
		var turn []*schema.Message
		for i := range 250 { // more than a page
			turn = append(turn, schema.UserMessage(fmt.Sprintf("message %03d", i+1)))
		}
		s.log(ann, turn...)
		var ids []string
		for i := range 130 { // more than a page, too
			ids = append(ids, s.put(ann, schema.ToolMessage(fmt.Sprint("result ", i, " 茶\x00 ", strings.Repeat("x", 5000)), "c")))
		}
		s.put(backends.Scope{UserID: "bob", SessionID: ann.SessionID}, schema.UserMessage("result of bob"))

		log, err := s.messages(ann, "log-1-999999999999999")
		require.NoError(t, err)
		require.Len(t, log, 250)
		require.Equal(t, "log-1-250", s.put(ann, log...))
		restored, err := x.Restore(t.Context(), []*schema.Message{placeholder("log-1-100"), placeholder("log-101-250"), placeholder(ids[7])})
		require.NoError(t, err)
		require.Equal(t, log, restored[:250])
		require.Equal(t, schema.ToolMessage("result 7 茶\x00 "+strings.Repeat("x", 5000), "c"), restored[250])

		found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "of bob"})
		require.NoError(t, err)
		require.Empty(t, found.Matches)
		require.Equal(t, 380, found.Searched)
		for _, i := range []int{0, 99, 100, 129} {
			found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: fmt.Sprint("RESULT ", i, " ")})
			require.NoError(t, err)
			require.Len(t, found.Matches, 1)
			require.Equal(t, ids[i], found.Matches[0].Ref)
		}
		page, err := x.Read(t.Context(), &archive.ReadRequest{Ref: "log-100-102", Line: 3, Lines: 2})
		require.NoError(t, err)
		require.Contains(t, page.Text, "message 101\n")
		require.Equal(t, 6, page.TotalLines)
	}
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, nil)) })
	testredis.Each(t, func(t *testing.T, connect func(t testing.TB) redis.UniversalClient) {
		test(t, openOn(t, testkit.Redis(t, connect(t)), nil))
	})
}
