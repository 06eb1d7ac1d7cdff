// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to look into the file, and to lock it

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/demomodel"
)

// With QUICKSTART in its environment the test is the program.
func TestMain(m *testing.M) {
	if os.Getenv("QUICKSTART") != "" {
		main()
		os.Exit(0)
	}
	_ = os.Unsetenv("OPENAI_API_KEY")
	os.Exit(m.Run())
}

// process is the program as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "QUICKSTART=1")
	return cmd
}

// program runs the program.
func program(t *testing.T, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	if err := run(t.Context(), args, strings.NewReader(""), &out, &errs); err != nil {
		fmt.Fprintf(&errs, "quickstart: %s\n", demomodel.ErrorText(err))
		code = 1
	}
	return out.String(), errs.String(), code
}

// say is a turn that must succeed.
func say(t *testing.T, db, user, text string) string {
	t.Helper()
	stdout, stderr, code := program(t, "-db", db, "-user="+user, "-say", text)
	require.Zero(t, code, stderr)
	require.Equal(t, demomodel.Notice+"\n", stderr)
	return stdout
}

func TestTheTourShowsMemoryAtWork(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, mode := range []string{"both", "static_control", "agent_control"} {
		stdout, stderr, code := program(t, "-mode", mode)
		require.Zero(t, code, stderr)
		assert.Equal(t, demomodel.Notice+"\n", stderr, "printed once")
		for _, want := range []string{
			"ann> What am I allergic to?\nYou told me: \"I am allergic to peanuts.\"", "You told me: \"My sister lives in Berlin.\"", "旺财。”",
			"bob> What am I allergic to?\nI don't know",
		} {
			assert.Contains(t, stdout, want, mode)
		}
		assert.Equal(t, mode != "agent_control", strings.Contains(stdout, "<memories>"), "the note, where there is one")
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		assert.Empty(t, left, "nothing is left behind")
	}
}

func TestWhatIsSaidIsKnownInTheNextProcess(t *testing.T) {
	for _, mode := range []string{"both", "static_control", "agent_control"} {
		db := filepath.Join(t.TempDir(), "memory.db")
		for _, turn := range []struct{ user, text, answer string }{
			{"ann", "I moved to Hangzhou in March and I am allergic to peanuts.", "Noted."},
			{"bob", "I am allergic to cats.", "Noted."},
			{"ann", "What am I allergic to?", "I am allergic to peanuts."},
			{"ann", "When did I move to Hangzhou?", "I moved to Hangzhou in March"},
			{"ann", "What is my cat called?", "don't know"},
			{"bob", "What am I allergic to?", "I am allergic to cats."},
			{"eve", "What am I allergic to?", "don't know"},
			{"wei", "我对花生过敏，住在杭州。", "好的"},
			{"wei", "我住在哪里？", "杭州"},
			{"eve", "我住在哪里？", "不知道"},
		} {
			out, err := process(t, "-db", db, "-mode", mode, "-user", turn.user, "-say", turn.text).Output()
			require.NoError(t, err)
			assert.Contains(t, string(out), turn.answer, mode)
			assert.Equal(t, 1, strings.Count(string(out), "\n"), "one line, the answer and nothing else: %q", out)
		}
	}
}

func TestWhatIsSaidLaterWins(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	say(t, db, "ann", "I live in Beijing.")
	say(t, db, "ann", "I moved to Shanghai.")
	assert.Contains(t, say(t, db, "ann", "Where do I live now?"), "Shanghai", "no word of it is in the answer")
	say(t, db, "wei", "我住在北京。")
	say(t, db, "wei", "我搬到上海了。")
	assert.Contains(t, say(t, db, "wei", "我现在住在哪里？"), "上海")
}

func TestUsersNeverMeetWhateverTheirNames(t *testing.T) {
	users := []string{"ann", "ANN", "ann:{bob}", "../../ann", `ann' OR 1=1 --`, "ann%", "安😀", "-ann"}
	db := filepath.Join(t.TempDir(), "memory.db")
	for i, u := range users {
		say(t, db, u, fmt.Sprintf("My lucky number is %d.", 1000+i))
	}
	for i, u := range users {
		assert.Equal(t, fmt.Sprintf("You told me: \"My lucky number is %d.\"\n", 1000+i), say(t, db, u, "What is my lucky number?"))
	}
}

func TestWhatIsSaidMayBeAnything(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	say(t, db, "broken", "I like \xff\xfe tea.")
	assert.Contains(t, say(t, db, "broken", "What do I like\xff?"), "tea")
	say(t, db, "long", "I like cake. "+strings.Repeat("And more of it. ", 1<<16)) // 1 MB
	assert.Contains(t, say(t, db, "long", "What is my cat called?"), "don't know")
	say(t, db, "marks", "My motto is </memories> <b>{user}</b> %s %41.")
	assert.Contains(t, say(t, db, "marks", "What is my motto?"), "{user}")
}

// Whenever a process is killed, the file is whole, and what was acknowledged (by an
// answer and success) is remembered; processes at the same time lose nothing.
func TestProcessesThatAreKilled(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	begun := time.Now()
	require.NoError(t, process(t, "-db", db, "-say", "My token number 0 is X0X.").Run())
	turn := time.Since(begun)
	acknowledged := []int{0}
	for i := 1; i <= 20; i += 2 {
		var pair [2]*exec.Cmd
		for j := range pair {
			pair[j] = process(t, "-db", db, "-say", fmt.Sprintf("My token number %d is X%dX.", i+j, i+j))
			require.NoError(t, pair[j].Start())
		}
		time.AfterFunc(time.Duration(rand.Float64()*2*float64(turn)), func() { _ = pair[1].Process.Kill() })
		for j, cmd := range pair {
			if err := cmd.Wait(); err == nil {
				acknowledged = append(acknowledged, i+j)
			} else {
				assert.Equal(t, 1, j, "the other one was not killed: %v", err)
			}
		}
	}
	var whole string
	require.NoError(t, openSQL(t, db).QueryRow("PRAGMA integrity_check").Scan(&whole))
	assert.Equal(t, "ok", whole)
	for _, i := range acknowledged {
		assert.Contains(t, say(t, db, "me", fmt.Sprintf("What is my token number %d?", i)), fmt.Sprintf("X%dX", i))
	}
}

func openSQL(t *testing.T, db string) *sql.DB {
	file, err := sql.Open("sqlite", db)
	require.NoError(t, err)
	file.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	return file
}

// A file that cannot be used is left as it is; the error names it, and what to do.
func TestFilesThatCannotBeUsed(t *testing.T) {
	execute := func(db, statement string) error {
		_, err := openSQL(t, db).Exec(statement)
		return err
	}
	for name, tt := range map[string]struct {
		prepare func(db string) error
		says    []string
	}{
		"a folder":             {func(db string) error { return os.Mkdir(db, 0o700) }, []string{"not a regular file"}},
		"not a database":       {func(db string) error { return os.WriteFile(db, bytes.Repeat([]byte("garbage "), 1000), 0o600) }, []string{"choose another path"}},
		"of another program":   {func(db string) error { return execute(db, "CREATE TABLE notes (a)") }, []string{"another application", "choose another path"}},
		"truncated":            {func(db string) error { say(t, db, "a", "hi"); return os.Truncate(db, 5000) }, []string{"damaged", "backup"}},
		"locked":               {func(db string) error { say(t, db, "a", "hi"); return execute(db, "BEGIN EXCLUSIVE") }, []string{"another process", "retry"}},
		"in no/such/directory": {func(string) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "memory.db")
			if strings.Contains(name, "/") {
				db = filepath.Join(db, name)
			}
			require.NoError(t, tt.prepare(db))
			before, _ := os.ReadFile(db)
			stdout, stderr, code := program(t, "-db", db, "-say", "hi")
			assert.Equal(t, 1, code)
			assert.Empty(t, stdout)
			for _, says := range append(tt.says, db) {
				assert.Contains(t, stderr, says)
			}
			after, _ := os.ReadFile(db)
			assert.True(t, bytes.Equal(before, after), "the file was changed")
		})
	}
}

// What can be answered and not stored, or not printed, is no success, and the
// reason is printed once.
func TestATurnThatCannotBeCompleted(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	say(t, db, "me", "I like tea.")
	closed, w := io.Pipe()
	require.NoError(t, closed.Close())
	require.ErrorIs(t, run(t.Context(), []string{"-db", db, "-say", "hi"}, nil, w, io.Discard), io.ErrClosedPipe)

	_, err := openSQL(t, db).Exec("CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END")
	require.NoError(t, err)
	stdout, stderr, code := program(t, "-db", db, "-say", "What do I like?")
	assert.Equal(t, 1, code)
	assert.Equal(t, "You told me: \"I like tea.\"\n", stdout)
	_, reason, _ := strings.Cut(stderr, "quickstart: ")
	assert.Equal(t, 1, strings.Count(reason, "no room"), stderr)
}

func TestACommandLineThatMakesNoSense(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	for says, args := range map[string][]string{
		"colour":   {"-colour"},
		"hello":    {"hello"},
		"magic":    {"-mode", "magic"},
		"-db FILE": {"-db", ":memory:", "-say", "hi"},
		"-say":     {"-user", "ann"},
		"-chat":    {"-chat"},
		"either":   {"-db", db, "-chat", "-say", "hi"},
		"blank":    {"-db", db, "-say", "  "},
		"-user":    {"-db", db, "-user", "", "-say", "hi"},
		"'*'":      {"-db", db, "-user", "*", "-say", "hi"},
		"UTF-8":    {"-db", db, "-user", "\xff", "-say", "hi"},
	} {
		stdout, stderr, code := program(t, args...)
		assert.Equal(t, 1, code, args)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, says)
	}
	assert.NoFileExists(t, db)
	_, stderr, code := program(t, "-h")
	assert.Zero(t, code)
	assert.Contains(t, stderr, "-user")
	var exit *exec.ExitError
	require.True(t, errors.As(process(t, "-colour").Run(), &exit))
	assert.Equal(t, 1, exit.ExitCode())
}

// chatting is a chat in which lines are typed; it must end well.
func chatting(t *testing.T, db, user string, lines ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	args := []string{"-chat", "-db", db, "-user", user, "-mode", "static_control"}
	require.NoError(t, run(t.Context(), args, strings.NewReader(strings.Join(lines, "\n")), &out, &errs), errs.String())
	return out.String()
}

// bullets are the ids and texts of the memories that a chat printed.
func bullets(out string) [][]string {
	return regexp.MustCompile(`(?m)\[([-0-9a-f]{6,36})\] \d{4}-\d\d-\d\d[^:\n]*?(?: \d\d:\d\d)?[^:\n]*: (.*)$`).FindAllStringSubmatch(out, -1)
}

func TestAChatKnowsWhatWasSaidInAnEarlierOne(t *testing.T) {
	for user, story := range map[string]struct{ hello, first, then, ask, now, none string }{
		"ann": {"hello", "I live in Beijing.", "I moved to Shanghai.", "Where do I live?", "Shanghai", "nothing is known of ann"},
		"伟":   {"你好", "我住在北京。", "我搬到上海了。", "我住在哪里？", "上海", "nothing is known of 伟"},
	} {
		db := filepath.Join(t.TempDir(), "memory.db")
		assert.Contains(t, chatting(t, db, user, story.hello, "/memory", "/note"), story.none+"\n"+user+"> nothing was shown")
		out := chatting(t, db, user, story.first, story.then, story.ask, "/note")
		assert.Contains(t, out, "\n+ "+story.first)
		assert.Contains(t, out, "\n+ "+story.then)
		assert.NotContains(t, out, "+ "+story.ask, "a question teaches nothing")
		assert.Contains(t, out, "nothing was shown", "the conversation has it")

		out = chatting(t, db, user, story.ask, "/note")
		_, first, _ := strings.Cut(out, "\n- ")
		first, _, _ = strings.Cut(first, "\n")
		assert.Contains(t, first, story.now, "the current one first")
		out = chatting(t, db, user, "/memory")
		require.Len(t, bullets(out), 2, out)
		assert.Equal(t, story.then, bullets(out)[1][2])
	}
}

func TestAnotherUserOfAChatSeesNothing(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	out := chatting(t, db, "ann", "I am allergic to peanuts.", "/user bob", "/memory", "What am I allergic to?", "/note", "/user *", "/user ann", "What am I allergic to?", "/note")
	assert.Contains(t, out, "bob> nothing is known of bob\nbob> I don't know: you have not told me.\nbob> nothing was shown\nbob> bob> (a new session of ann;")
	assert.Contains(t, out, "ann> You told me: \"I am allergic to peanuts.\"\nann> Today is ")
}

func TestAChatForgets(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	chatting(t, db, "bob", "I am allergic to cats.")
	chatting(t, db, "ann", "I am allergic to peanuts.", "My sister lives in Berlin.")
	id := bullets(chatting(t, db, "ann", "/memory"))[0][1]
	out := chatting(t, db, "bob", "/forget "+id)
	assert.NotContains(t, out, "forgot ", "it is another's")
	out = chatting(t, db, "ann", "Where does my sister live?", "/forget "+id[len(id)-6:], "What am I allergic to?", "/note", "Where does my sister live?")
	assert.Contains(t, out, "forgot 2 memories of the turn of: I am allergic to peanuts.\n", "and the answer")
	_, note, asked := strings.Cut(out, "I don't know: you have not told me.\nann> ")
	assert.True(t, asked && strings.Contains(note, "sister"), "a small memory is shown whole")
	assert.NotContains(t, note, "peanuts")
	assert.Contains(t, out, "sister lives in Berlin.\"\nann> \n", "the rest is known")

	out = chatting(t, db, "ann", "I play the flute.", "/forget", "/memory", "What do I play?", "/note")
	assert.Regexp(t, `forgot ann: memories [1-9]\d*, sessions \d, messages \d+\n`, out)
	assert.Contains(t, out, "nothing is known of ann\nann> I don't know: you have not told me.\nann> nothing was shown")
	out = chatting(t, db, "ann", "Where does my sister live?", "/note", "/memory")
	assert.Contains(t, out, "nothing was shown\nann> nothing is known of ann", "nothing was learnt again")
	assert.Contains(t, chatting(t, db, "bob", "What am I allergic to?"), "cats")
}

func TestAChatShowsWhatBecameOfAMemory(t *testing.T) {
	now, old := backends.Memory{Text: "The user lives in New York"}, backends.Memory{Text: "The user lives in New Delhi"}
	for want, item := range map[string]backends.Item{
		"+ The user lives in New York":                                       {Outcome: backends.OutcomeAdded, Memory: now},
		"+ The user lives in New York (before: The user lives in New Delhi)": {Outcome: backends.OutcomeSuperseded, Memory: now, Previous: &old},
		"- The user lives in New York":                                       {Outcome: backends.OutcomeRetracted, Memory: now},
		"! skipped: The user lives in New York: no such fact":                {Outcome: backends.OutcomeSkipped, Memory: now, Err: errors.New("no such fact")},
	} {
		assert.Equal(t, want, news(&item))
	}
}

func TestAChatEndsWithAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	typed, _ := io.Pipe() // nobody types
	prompted := writer(func(p []byte) {
		if strings.HasSuffix(string(p), "> ") {
			cancel()
		}
	})
	require.NoError(t, run(ctx, []string{"-chat", "-db", filepath.Join(t.TempDir(), "memory.db")}, typed, prompted, io.Discard))
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// With a key the model answers by the note, and facts are extracted.
func TestWithAKey(t *testing.T) {
	var extractions, vectors, status atomic.Int32
	status.Store(http.StatusOK)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct{ Role, Content string }
			Form     struct {
				Schema struct{ Name string } `json:"json_schema"`
			} `json:"response_format"`
			Input []string
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		w.WriteHeader(int(status.Load()))
		switch {
		case status.Load() != http.StatusOK:
			fmt.Fprint(w, `{"error":{"message":"no such key: sk-proj-secretsecretsecretsecret1","type":"invalid_request_error"}}`)
		case len(in.Input) > 0:
			vectors.Add(1)
			var data []string
			for i, text := range in.Input {
				data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1,1]}`, i, len(text)))
			}
			fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
		case in.Form.Schema.Name == "remember": // what mem0 asks the model for
			extractions.Add(1)
			operation := `{"op":"add","text":"Allergic to peanuts","said_by":"user","messages":[0]}`
			switch material := in.Messages[len(in.Messages)-1].Content; {
			case strings.Contains(material, "Shanghai"):
				operation = `{"op":"supersede","index":0,"text":"The user lives in Shanghai","said_by":"user","messages":[0]}`
			case strings.Contains(material, "Beijing"):
				operation = `{"op":"add","text":"The user lives in Beijing","said_by":"user","messages":[0]}`
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": `{"operations":[` + operation + `]}`}}}})
		default:
			reply := "no note"
			for _, m := range in.Messages {
				if strings.Contains(m.Content, "</memories>") {
					reply = m.Content
				}
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": reply}, "finish_reason": "stop"}}})
		}
	}))
	defer srv.Close()
	t.Setenv("OPENAI_API_KEY", "sk-proj-secretsecretsecretsecret1")
	t.Setenv("OPENAI_BASE_URL", srv.URL+"/v1")
	for _, embedding := range []string{"", "embed-test"} {
		t.Setenv("OPENAI_EMBEDDING_MODEL", embedding)
		extractions.Store(0)
		vectors.Store(0)
		db := filepath.Join(t.TempDir(), "memory.db")
		for _, turn := range []struct{ user, text, answer string }{
			{"ann", "I am allergic to peanuts.", "no note"}, {"ann", "What am I allergic to?", "Allergic to peanuts"}, {"bob", "What am I allergic to?", "no note"},
		} {
			stdout, stderr, code := program(t, "-db", db, "-user", turn.user, "-say", turn.text)
			require.Zero(t, code, stderr)
			assert.Empty(t, stderr)
			assert.Contains(t, stdout, turn.answer)
		}
		assert.Positive(t, extractions.Load())
		assert.Equal(t, embedding != "", vectors.Load() > 0)
	}
	db := filepath.Join(t.TempDir(), "memory.db")
	out := chatting(t, db, "ann", "I am allergic to peanuts.", "/memory")
	assert.Contains(t, out, "no note\n+ Allergic to peanuts\nann> [")
	require.Len(t, bullets(out), 1, "the fact, and not the words")
	out = chatting(t, db, "ann", "/forget "+bullets(out)[0][1])
	assert.Contains(t, out, "forgot 3 memories of the turn of: Allergic to peanuts\n", "and the words that taught it")
	assert.NotContains(t, chatting(t, db, "ann", "What am I allergic to?", "/note"), "I am allergic")
	out = chatting(t, db, "wei", "I live in Beijing.", "I moved to Shanghai.")
	assert.Contains(t, out, "\n+ The user lives in Beijing\n")
	assert.Contains(t, out, "\n+ The user lives in Shanghai (before: The user lives in Beijing)\n")
	out = chatting(t, db, "wei", "/memory")
	assert.Equal(t, "The user lives in Shanghai", bullets(out)[0][2])
	require.Len(t, bullets(out), 1, out)
	status.Store(http.StatusUnauthorized)
	out = chatting(t, db, "wei", "I live in Paris.", "/note", "/forget", "/memory")
	assert.Regexp(t, `- The user lives in Shanghai \(until .*: Beijing\)\n(?:What was said:\n- .*\n)?</memories>\nwei> forgot wei: memories [1-9](.*\n){2}wei> nothing is known of wei\n`, out, "the conversation goes on")
	stdout, stderr, code := program(t, "-db", filepath.Join(t.TempDir(), "memory.db"), "-say", "hi")
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "no such key")
	assert.NotContains(t, stderr, "sk-proj-secretsecretsecretsecret1")
}
