// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	plain "github.com/einomem/einomem/internal/text"
)

// brought is what another memory kept: a fact, or the messages of a conversation.
type brought struct {
	fact         string
	time         time.Time // of the fact; zero: unknown
	conversation string
	messages     []backends.Message
}

// sources are the files that bring reads, by the names of -from.
var sources = map[string]func(data []byte, user string) ([]brought, error){
	"mcp": fromMCP, "chatgpt": fromChatGPT, "markdown": fromMarkdown, "mem0": fromMem0,
}

// bring adds what another memory kept. Facts are stored as they are, and conversations as they were
// said. What is known already stays as it is, so that a repeated call is harmless.
func bring(ctx context.Context, c *call) error {
	from := c.String("from")
	read, ok := sources[from]
	if !ok {
		return usage("bring: -from %q: give one of %s", from, strings.Join(slices.Sorted(maps.Keys(sources)), ", "))
	}
	if c.whose.Kind == backends.PartitionWorkspace {
		return usage("bring is for users and agents: library load reads experience for a workspace")
	}
	file := c.Args().First()
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all, err := read(data, c.whose.ID)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("it holds nothing of %s", where(*c.whose))
	}
	if err != nil {
		return fmt.Errorf("%s, read as a file of %s: %w", file, from, err)
	}
	c.progress.ChangeMax(len(all))
	counts := map[backends.Outcome]int{}
	for _, b := range all {
		r := &backends.AddRequest{Scope: c.whose.Scope(), Messages: b.messages, Verbatim: true, Author: from}
		if r.Scope.SessionID = b.conversation; b.fact != "" {
			r.Kind, r.Messages = backends.KindFact, []backends.Message{{Time: b.time, Message: schema.UserMessage(b.fact)}}
		}
		resp, err := c.facts.Add(ctx, r)
		if err != nil {
			return fmt.Errorf("adding %q: %w", plain.Line(b.fact+b.conversation, 80), err)
		}
		for i := range resp.Items {
			counts[resp.Items[i].Outcome]++
			c.row("WHAT ID TEXT", resp.Items[i], string(resp.Items[i].Outcome), resp.Items[i].Memory.ID, resp.Items[i].Memory.Text)
		}
		_ = c.progress.Add(1)
	}
	return c.print(counts, nil)
}

// fromMCP reads the file of the reference server for memory of MCP: a graph, an entity or a
// relation a line.
func fromMCP(data []byte, _ string) (out []brought, err error) {
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e struct {
			Type, Name, From, To, RelationType string
			Observations                       []string
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		switch e.Type {
		case "entity":
			about := spaced(e.Name) + ": "
			if e.Name == "default_user" { // of the server's own sample prompt
				about = ""
			}
			for _, o := range e.Observations {
				out = append(out, brought{fact: about + o})
			}
		case "relation":
			out = append(out, brought{fact: spaced(e.From + " " + e.RelationType + " " + e.To)})
		default:
			return nil, fmt.Errorf("line %d: type %q is neither entity nor relation", n+1, e.Type)
		}
	}
	return out, nil
}

// spaced returns a name of that graph as people write it.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// conversation is one of ChatGPT: a tree of messages.
type conversation struct {
	ID      string  `json:"id"`
	Other   string  `json:"conversation_id"`
	Created float64 `json:"create_time"`
	Current string  `json:"current_node"`
	Mapping map[string]struct {
		Parent   string   `json:"parent"`
		Children []string `json:"children"`
		Message  *struct {
			ID      string                `json:"id"`
			Author  struct{ Role string } `json:"author"`
			Created float64               `json:"create_time"`
			Content struct {
				Type  string `json:"content_type"`
				Parts []any  `json:"parts"`
			} `json:"content"`
		} `json:"message"`
	} `json:"mapping"`
}

// end returns the message that the person saw last. Files that others made may leave it out: then
// the newest end of a branch takes its place.
func (c *conversation) end() string {
	end, last := c.Current, 0.0
	for _, id := range slices.Sorted(maps.Keys(c.Mapping)) {
		if n := c.Mapping[id]; c.Current == "" && n.Message != nil && len(n.Children) == 0 && n.Message.Created >= last {
			end, last = id, n.Message.Created
		}
	}
	return end
}

// fromChatGPT reads the conversations.json of an export of ChatGPT. Of each conversation it takes
// the branch that the person saw last.
func fromChatGPT(data []byte, _ string) (out []brought, err error) {
	var all []conversation
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, chat := range all {
		b := brought{conversation: "chatgpt-" + cmp.Or(chat.ID, chat.Other, fmt.Sprint(seconds(chat.Created).UnixMilli()))}
		seen := map[string]bool{}
		for at := chat.end(); at != "" && !seen[at]; at = chat.Mapping[at].Parent {
			seen[at] = true
			m := chat.Mapping[at].Message
			if m == nil || m.Author.Role != "user" && m.Author.Role != "assistant" || !strings.HasSuffix(m.Content.Type, "text") {
				continue
			}
			var said []string
			for _, p := range m.Content.Parts {
				if s, ok := p.(string); ok && strings.TrimSpace(s) != "" { // others are pictures and files
					said = append(said, s)
				}
			}
			if id := cmp.Or(m.ID, b.conversation+"-"+at); len(said) > 0 {
				b.messages = append(b.messages, backends.Message{
					ID: id, Turn: id, Time: seconds(m.Created),
					Message: &schema.Message{Role: schema.RoleType(m.Author.Role), Content: strings.Join(said, "\n")},
				})
			}
		}
		if slices.Reverse(b.messages); len(b.messages) > 0 {
			out = append(out, b)
		}
	}
	return out, nil
}

// seconds returns a time in seconds since 1970; zero is unknown.
func seconds(s float64) time.Time {
	if s <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(s * 1000)).UTC()
}

var (
	heading = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	noText  = regexp.MustCompile(`^\s*(?:[-*_](?:\s*[-*_]){2,}|<!--.*-->|\|[\s:|-]*)\s*$`) // a line across the page, a comment, the head of a table
	bullet  = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*)$`)
)

// maxFact is the longest fact from a paragraph, in tokens.
const maxFact = 200

// fromMarkdown reads a file of notes, such as a MEMORY.md: a fact is an item of a list, or a
// paragraph, under its heading. Blocks of code stay out.
func fromMarkdown(data []byte, _ string) (out []brought, err error) {
	under, fact, code := "", []string(nil), false
	end := func() {
		for _, part := range plain.Divide(strings.TrimSpace(strings.Join(fact, " ")), maxFact, plain.Tokens) {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, brought{fact: under + part})
			}
		}
		fact = nil
	}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	if lines[0] == "---" { // front matter
		if close := slices.Index(lines[1:], "---"); close >= 0 {
			lines = lines[close+2:]
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			end()
			code = !code
			continue
		}
		h, item := heading.FindStringSubmatch(line), bullet.FindStringSubmatch(line)
		switch {
		case code:
		case noText.MatchString(line):
			end()
		case h != nil:
			end()
			under = h[1] + ": "
		case item != nil:
			end()
			fact = []string{item[1]}
		case strings.TrimSpace(line) == "":
			end()
		case strings.HasPrefix(strings.TrimSpace(line), "|"): // a row of a table is a fact
			end()
			fact = []string{strings.Trim(line, " \t|")}
		default:
			fact = append(fact, strings.TrimSpace(line))
		}
	}
	end()
	return out, nil
}

// fromMem0 reads memories as mem0 returns them: in a list, under "results" or "memories", or, as an
// export by schema has them, in the one list of an object. It leaves out those of others than the user.
func fromMem0(data []byte, user string) (out []brought, err error) {
	type memory struct {
		Memory  string `json:"memory"`
		Content string `json:"content"`
		User    string `json:"user_id"`
		Created string `json:"created_at"`
	}
	var all []memory
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte("[")) {
		err = json.Unmarshal(data, &all)
	} else {
		lists := map[string]json.RawMessage{}
		err = json.Unmarshal(data, &lists)
		maps.DeleteFunc(lists, func(_ string, v json.RawMessage) bool { return v[0] != '[' })
		one := len(lists) == 1
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			if l := strings.ToLower(name); one || l == "results" || l == "memories" {
				var part []memory
				err = cmp.Or(err, json.Unmarshal(lists[name], &part))
				all = append(all, part...)
			}
		}
	}
	others := map[string]bool{}
	for _, m := range all {
		if m.User != "" && m.User != user {
			others[m.User] = true
		} else if said := strings.TrimSpace(m.Memory + m.Content); said != "" {
			out = append(out, brought{fact: said, time: plain.Time(m.Created, time.UTC)})
		}
	}
	if err == nil && len(out) == 0 && len(others) > 0 {
		err = fmt.Errorf("it holds nothing of %s, but of %s: name one by -user", user, plain.Line(strings.Join(slices.Sorted(maps.Keys(others)), ", "), 200))
	}
	return out, err
}
