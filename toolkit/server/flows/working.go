// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

type working struct {
	owner
	compaction.Params
	Messages []message `json:"messages"`
	StoreDir string    `json:"store_dir,omitempty" jsonschema:"a folder for what leaves the context, relative"`
	ChatID   string    `json:"chat_id,omitempty" jsonschema:"a folder in store_dir"`
}

func (w *working) defaults() { w.Params = compaction.DefaultParams() }

type grepWorking struct {
	owner
	FilePath string `json:"file_path"`
	Pattern  string `json:"pattern" jsonschema:"a part of a line, whatever its case"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many lines. Defaults to 50"`
}

func (g *grepWorking) defaults() { g.Limit = 50 }

type readWorking struct {
	owner
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset" jsonschema:"of the first line, from 0"`
	Limit    int    `json:"limit" jsonschema:"of lines; 0 is all"`
}

// files are the offloaded parts of a context, by path. It is a compaction.Archive.
type files struct {
	*call
	folder   string
	write    bool // else the caller writes them
	contents map[string]string
}

// Put implements compaction.Archive: it returns the path of a file. The path follows from the
// contents, so that each file keeps its place.
func (f *files) Put(_ context.Context, messages []*schema.Message) (string, error) {
	raw, err := json.MarshalIndent(messages, "", "  ")
	content, ending := string(raw), ".json"
	if m := messages[0]; len(messages) == 1 && m.Role == schema.Tool {
		content, ending = m.Content, ".txt"
	}
	p := path.Join(f.folder, text.HashID(content)+ending)
	if err == nil && f.write {
		var folder string
		if folder, err = f.filesFolder(); err == nil {
			err = f.writeFile(folder, p, content)
		}
	}
	if err == nil {
		f.contents[p] = content
	}
	return p, err
}

// compact makes a context smaller. An [*compaction.OverError] comes with a result.
func (c *call) compact(p compaction.Params, messages []*schema.Message, to *files) (*compaction.Result, error) {
	p.Model = c.cfg.Model
	if p.Model == nil && p.WorkingSummaryMode == compaction.ModeAuto {
		p.WorkingSummaryMode = compaction.ModeCompact
	}
	cfg, err := compaction.ReMe(p)
	if err != nil {
		return nil, err
	}
	cfg.NoTools = true
	with, err := compaction.New(cfg)
	if err != nil {
		return nil, err
	}
	return with.Compact(c, &compaction.Request{Messages: messages, Archive: to})
}

func (c *call) summaryWorking(in working, write bool) (*Response, error) {
	messages := messagesOf(in.Messages)
	left := &files{call: c, folder: path.Join(in.StoreDir, in.ChatID), write: write, contents: map[string]string{}}
	result, err := c.compact(in.Params, messages, left)
	if over := new(compaction.OverError); err != nil && !errors.As(err, &over) {
		return nil, err
	}
	for _, step := range result.Steps {
		if step.Err != nil { // the cause may name addresses, so the caller only learns the step
			err = errors.Join(err, fmt.Errorf("the step %s failed", step.Step))
		}
	}
	out := &Response{Success: err == nil, Metadata: map[string]any{}}
	if err != nil {
		out.Metadata["error"] = err.Error()
	}
	if len(left.contents) > 0 {
		out.Metadata["write_file_dict"] = left.contents
	}
	given := map[*schema.Message]any{}
	for i, m := range messages {
		given[m] = in.Messages[i]
	}
	answer := make([]any, len(result.Messages))
	for i, m := range result.Messages {
		if answer[i] = given[m]; answer[i] == nil {
			answer[i] = left.short(m, in.PreviewCharLength)
		}
	}
	out.Answer = answer
	return out, nil
}

// short returns the placeholder of an offloaded message, as ReMe writes it.
func (f *files) short(m *schema.Message, preview int) wire {
	w, p := wire{Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}, einox.MarkOf(m).Ref
	if content, ok := f.contents[p]; ok && m.Role == schema.Tool {
		said := "tool call=" + m.ToolCallID + " result is stored in file path=`" + p + "`"
		if preview > 0 {
			said += "\n" + text.Truncate(content, preview)
		}
		w.Content = said
	}
	return w
}

// fileLines returns the lines of a file of working memory.
func (c *call) fileLines(p string) ([]string, error) {
	folder, err := c.filesFolder()
	if err != nil {
		return nil, err
	}
	content, err := c.readFile(folder, p)
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n"), err
}

func (c *call) grepWorking(in grepWorking) (*Response, error) {
	lines, err := c.fileLines(in.FilePath)
	if err != nil {
		return nil, err
	}
	var found []string
	for i, line := range lines {
		if len(found) < in.Limit && strings.Contains(strings.ToLower(line), strings.ToLower(in.Pattern)) {
			found = append(found, fmt.Sprintf("%s:%d:%s", in.FilePath, i+1, line))
		}
	}
	if len(found) == 0 {
		return reply(fmt.Sprintf("No matches found for pattern \"%s\" in file_path \"%s\".", in.Pattern, in.FilePath), map[string]any{})
	}
	return reply(strings.Join(found, "\n"), map[string]any{})
}

func (c *call) readWorking(in readWorking) (*Response, error) {
	lines, err := c.fileLines(in.FilePath)
	if err != nil {
		return nil, err
	}
	lines = lines[min(max(in.Offset, 0), len(lines)):]
	if in.Limit > 0 {
		lines = lines[:min(in.Limit, len(lines))]
	}
	return reply(strings.Join(lines, "\n"), map[string]any{})
}
