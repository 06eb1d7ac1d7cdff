// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/toolkit"
)

const (
	grepTool = toolkit.GrepWorkingMemory
	readTool = toolkit.ReadWorkingMemory
)

// shelf is a store with archives and the tools on them.
type shelf struct {
	testing.TB
	store.Sessions
	cfg  *toolkit.WorkingConfig
	told []string
	fail error
}

func (s *shelf) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	return s.Sessions.GetBlob(ctx, p, session, name)
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	db, err := sqlitestore.Open(context.Background(), sqlitestore.Memory, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	s := &shelf{TB: t, Sessions: db}
	archives, err := archive.New(&archive.Config{Sessions: s})
	require.NoError(t, err)
	s.cfg = &toolkit.WorkingConfig{
		Archives: archives,
		Scope:    func(context.Context) (backends.Scope, error) { return ann, nil },
		OnError:  func(_ context.Context, stage string, err error) { s.told = append(s.told, stage+": "+err.Error()) },
	}
	return s
}

// put archives messages of a session.
func (s *shelf) put(scope backends.Scope, messages ...*schema.Message) string {
	s.Helper()
	x, err := s.cfg.Archives.Of(scope)
	require.NoError(s, err)
	id, err := x.Put(context.Background(), messages)
	require.NoError(s, err)
	return id
}

// say appends to ann's log.
func (s *shelf) say(messages ...*schema.Message) {
	s.Helper()
	p, err := ann.Speaker()
	require.NoError(s, err)
	a := &store.Append{Scope: ann}
	for i, m := range messages {
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: fmt.Sprint("t-", i), Turn: "t", Time: noon, Message: m}})
	}
	_, err = s.Append(context.Background(), p, ann.SessionID, a)
	require.NoError(s, err)
}

func (s *shelf) tools() map[string]tool.InvokableTool {
	s.Helper()
	tools, err := toolkit.WorkingMemory(context.Background(), s.cfg)
	require.NoError(s, err)
	require.Equal(s, len(tools), cap(tools))
	byName := map[string]tool.InvokableTool{}
	for _, b := range tools {
		info, err := b.Info(context.Background())
		require.NoError(s, err)
		byName[info.Name] = b.(tool.InvokableTool)
	}
	return byName
}

// call calls a tool and requires that it does not end the agent's run.
func (s *shelf) call(name string, arguments any) string {
	s.Helper()
	text, ok := arguments.(string)
	if !ok {
		b, err := json.Marshal(arguments)
		require.NoError(s, err)
		text = string(b)
	}
	out, err := s.tools()[name].InvokableRun(context.Background(), text)
	require.NoError(s, err)
	return out
}

func TestGrepShowsWhereToReadOn(t *testing.T) {
	s := newShelf(t)
	s.say(schema.UserMessage("Which Port?"), schema.ToolMessage("a\nport 1\nb\nport 2\nc\nd\ne\nport 3\n", "c1"))
	id := s.put(ann, schema.ToolMessage(strings.Repeat("x", 999)+" the port is 8080 "+strings.Repeat("y", 999), "c2"))
	require.Equal(t, "Matches: 5. Messages searched: 3.\n"+
		"[log-1]\n1: Which Port?\n"+
		"[log-2]\n1- a\n2: port 1\n3- b\n4: port 2\n5- c\n7- e\n8: port 3\n"+
		"["+id+"]\n1: (byte 1004 of a long line) …"+strings.Repeat("x", 95)+" the port is 8080 "+strings.Repeat("y", 400-95-18)+"…\n"+
		"To read around a match, call read_working_memory with the id in brackets as archive and the number before the match as line, or for a long line its byte as byte.",
		s.call(grepTool, `{"pattern":"port","context_lines":1}`))
	require.Contains(t, s.call(grepTool, `{"pattern":"port \\d","regex":true,"limit":1}`), "There are more matches than are shown. Use a narrower pattern")
	require.Contains(t, s.call(grepTool, `{"pattern":"Port","case_sensitive":true}`), "Matches: 1.")
	require.Contains(t, s.call(grepTool, `{"pattern":"port","archives":["log-2"]}`), "Matches: 3. Messages searched: 1.")
	require.Contains(t, s.call(grepTool, `{"pattern":"nowhere"}`), `No line has "nowhere". Messages searched: 3. Try`)
	require.Equal(t, "port 2\n", strings.Split(s.call(readTool, `{"archive":"log-2","line":4,"lines":1}`), "]\n")[1][:7])
	require.Contains(t, s.call(readTool, map[string]any{"archive": id, "byte": 1004, "bytes": 12}), "\nport is 8080\n")
	require.Empty(t, s.told)
}

// The calls and answers of these tools are in the log, too.
func TestGrepDoesNotFindItself(t *testing.T) {
	s := newShelf(t)
	s.say(schema.UserMessage("the port is 1"),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: grepTool, Arguments: `{"pattern":"port"}`}}, {ID: "c2", Function: schema.FunctionCall{Name: readTool, Arguments: `{"archive":"port"}`}}}),
		schema.ToolMessage("1: the port is 1", "c1", schema.WithToolName(grepTool)), schema.ToolMessage("the port is 1", "c2", schema.WithToolName(readTool)))
	require.Contains(t, s.call(grepTool, `{"pattern":"port"}`), "Matches: 1. Messages searched: 2.\n[log-1]\n1: the port is 1\nTo read")
}

var goOn = regexp.MustCompile(`\[there is more.*: read on with (line|byte) (\d+)\]$`)

// A model that does what the last line says reads all of it, whatever it is.
func TestReadingOnReadsAll(t *testing.T) {
	s := newShelf(t)
	for _, text := range []string{
		strings.Repeat("一行文字 and words\n", 2000), strings.Repeat("one endless line, 没有换行 ", 3000), "short", "long" + strings.Repeat("-", 20_000) + "\nshort\n" + strings.Repeat("x\n", 500),
	} {
		id := s.put(ann, schema.ToolMessage(text, "c"))
		var got strings.Builder
		for arguments := (map[string]any{"archive": id}); ; {
			out := s.call(readTool, arguments)
			require.Less(t, len(out), 6500)
			head, rest, _ := strings.Cut(out, "\n")
			require.Contains(t, head, id)
			at := strings.LastIndex(rest, "\n")
			page, foot := rest[:at+1], rest[at+1:]
			next := goOn.FindStringSubmatch(foot)
			if next == nil {
				require.Equal(t, "[end of "+id+"]", foot)
				got.WriteString(page)
				break
			}
			if next[1] == "byte" {
				page = strings.TrimSuffix(page, "\n")
			}
			got.WriteString(page)
			arguments = map[string]any{"archive": id, next[1]: next[2]}
		}
		require.Equal(t, strings.TrimSuffix(text, "\n"), strings.TrimSuffix(got.String(), "\n"))
	}
	require.Empty(t, s.told)
}

func TestWorkingArgumentsInAnyShape(t *testing.T) {
	s := newShelf(t)
	s.say(schema.ToolMessage("one\ntwo\nthree", "c"))
	for _, arguments := range []string{
		`{"archive":"log-1","line":2,"lines":1}`, `{"archive":"[log-1]","line":"2","lines":"1"}`, `{"archive":["log-1"],"line":2.0,"lines":1.9}`, `{"ref":"log-1.","line":2,"lines":1}`, `{"archives":"` + "`log-1`" + `","line":2,"lines":1,"byte":0}`,
		`{"archive":" log-1: ","line":2,"lines":1,"byte":null,"bytes":0,"user_id":"bob","session":"s2"}`, `{"archive":"log-1","line":1,"byte":4,"bytes":4}`, `{"archive":"log-1","line":2,"lines":1,"byte":-7,"bytes":"many"}`,
	} {
		require.Equal(t, "[log-1: lines 2 to 2 of 3, bytes 4 to 7 of 13]\ntwo\n[there is more: read on with line 3]", s.call(readTool, arguments), arguments)
	}
	for _, arguments := range []string{
		`{"pattern":"TWO"}`, `{"pattern":"t.o","regex":"true"}`, `{"pattern":"t.o","regex":1,"archives":"log-1"}`, `{"pattern":"two","archives":[],"limit":"all"}`, `{"pattern":"two","archives":["all"],"limit":-1,"context_lines":-1}`,
		`{"pattern":"two","archives":"[\"log-1\"]","case_sensitive":"no","regex":{}}`, `{"pattern":"two","archive":"<log-1>","limit":1e999}`, `{"pattern":"two","archives":null,"scope":{"user_id":"bob"}}`,
	} {
		require.Contains(t, s.call(grepTool, arguments), "Matches: 1. Messages searched: 1.\n[log-1]\n2: two\nTo read", arguments)
	}
	require.Empty(t, s.told)
}

func TestWorkingSlipsAreText(t *testing.T) {
	s := newShelf(t)
	id := s.put(ann, schema.ToolMessage("one\ntwo", "c"))
	foreign := s.put(backends.Scope{UserID: "bob", SessionID: "s1"}, schema.UserMessage("bob's secret"))
	for want, call := range map[string][2]string{
		"`pattern` is empty":                           {grepTool, `{}`},
		"does not compile":                             {grepTool, `{"pattern":"(","regex":true}`},
		"matches the empty text":                       {grepTool, `{"pattern":".*","regex":true}`},
		"no such archive":                              {grepTool, `{"pattern":"secret","archives":["` + foreign + `"]}`},
		"an id is like log-12":                         {grepTool, `{"pattern":"x","archives":["../../etc/passwd"]}`},
		"grep_working_memory could not be read":        {grepTool, `{"pattern":{}}`},
		"`archive` is empty":                           {readTool, ``},
		"2 archives at once":                           {readTool, `{"archive":["log-1","log-2"]}`},
		"Use an id that a message":                     {readTool, `{"archive":"` + foreign + `"}`},
		"Change the arguments":                         {readTool, `{"archive":"/etc/passwd"}`},
		"it has the lines 1 to 2 and the bytes 0 to 6": {readTool, `{"archive":"` + id + `","line":1e300}`},
		"read_working_memory could not be read":        {readTool, `[`},
	} {
		out := s.call(call[0], call[1])
		require.Contains(t, out, want, call[1])
		require.NotContains(t, out, "bob's secret")
	}
	require.Empty(t, s.told, "a model's slip is no failure of memory")
	s.put(ann, schema.ToolMessage("", "c"))
	require.Regexp(t, `^\[a-.* is empty\]$`, s.call(readTool, map[string]any{"archive": s.put(ann, schema.ToolMessage("", "c"))}))
}

func TestWorkingFailuresAreTextAndTold(t *testing.T) {
	s := newShelf(t)
	id := s.put(ann, schema.UserMessage("word"))
	s.fail = fmt.Errorf("%w: the disk is gone", backends.ErrUnavailable)
	for _, out := range []string{s.call(readTool, map[string]any{"archive": id}), s.call(grepTool, `{"pattern":"word"}`)} {
		require.Contains(t, out, "the disk is gone")
		require.Contains(t, out, "Earlier messages cannot be read now")
	}
	require.Len(t, s.told, 2)
	require.Contains(t, s.told[0], toolkit.StageReadWorkingTool)
	require.Contains(t, s.told[1], toolkit.StageGrepWorkingTool)

	s.fail, s.told = nil, nil
	p, _ := ann.Speaker()
	require.NoError(t, s.PutBlob(t.Context(), p, ann.SessionID, "archive/"+id[2:], []byte("rubbish")))
	require.Contains(t, s.call(readTool, map[string]any{"archive": id}), "damaged")
	require.Len(t, s.told, 1, "damage is a failure")
	require.Contains(t, s.call(grepTool, `{"pattern":"word"}`), "These archives are damaged or gone and were not searched: "+id)

	s.told = nil
	for _, scope := range []backends.Scope{{}, {UserID: "*"}, {Workspace: "w"}} {
		s.cfg.Scope = func(context.Context) (backends.Scope, error) { return scope, nil }
		require.Contains(t, s.call(readTool, map[string]any{"archive": id}), "Error reading working memory")
	}
	s.cfg.Scope = func(context.Context) (backends.Scope, error) { panic("nobody") }
	require.Contains(t, s.call(grepTool, `{"pattern":"x"}`), "Error searching working memory")
	require.Len(t, s.told, 4)
}

func TestAWorkingCallEnds(t *testing.T) {
	s := newShelf(t)
	s.put(ann, schema.UserMessage("word"))
	s.cfg.Timeout = time.Nanosecond
	require.Contains(t, s.call(grepTool, `{"pattern":"word"}`), "naming the archives")
	s.cfg.Timeout = -1
	require.Contains(t, s.call(grepTool, `{"pattern":"word"}`), "Matches: 1.")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the run is over")
	cancel(over)
	_, err := s.tools()[grepTool].InvokableRun(ctx, `{"pattern":"word"}`)
	require.ErrorIs(t, err, over)
}

func TestTheWorkingSchemas(t *testing.T) {
	s := newShelf(t)
	want := map[string]string{
		grepTool: `{"additionalProperties":false,"properties":{
			"pattern":{"type":"string","description":"*"},"regex":{"type":"boolean","description":"*"},
			"archives":{"type":"array","items":{"type":"string"},"description":"*"},
			"context_lines":{"type":"integer","minimum":0,"maximum":10,"default":0,"description":"*"},
			"limit":{"type":"integer","minimum":1,"maximum":200,"default":50,"description":"*"},
			"case_sensitive":{"type":"boolean","description":"*"}},"required":["pattern"],"type":"object"}`,
		readTool: `{"additionalProperties":false,"properties":{
			"archive":{"type":"string","description":"*"},
			"line":{"type":"integer","minimum":1,"default":1,"description":"*"},"lines":{"type":"integer","minimum":1,"default":200,"description":"*"},
			"byte":{"type":"integer","minimum":0,"description":"*"},"bytes":{"type":"integer","minimum":1,"maximum":65536,"default":6000,"description":"*"}},
			"required":["archive"],"type":"object"}`,
	}
	for _, language := range []toolkit.Language{toolkit.Auto, toolkit.English, toolkit.Chinese} {
		s.cfg.Language = language
		for name, tool := range s.tools() {
			info, err := tool.Info(t.Context())
			require.NoError(t, err)
			require.Equal(t, language == toolkit.Chinese, isChinese(info.Desc), info.Desc)
			params, err := info.ToJSONSchema()
			require.NoError(t, err)
			for p := params.Properties.Oldest(); p != nil; p = p.Next() {
				require.Equal(t, language == toolkit.Chinese, isChinese(p.Value.Description), p.Key)
			}
			got, err := json.Marshal(params)
			require.NoError(t, err)
			require.JSONEq(t, want[name], withoutDescriptions(t, got), name)
		}
	}
	require.Contains(t, s.call(grepTool, `{"pattern":"x"}`), "没有包含")
}

func TestAWorkingConfigThatCannotWork(t *testing.T) {
	for want, change := range map[string]func(*toolkit.WorkingConfig){
		"no WorkingConfig.Archives": func(c *toolkit.WorkingConfig) { c.Archives = nil },
		"no WorkingConfig.Scope":    func(c *toolkit.WorkingConfig) { c.Scope = nil },
		`language "fr"`:             func(c *toolkit.WorkingConfig) { c.Language = "fr" },
	} {
		s := newShelf(t)
		change(s.cfg)
		_, err := toolkit.WorkingMemory(t.Context(), s.cfg)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
	_, err := toolkit.WorkingMemory(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}
