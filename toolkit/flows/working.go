// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// working has ReMe's names for the fields of compaction.Params, and its defaults.
type working struct {
	workspace
	Messages              []message        `json:"messages"`
	WorkingSummaryMode    *compaction.Mode `json:"working_summary_mode,omitempty" jsonschema:"auto, compact or compress. Defaults to auto"`
	CompactRatioThreshold *float64         `json:"compact_ratio_threshold,omitempty" jsonschema:"of auto: the share of tokens that may stay without a summary. Defaults to 0.75"`
	MaxTotalTokens        *int             `json:"max_total_tokens,omitempty" jsonschema:"up to which nothing is done. Defaults to 20000"`
	MaxToolMessageTokens  *int             `json:"max_tool_message_tokens,omitempty" jsonschema:"above which a result is offloaded. Defaults to 2000"`
	GroupTokenThreshold   *int             `json:"group_token_threshold,omitempty" jsonschema:"of one summary. Defaults to one for all"`
	KeepRecentCount       *int             `json:"keep_recent_count,omitempty" jsonschema:"how many of the newest messages stay. Defaults to 10"`
	PreviewCharLength     *int             `json:"preview_char_length,omitempty" jsonschema:"characters of an offloaded result that stay. Defaults to 0"`
	StoreDir              *string          `json:"store_dir,omitempty" jsonschema:"a folder for what leaves the context, relative"`
	ChatID                *string          `json:"chat_id,omitempty" jsonschema:"what the names of files with former messages begin with"`
}

type grepWorking struct {
	workspace
	FilePath string   `json:"file_path"`
	Pattern  string   `json:"pattern" jsonschema:"a part of a line, whatever its case"`
	Limit    *float64 `json:"limit,omitempty" jsonschema:"how many lines. Defaults to 50"`
}

type readWorking struct {
	workspace
	FilePath string  `json:"file_path"`
	Offset   float64 `json:"offset" jsonschema:"of the first line, from 0"`
	Limit    float64 `json:"limit" jsonschema:"of lines; 0 is all"`
}

func (f *Flows) workingFlows() {
	define(f, Flow{Name: "summary_working_memory", Write: true, Long: true, Description: "Makes a context smaller: large results of tools go to files, and older messages into a summary."},
		func(c *call, in working) (*Response, error) { return c.summaryWorking(in, true) })
	define(f, Flow{Name: "summary_working_memory_for_as", Long: true, Description: "As summary_working_memory, for callers that write the files of write_file_dict themselves."},
		func(c *call, in working) (*Response, error) { return c.summaryWorking(in, false) })
	define(f, Flow{Name: "grep_working_memory", Description: "Finds the lines of a file of working memory that have a text."}, (*call).grepWorking)
	define(f, Flow{Name: "read_working_memory", Description: "Reads limit lines of a file of working memory, from line offset on, counted from 0."}, (*call).readWorking)
}

// or returns what a request gives, else a default.
func or[T any](given *T, value T) T {
	if given != nil {
		return *given
	}
	return value
}

// compactor returns what makes contexts smaller as a request wants, and where it puts what
// leaves: in files, which are to be closed, if write is set and there is a folder.
func (c *call) compactor(in *working, write bool) (*compaction.Compactor, *files, error) {
	d := compaction.DefaultParams()
	p := compaction.Params{
		WorkingSummaryMode: or(in.WorkingSummaryMode, d.WorkingSummaryMode), CompactRatioThreshold: or(in.CompactRatioThreshold, d.CompactRatioThreshold),
		MaxTotalTokens: or(in.MaxTotalTokens, d.MaxTotalTokens), MaxToolMessageTokens: or(in.MaxToolMessageTokens, d.MaxToolMessageTokens),
		GroupTokenThreshold: or(in.GroupTokenThreshold, d.GroupTokenThreshold), KeepRecentCount: or(in.KeepRecentCount, d.KeepRecentCount),
		PreviewCharLength: or(in.PreviewCharLength, d.PreviewCharLength), Model: c.cfg.Model,
	}
	if p.Model == nil && p.WorkingSummaryMode == compaction.ModeAuto {
		p.WorkingSummaryMode = compaction.ModeCompact
	}
	cfg, err := compaction.ReMe(p)
	if err != nil {
		return nil, nil, err
	}
	cfg.NoTools = true
	with, err := compaction.New(cfg)
	f := &files{dir: path.Clean(or(in.StoreDir, "")), chat: or(in.ChatID, "history"), made: map[string]string{}}
	if err == nil && write && c.cfg.Folder != nil {
		if f.dir, err = local(f.dir); err == nil {
			f.root, err = c.area(true)
		}
	}
	return with, f, err
}

func (f *files) close() {
	if f.root != nil {
		_ = f.root.Close()
	}
}

// compact makes a context smaller. With the messages comes what went wrong on the way, if
// something did; an error comes without messages.
func (c *call) compact(with *compaction.Compactor, f *files, messages []*schema.Message, preview int) (smaller []*schema.Message, wrong, err error) {
	result, err := with.Compact(c, &compaction.Request{Messages: messages, Archive: f})
	if over := new(compaction.OverError); err != nil && !errors.As(err, &over) {
		return nil, nil, err
	}
	for _, step := range result.Steps {
		if step.Err != nil { // the caller does not see why: it may name addresses
			err = errors.Join(err, fmt.Errorf("the step %s failed", step.Step))
		}
	}
	for i, m := range result.Messages {
		p := einox.RefOf(m)
		if content, ok := f.made[p]; ok && m.Role == schema.Tool {
			short := *m
			short.Content = "tool call=" + m.ToolCallID + " result is stored in file path=`" + p + "`"
			if preview > 0 {
				short.Content += "\n" + text.Truncate(content, preview)
			}
			result.Messages[i] = &short
		}
	}
	return result.Messages, err, nil
}

func (c *call) summaryWorking(in working, write bool) (*Response, error) {
	with, f, err := c.compactor(&in, write)
	if err != nil {
		return nil, err
	}
	defer f.close()
	messages := messagesOf(in.Messages)
	smaller, wrong, err := c.compact(with, f, messages, or(in.PreviewCharLength, 0))
	if err != nil {
		return nil, err
	}
	out := &Response{Answer: in.Messages, Success: wrong == nil, Metadata: map[string]any{}}
	if wrong != nil {
		out.Metadata["error"] = wrong.Error()
	}
	if len(f.made) > 0 {
		given := make(map[*schema.Message]any, len(messages))
		for i, m := range messages {
			given[m] = in.Messages[i]["content"]
		}
		answer := wires(smaller)
		for i, m := range smaller {
			if content, ok := given[m]; ok {
				answer[i].Content = content // with its media
			}
		}
		out.Answer, out.Metadata["write_file_dict"] = answer, f.made
	}
	return out, nil
}

// lines returns the lines of a file of working memory.
func (c *call) lines(p string) ([]string, error) {
	root, err := c.area(false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	content, err := readFile(root, p)
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n"), err
}

func (c *call) grepWorking(in grepWorking) (*Response, error) {
	lines, err := c.lines(in.FilePath)
	if err != nil {
		return nil, err
	}
	var found []string
	for i, line := range lines {
		if float64(len(found)) < or(in.Limit, 50) && strings.Contains(strings.ToLower(line), strings.ToLower(in.Pattern)) {
			found = append(found, fmt.Sprintf("%s:%d:%s", in.FilePath, i+1, line))
		}
	}
	if len(found) == 0 {
		return reply(fmt.Sprintf("No matches found for pattern \"%s\" in file_path \"%s\".", in.Pattern, in.FilePath), map[string]any{})
	}
	return reply(strings.Join(found, "\n"), map[string]any{})
}

func (c *call) readWorking(in readWorking) (*Response, error) {
	lines, err := c.lines(in.FilePath)
	if err == nil && (in.Offset < 0 || in.Limit < 0) {
		err = fmt.Errorf("%w: offset %v, limit %v: not below 0", backends.ErrInvalid, in.Offset, in.Limit)
	}
	if err != nil {
		return nil, err
	}
	lines = lines[int(min(in.Offset, float64(len(lines)))):]
	if in.Limit > 0 {
		lines = lines[:int(min(in.Limit, float64(len(lines))))]
	}
	return reply(strings.Join(lines, "\n"), map[string]any{})
}
