// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/build"
)

// program is the program in a process of its own, on one store.
type program struct {
	*testing.T
	at string
}

// run runs it, which must end with the code, and returns what it printed.
func (p *program) run(code int, args ...string) (out, errout string) {
	p.Helper()
	return p.reads("我的狗叫旺财。\n我的狗叫什么？\n", code, args...)
}

// reads runs it on an input.
func (p *program) reads(in string, code int, args ...string) (out, errout string) {
	p.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(p.Context(), os.Args[0], append([]string{"-store", p.at}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "OPENAI_API_KEY=", "EINOMEM_LISTEN=", "EINOMEM_CONFIG=")
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &stdout, &stderr, strings.NewReader(in)
	err := cmd.Run()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		p.Fatal(err)
	}
	require.Equal(p, code, cmd.ProcessState.ExitCode(), "%v: %s%s", args, &stdout, &stderr)
	require.NotContains(p, stdout.String()+stderr.String(), "\x1b", "colours are for terminals")
	return stdout.String(), stderr.String()
}

func (p *program) prints(args ...string) string {
	p.Helper()
	out, _ := p.run(0, args...)
	return out
}

// exported is all that the store holds of somebody.
func (p *program) exported(kind backends.PartitionKind, id string) string {
	p.Helper()
	var out strings.Builder
	db := openStore(p.T, p.at)
	_, err := store.Export(p.Context(), db, backends.Partition{Namespace: "default", Kind: kind, ID: id}, &out)
	require.NoError(p, errors.Join(err, db.Close()))
	return out.String()
}

// Whatever changes more than the memory that it names only says so at first, and its report is then
// that of -yes.
func TestNothingIsChangedWithoutYes(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		p, dir := &program{t, db}, t.TempDir()
		held, plan, library := filepath.Join(dir, "li.jsonl"), filepath.Join(dir, "plan.json"), filepath.Join(dir, "library.jsonl")
		require.NoError(t, os.WriteFile(library, []byte(lines), 0o600))
		for range 2 {
			p.prints("add", "-user", "ann", "Ann likes chess.")
		}
		added := p.prints("add", "-user", "ann", "Ann likes rowing.", "-json")
		var rowing backends.Memory
		require.NoError(t, json.Unmarshal([]byte(added), &rowing))
		p.prints("edit", "-user", "ann", rowing.ID, "Ann likes chess")
		p.prints("export", "-user", "李雷", held)
		drafted := p.prints("reflect", "-user", "ann", "-json")
		require.NoError(t, os.WriteFile(plan, []byte(drafted), 0o600))
		p.prints("library", "load", "lab", library, "-yes")
		all := func() string {
			return p.exported(backends.PartitionUser, "ann") + p.exported(backends.PartitionUser, "李雷") + p.exported(backends.PartitionWorkspace, "lab")
		}
		before, li := all(), p.exported(backends.PartitionUser, "李雷")
		require.Contains(t, before, "先核对余额")
		other := filepath.Join(dir, "other.db")
		for _, command := range [][]string{
			{"delete", "-user", "ann", rowing.ID}, {"delete", "-user", "ann", "-erase", rowing.ID}, {"undo", "-user", "ann", rowing.ID},
			{"undo", "-user", "ann", "-session", "s1"}, {"forget", "-user", "ann", "-session", "s1"}, {"forget", "-user", "ann"},
			{"import", held}, {"reflect", "-user", "ann"}, {"reflect", "-user", "ann", "-plan", plan}, {"retain", "-at-most", "1"},
			{"retry"}, {"transfer", db, other}, {"library", "load", "lab", library}, {"library", "copy", "lab", "ann"},
		} {
			out, errout := p.run(0, append(command, "-json")...)
			require.Equal(t, "nothing was changed: repeat the command with -yes\n", errout, command)
			for line := range strings.Lines(out) {
				require.Contains(t, line, `"dry_run":true`, command)
			}
			require.Equal(t, before, all(), command)
		}
		require.NoFileExists(t, other)

		would := p.prints("forget", "-user", "ann", "-json")
		var said, done backends.Receipt
		require.NoError(t, json.Unmarshal([]byte(would), &said))
		require.NoError(t, json.Unmarshal([]byte(p.prints("forget", "-user", "ann", "-json", "-yes")), &done))
		require.Equal(t, [3]int{done.Memories, done.Sessions, done.Messages}, [3]int{said.Memories, said.Sessions, said.Messages})
		require.Positive(t, said.Memories)
		require.Equal(t, li, p.exported(backends.PartitionUser, "李雷"))
	})
}

// A user is told of a memory by the end of its id, in a note, and has it shown, corrected and put
// back by that.
func TestAMemoryIsKnownByTheIDInANote(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		p, file := &program{t, db}, filepath.Join(t.TempDir(), "einomem.yaml")
		require.NoError(t, os.WriteFile(file, []byte("agent: {updatetool: true}\nlocation: Asia/Shanghai\n"), 0o600))
		p.prints("add", "-user", "韩梅梅", "我对花生过敏")
		out, note := p.run(0, "-config", file, "chat", "-user", "韩梅梅", "-notes", "-say", "我对什么过敏？")
		require.Contains(t, out, "我对花生过敏")
		require.Contains(t, note, "Asia/Shanghai")
		id := regexp.MustCompile(`\[([0-9a-f-]{6,12})\] 我对花生过敏`).FindStringSubmatch(note)
		require.NotNil(t, id, note)

		require.Contains(t, p.prints("show", id[1], "-user", "韩梅梅"), `"text": "我对花生过敏"`)
		_, errout := p.run(1, "show", id[1], "-user", "ann")
		require.Contains(t, errout, "not found: list -all shows all ids")
		p.run(1, "edit", id[1], "爱吃花生", "-user", "ann")
		p.run(1, "delete", id[1], "-user", "李雷", "-yes")
		require.Contains(t, p.prints("edit", id[1], "我对虾过敏", "-delicate", "-expires", "2030-01-01", "-user", "韩梅梅", "-json"), `"delicate":true`)
		require.Contains(t, p.prints("history", id[1], "-user", "韩梅梅"), "updated")
		require.Contains(t, p.prints("undo", id[1], "-user", "韩梅梅", "-yes"), "我对花生过敏")
		_, errout = p.run(2, "edit", id[1], "-user", "韩梅梅")
		require.Contains(t, errout, "give a new text")
		p.prints("delete", id[1], "-user", "韩梅梅", "-yes")
		_, errout = p.run(1, "undo", "-user", "韩梅梅", id[1])
		require.Contains(t, errout, "not found")
	})
}

func TestAChatInTheTerminalIsRemembered(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		p := &program{t, db}
		require.Contains(t, p.prints("chat", "-user", "韩梅梅"), "旺财")
		require.Contains(t, p.prints("chat", "-user", "韩梅梅", "-say", "我的狗叫什么名字？"), "旺财")
		require.Regexp(t, `^{"answer":".*旺财.*"}\n$`, p.prints("chat", "-user", "韩梅梅", "-json", "-say", "我的狗叫什么名字？"))
		require.NotContains(t, p.prints("chat", "-user", "ann", "-say", "我的狗叫什么名字？"), "旺财")
		require.NotContains(t, p.exported(backends.PartitionUser, "ann"), "旺财")
		p.run(2, "chat", "-user", "*")
	})
}

// A line for the program is never a message, and one that it does not know is told what it knows.
func TestAChatKeepsNoLineForTheProgram(t *testing.T) {
	p := &program{t, filepath.Join(t.TempDir(), "memory.db")}
	out, errout := p.reads("/help\nI like tea.\n/quite now\n/new\n/notes\nWhat do I like?\n/notes\nWhat do I like?\n/quit\nI like coffee.\n", 0, "chat", "-user", "ann")
	require.Equal(t, "Noted.\nYou told me: \"I like tea.\"\nYou told me: \"I like tea.\"\n", out)
	require.Equal(t, 2, strings.Count(errout, orders))
	require.Equal(t, 1, strings.Count(errout, "From memory"), "the notes are shown, and then hidden")
	require.Equal(t, 2, strings.Count(p.prints("list", "-user", "ann", "-sessions", "-json"), "\n"))
	_, errout = p.run(2, "chat", "-user", "ann", "-say", "/quit")
	require.Contains(t, errout, orders)
	held := p.exported(backends.PartitionUser, "ann")
	for _, line := range []string{"/help", "/quit", "/notes", "/new", "coffee"} {
		require.NotContains(t, held, line)
	}
	_, errout = p.reads("I like cocoa.\n"+strings.Repeat("x", 100_000)+"\nI like coffee.\n", 1, "chat", "-user", "ann")
	require.Contains(t, errout, "too long", "it does not end in silence")
	out, _ = p.run(0, "chat", "-user", "ann", "-say", "Forget that I like tea.")
	require.NotContains(t, out, "Noted", "it was not done")
	p.run(0, "chat", "-user", "ann", "-say", "/etc/hosts is a file.")
	require.Contains(t, p.exported(backends.PartitionUser, "ann"), "/etc/hosts")
}

// What could not be learnt from is listed, and learnt from by the word of a person.
func TestFailuresAreRetried(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		p, s := &program{t, db}, openStore(t, db)
		ann := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
		failed := []store.Failure{{From: 1, Upto: 1, Attempts: 5, Reason: "the model made no sense", Time: said}}
		_, err := s.Apply(t.Context(), ann, &store.Batch{Session: &store.SessionUpdate{Session: "s1", Failures: &failed}})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.Regexp(t, `user ann .* 1\n`, p.prints("stats", "-user", "ann"))
		require.Contains(t, p.prints("retry"), "the model made no sense")
		require.Contains(t, p.prints("retry", "-user", "ann", "-yes"), `"sessions": 1`)
		require.Empty(t, p.prints("retry"))
	})
}

// offered lists the tools of a connection to the program.
func offered(t *testing.T, at sdk.Transport) (client *sdk.ClientSession, names []string) {
	t.Helper()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), at, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for tool, err := range client.Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	return client, names
}

// A host of MCP starts the program: -tools says which tools it gets, and -workspace any whose
// experience ReMe's flows may name.
func TestAHostOfMCPStartsTheProgram(t *testing.T) {
	for _, c := range []struct {
		args       []string
		reme, open bool // the flows are there, and reach each workspace
	}{
		{nil, false, false},
		{[]string{"-tools", "memory,reme"}, true, false},
		{[]string{"-tools", "memory,reme", "-workspace", "any"}, true, true},
	} {
		cmd := exec.CommandContext(context.Background(), os.Args[0], append([]string{"-store", filepath.Join(t.TempDir(), "memory.db"), "mcp", "-user", "ann"}, c.args...)...)
		cmd.Env = append(os.Environ(), asProgram+"=1", "OPENAI_API_KEY=", "EINOMEM_LISTEN=", "EINOMEM_CONFIG=")
		client, names := offered(t, &sdk.CommandTransport{Command: cmd})
		require.Subset(t, names, []string{"search_memory", "add_memory"}, c.args)
		require.Equal(t, c.reme, slices.Contains(names, "retrieve_task_memory"), names)
		if c.reme {
			found, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "retrieve_task_memory", Arguments: map[string]any{"workspace_id": "lab", "query": "sawing"}})
			require.NoError(t, err)
			require.Equal(t, c.open, !found.IsError, c.args)
		}
	}
}

// Clients of the older protocol read server-sent events.
func TestServeSpeaksServerSentEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "einomem.yaml")
	require.NoError(t, os.WriteFile(file, []byte("default_user: ann"), 0o600))
	url, _, _ := start(t, "-config", file)
	client, names := offered(t, &sdk.SSEClientTransport{Endpoint: url + "/sse"})
	require.Contains(t, names, "add_memory")
	done, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "add_memory", Arguments: map[string]any{"content": "Ann keeps bees."}})
	require.NoError(t, err)
	require.False(t, done.IsError, "%+v", done.Content[0])
	_, found := post(t, url+"/api/v1/search", `{"scope":{"user_id":"ann"},"query":"bees"}`)
	require.Len(t, found["hits"], 1, "it is the memory of ann")
}

func TestMemoriesGetVectors(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
		var answer struct {
			Data []map[string]any `json:"data"`
		}
		for i := range asked.Input {
			answer.Data = append(answer.Data, map[string]any{"index": i, "embedding": []float32{0.6, 0.8}})
		}
		assert.NoError(t, json.NewEncoder(w).Encode(&answer))
	}))
	defer server.Close()
	for name, value := range map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.URL, "OPENAI_MODEL": "m", "OPENAI_EMBEDDING_MODEL": "e"} {
		t.Setenv(name, value)
	}
	db := talked(t, filepath.Join(t.TempDir(), "memory.db"))
	require.Regexp(t, `user ann +3 +3\n`, calls(t, 0, db, "reembed"))
	require.Regexp(t, `user ann +3 +3\n`, calls(t, 0, db, "reembed", "-user", "ann", "-yes"))
	require.Contains(t, calls(t, 0, db, "reembed", "-json"), `"embedded":0`)
}

func TestTheProgramSaysWhatItIs(t *testing.T) {
	p := &program{t, filepath.Join(t.TempDir(), "memory.db")}
	require.Contains(t, p.prints("version", "-json"), `"go":"go1.`)
	require.Contains(t, p.prints("-version"), "einomem version ")
	require.Contains(t, p.prints("completion", "bash"), "einomem")
	require.Contains(t, p.prints("--generate-shell-completion"), "transfer")
	require.Contains(t, p.prints("key", "ann", "-json"), `"secret":"mem_`)
	help := p.prints("-help")
	for _, c := range append(commands(), servingCommands()...) {
		require.Contains(t, help, c.name)
	}
	_, errout := p.run(1, "list", "-json")
	require.Contains(t, errout, `{"error":"there is no memory file`)
}

// Programs read which commands there are, what each takes, and which take -yes.
func TestHelpIsForProgramsToo(t *testing.T) {
	p := &program{t, filepath.Join(t.TempDir(), "memory.db")}
	type described struct {
		Command, Arguments, About string
		Flags                     []struct{ Name, Type, About string }
	}
	read := func(args ...string) (out []described) {
		for line := range strings.Lines(p.prints(args...)) {
			var d described
			require.NoError(t, json.Unmarshal([]byte(line), &d), line)
			require.NotEmpty(t, d.About, line)
			out = append(out, d)
		}
		return out
	}
	takesYes, named := map[string]bool{}, map[string]bool{}
	for _, d := range read("help", "-json") {
		named[d.Command] = true
		for _, f := range d.Flags {
			require.NotEmpty(t, f.Name+f.Type+f.About)
			takesYes[d.Command] = takesYes[d.Command] || f.Name == "yes"
		}
	}
	for _, c := range append(commands(), servingCommands()...) {
		require.True(t, named["einomem "+c.name], c.name)
		require.Equal(t, c.effect != reads, takesYes["einomem "+c.name], c.name)
	}
	require.True(t, takesYes["einomem library dump"])
	require.Equal(t, read("help", "library", "load", "-json"), read("library", "load", "-help", "-json"))
	require.Equal(t, "WORKSPACE FILE", read("-json", "help", "library", "load")[0].Arguments)
	require.Contains(t, p.prints("help", "library", "load"), "einomem library load [options] WORKSPACE FILE")
	for _, wrong := range [][]string{{"frob"}, {"frob", "load"}, {"library", "frob"}} {
		_, errout := p.run(2, append([]string{"help"}, wrong...)...)
		require.Contains(t, errout, `"frob" is no command: see einomem `, wrong)
	}
}

// What changes something takes -yes, also where it needs none.
func TestCommandsThatActAtOnceTakeYes(t *testing.T) {
	p, file := &program{t, filepath.Join(t.TempDir(), "memory.db")}, filepath.Join(t.TempDir(), "ann.jsonl")
	p.prints("add", "-user", "ann", "-yes", "Ann likes tea.")
	p.prints("edit", "-user", "ann", idOf(t, p.at, "ann", "tea"), "Ann likes coffee.", "-yes")
	_, errout := p.run(0, "export", "-user", "ann", file, "-yes")
	require.Empty(t, errout)
	held, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(held), "Ann likes coffee.")
}

// A terminal sees how far long work is. Programs that read JSON do not, on a terminal either.
func TestLongWorkShowsItsProgress(t *testing.T) {
	script, err := exec.LookPath("script") // makes a terminal
	if err != nil {
		t.Skip("script is not installed")
	}
	shown, wait := make(chan struct{}), func() {}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		wait()
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[0.6,0.8]}]}`)
	}))
	defer server.Close()
	work := func(args string) *exec.Cmd {
		db := filepath.Join(t.TempDir(), "memory.db")
		calls(t, 0, db, "add", "-user", "ann", "Ann likes tea.")
		cmd := exec.CommandContext(t.Context(), script, "-qec", os.Args[0]+" -store "+db+" reembed -yes"+args, os.DevNull)
		cmd.Env = append(os.Environ(), asProgram+"=1", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "OPENAI_EMBEDDING_MODEL=e")
		return cmd
	}
	cmd := work("")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	wait = func() { <-shown }
	require.NoError(t, cmd.Start())
	var read strings.Builder
	for piece := make([]byte, 4096); !strings.Contains(read.String(), "(0/1)"); {
		n, err := out.Read(piece)
		require.NoError(t, err, read.String())
		read.Write(piece[:n])
	}
	close(shown)
	rest, err := io.ReadAll(out)
	require.NoError(t, errors.Join(err, cmd.Wait()))
	require.Regexp(t, `user ann +1 +1`, string(rest))

	wait = func() { time.Sleep(300 * time.Millisecond) } // long enough to be shown
	all, err := work(" -json").Output()
	require.NoError(t, err)
	require.JSONEq(t, `{"embedded":1,"memories":1,"partition":{"namespace":"default","kind":"user","id":"ann"}}`, string(all))
}

// Every door tells the version that the command tells.
func TestThereIsOneVersion(t *testing.T) {
	var told struct{ Version string }
	require.NoError(t, json.Unmarshal([]byte(calls(t, 0, "", "version", "-json")), &told))
	require.Equal(t, build.Version(), told.Version)
	require.Contains(t, calls(t, 0, "", "version"), "einomem "+told.Version+" (go")
	require.Equal(t, "einomem version "+told.Version+"\n", calls(t, 0, "", "-version"))
	url, _, _ := start(t)
	_, body := get(t, url+"/openapi.json")
	var document struct{ Info struct{ Version string } }
	require.NoError(t, json.Unmarshal([]byte(body), &document))
	require.Equal(t, told.Version, document.Info.Version)
	client, _ := offered(t, &sdk.StreamableClientTransport{Endpoint: url + "/mcp", DisableStandaloneSSE: true})
	require.Equal(t, told.Version, client.InitializeResult().ServerInfo.Version)
}

// openStore opens a store that is there.
func openStore(t *testing.T, at string) store.Store {
	db, err := open(t.Context(), at, false)
	require.NoError(t, err)
	return db
}

// A terminal gets colours, unless it or its user wants none.
func TestColoursAreForTerminals(t *testing.T) {
	script, err := exec.LookPath("script") // makes a terminal
	if err != nil {
		t.Skip("script is not installed")
	}
	db := talked(t, filepath.Join(t.TempDir(), "memory.db"))
	for set, want := range map[string]bool{"TERM=xterm": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		cmd := exec.CommandContext(t.Context(), script, "-qec", os.Args[0]+" -store "+db+" list", os.DevNull)
		cmd.Env = append(os.Environ(), asProgram+"=1", "TERM=xterm", set)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, want, bytes.Contains(out, []byte("\x1b[1mKIND")), set)
	}
}
