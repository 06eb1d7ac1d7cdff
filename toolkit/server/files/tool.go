// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// toolName is the name of the tool.
const toolName = "memory"

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
}

// Writes reports whether the command may change something.
func (c *Command) Writes() bool { return c.Command != "view" }

// Info describes the tool, for programs that serve it by [Files.Do].
func Info() (*schema.ToolInfo, error) {
	return utils.GoStruct2ToolInfo[Command](toolName, description)
}

// Tools returns the tool. A call returns an error only for a cancelled context; other errors are
// text.
func (f *Files) Tools() ([]tool.BaseTool, error) {
	if f.Scope == nil {
		return nil, fmt.Errorf("files: no Config.Scope: %w: pass a function that returns the scope of a call", backends.ErrInvalid)
	}
	info, err := Info()
	return []tool.BaseTool{&einox.Tool{About: info, Run: f.run, Failed: f.failed}}, err
}

func (f *Files) run(ctx context.Context, arguments string) (string, error) {
	c := &Command{}
	if err := json.Unmarshal([]byte(arguments), c); err != nil {
		return "", invalid("the arguments cannot be read: %v; call it again with one JSON object that follows the schema", err)
	}
	if c.Writes() && backends.IsIncognito(ctx) {
		return "", invalid("what is said in this turn is not to be remembered: do not try again")
	}
	s, err := f.Scope(ctx)
	if err != nil {
		return "", err
	}
	return f.Do(ctx, s, c)
}

func (f *Files) failed(ctx context.Context, err error) string {
	if errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNotFound) {
		return "Error: " + text.Truncate(err.Error(), 1000)
	}
	work.Report(ctx, f.OnError, toolName, err)
	return "Error: memory files are not available now. Continue without them, and do not claim to have noted anything."
}
