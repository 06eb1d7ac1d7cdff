// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// ToolName is the name of the tool.
const ToolName = "memory"

// maxShown is how many characters one view shows.
const maxShown = 32_000

const description = `Keep notes for later conversations as files under /memories: look there before you begin, and write down what you will need. Commands: view (path, view_range), create (path, file_text), str_replace (path, old_str, new_str), insert (path, insert_line, insert_text), delete (path), rename (old_path, new_path).`

// Command is a call of the tool.
type Command struct {
	Command    string `json:"command" jsonschema:"required,enum=view,enum=create,enum=str_replace,enum=insert,enum=delete,enum=rename" jsonschema_description:"What to do."`
	Path       string `json:"path,omitempty" jsonschema_description:"The file or directory, such as /memories/notes.md. All commands but rename need it."`
	ViewRange  []int  `json:"view_range,omitempty" jsonschema_description:"view: the first and the last line to show; -1 for the end of the file."`
	FileText   string `json:"file_text,omitempty" jsonschema_description:"create: what the file holds."`
	OldStr     string `json:"old_str,omitempty" jsonschema_description:"str_replace: the text to replace. It must occur exactly once."`
	NewStr     string `json:"new_str,omitempty" jsonschema_description:"str_replace: the text in its place. Without it, old_str is deleted."`
	InsertLine int    `json:"insert_line,omitempty" jsonschema_description:"insert: the line behind which the text goes; 0 for the beginning."`
	InsertText string `json:"insert_text,omitempty" jsonschema_description:"insert: the text."`
	OldPath    string `json:"old_path,omitempty" jsonschema_description:"rename: the path now."`
	NewPath    string `json:"new_path,omitempty" jsonschema_description:"rename: the new path. Nothing may be there."`

	unreadable string // why the arguments are no Command
}

// Writes reports whether the command may change something.
func (c *Command) Writes() bool { return c.Command != "view" }

// Do carries out a command on the files of a scope, and returns what a model reads of it. What
// the command got wrong is ErrInvalid or ErrNotFound, with a text that says what to do.
func (f *Files) Do(ctx context.Context, s backends.Scope, c *Command) (out string, err error) {
	x, err := f.call(ctx, s)
	if id := compose.GetToolCallID(ctx); id != "" && err == nil { // a run that is resumed may repeat it
		x.key = idPrefix + keeper.HashID(s.SessionID, s.AgentID, id, fmt.Sprint(*c))
	}
	for range 1000 { // each time, of those who overtake each other, one succeeds
		if err == nil {
			out, err = x.do(c)
		}
		if !errors.Is(err, backends.ErrConflict) || ctx.Err() != nil {
			break
		}
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("files: %w", err)
	}
	return out, nil
}

func (x *call) do(c *Command) (string, error) {
	switch c.Command {
	case "view":
		return x.view(c)
	case "create":
		return "File created: " + c.Path, x.create(c.Path, c.FileText)
	case "str_replace", "insert":
		return x.edit(c)
	case "delete":
		return "Deleted: " + c.Path, x.move(c.Path, nil)
	case "rename":
		return "Renamed: " + c.OldPath + " is now " + c.NewPath, x.move(c.OldPath, &c.NewPath)
	}
	return "", invalid("the command is %.50q: use view, create, str_replace, insert, delete or rename", c.Command)
}

// view shows a file, or a directory two levels deep.
func (x *call) view(c *Command) (string, error) {
	name, err := parse(strings.TrimSuffix(c.Path, "/"))
	if err != nil {
		return "", err
	}
	sizes, err := x.names()
	if err != nil {
		return "", err
	}
	if _, ok := sizes[name]; ok {
		text, _, err := x.open(c.Path)
		first, last, n := 1, -1, lineAt(text, len(strings.TrimSuffix(text, "\n")))
		if r := c.ViewRange; len(r) == 2 {
			first, last = r[0], r[1]
		}
		if err == nil && (len(c.ViewRange)%2 != 0 || first < 1 || first > n || last != -1 && last < first) {
			err = invalid("view_range is %v, and the file has %d lines: name the first and the last line to show", c.ViewRange, n)
		}
		return "The file " + c.Path + " with line numbers:\n" + numbered(text, first, last), err
	}
	shown := map[string]int{}
	for file, size := range sizes {
		if within(file, name) {
			parts := strings.Split(strings.TrimPrefix(pathOf(file), pathOf(name)), "/")
			for i := range min(len(parts), 3) {
				shown[pathOf(name)+strings.Join(parts[:i+1], "/")] += size
			}
		}
	}
	if len(shown) == 0 && name != "" {
		return "", notFound(c.Path)
	}
	shown[pathOf(name)] += 0
	out := "The files and directories in " + pathOf(name) + ", two levels deep, with their sizes:"
	for _, path := range slices.Sorted(maps.Keys(shown)) {
		out += fmt.Sprintf("\n%.1fK\t%s", math.Ceil(float64(shown[path])/102.4)/10, path)
	}
	return text.Truncate(out, maxShown), nil
}

// numbered shows the lines of a text from the first to the last, as far as they fit; -1 is the
// end of the text.
func numbered(s string, first, last int) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	var out strings.Builder
	for n := max(first, 1); n <= len(lines) && (last < 0 || n <= last); n++ {
		if out.Len() > 0 && out.Len()+len(lines[n-1]) > maxShown {
			fmt.Fprintf(&out, "(there is more: view it with view_range [%d, -1])\n", n)
			break
		}
		fmt.Fprintf(&out, "%6d\t%s\n", n, text.Truncate(lines[n-1], maxShown))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// edit replaces a piece of a file, or inserts one.
func (x *call) edit(c *Command) (string, error) {
	before, write, err := x.open(c.Path)
	if err != nil {
		return "", err
	}
	var after string
	var at int
	if c.Command == "insert" {
		after, at, err = insert(before, c.InsertLine, x.clean(c.InsertText))
	} else {
		after, at, err = replace(before, c.OldStr, x.clean(c.NewStr))
	}
	if err == nil {
		err = write(after)
	}
	line := lineAt(after, min(at, len(after)))
	return "Edited: " + c.Path + ". Around the change it has now:\n" + numbered(after, line-3, line+3), err
}

// Info describes the tool, for those who serve it themselves by [Files.Do].
func Info() (*schema.ToolInfo, error) {
	return utils.GoStruct2ToolInfo[Command](ToolName, description)
}

// Tools returns the tool. Of its errors a cancelled context alone is one: the others are text.
func (f *Files) Tools() ([]tool.BaseTool, error) {
	read := func(_ context.Context, arguments string) (any, error) {
		c := &Command{}
		if err := json.Unmarshal([]byte(arguments), c); err != nil {
			c.unreadable = err.Error()
		}
		return c, nil
	}
	t, err := utils.InferTool(ToolName, description, f.run, utils.WithUnmarshalArguments(read))
	if err != nil || f.Scope == nil {
		return nil, fmt.Errorf("files: no Config.Scope: %w", errors.Join(err, backends.ErrInvalid))
	}
	return []tool.BaseTool{t}, nil
}

func (f *Files) run(ctx context.Context, c *Command) (out string, err error) {
	switch {
	case c.unreadable != "":
		return "Error: the arguments cannot be read: " + text.Truncate(c.unreadable, 300) + ". Call it again with one JSON object that follows the schema.", nil
	case c.Writes() && backends.IsIncognito(ctx):
		return "Error: nothing was changed: what is said in this turn is not to be remembered. Do not try again.", nil
	}
	err = work.Catch("tool", func() error {
		s, err := f.Scope(ctx)
		if err == nil {
			out, err = f.Do(ctx, s, c)
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNotFound):
		return "Error: " + text.Truncate(err.Error(), 1000), nil
	case err != nil:
		work.Report(ctx, f.OnError, ToolName, err)
		return "Error: memory files are not available now. Continue without them, and do not claim to have noted anything.", nil
	}
	return out, nil
}
