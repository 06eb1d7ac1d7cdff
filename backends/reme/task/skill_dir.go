// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/text"
)

// The form of a folder of skills: one folder a skill, with a file of this name, as Eino's skill
// middleware and others read them.
const (
	skillFile     = "SKILL.md"
	maxSkillBytes = 64 << 10
)

// frontMatter opens a SKILL.md.
type frontMatter struct {
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	Tools       []string       `yaml:"tools,omitempty"`
	Metadata    map[string]any `yaml:"metadata,omitempty"`
}

// WriteDir writes the proved skills of a workspace into a folder, and returns how many. It makes
// the folder if need be. Each skill is NAME/SKILL.md; the second one of a name is NAME-ID/SKILL.md.
// It overwrites files of the same names, and stays inside the folder, whatever links are in it.
// Other files stay, also skills that were withdrawn since; write to a new folder to drop them.
func (s Skills) WriteDir(ctx context.Context, scope backends.Scope, dir string) (int, error) {
	_, p, err := s.keeper.Resolve(ctx, scope, keeper.Workspace)
	if err != nil {
		return 0, err
	}
	all, err := s.all(ctx, p)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	taken := map[string]bool{}
	for i, m := range all {
		skill := skillOf(m)
		folder := folderOf(skill)
		if taken[folder] {
			folder += "-" + skill.ID[:8]
		}
		taken[folder] = true
		head, err := yaml.Marshal(frontMatter{folder, text.Truncate(skill.WhenToUse, 1024), skill.Tools, map[string]any{"title": skill.Name, "uses": skill.Uses, "successes": skill.Successes}})
		if err == nil {
			err = root.MkdirAll(folder, 0o755)
		}
		if err == nil {
			err = root.WriteFile(path.Join(folder, skillFile), []byte("---\n"+string(head)+"---\n\n"+m.Text+"\n"), 0o644)
		}
		if err != nil {
			return i, fmt.Errorf("task: writing skill %q: %w", skill.Name, err)
		}
	}
	return len(all), nil
}

var notOfFolder = regexp.MustCompile(`[^a-z0-9]+`)

// folderOf returns the name of a skill in a form for a folder: its id if the name is in another
// script.
func folderOf(s *Skill) string {
	name := strings.Trim(notOfFolder.ReplaceAllString(strings.ToLower(s.Name), "-"), "-")
	return cmp.Or(strings.Trim(text.TruncateBytes(name, 64-len("-12345678")), "-"), "skill-"+s.ID[:8])
}

// ReadDir stores the skills of a folder, one SKILL.md a folder in it, as drafts. With proved, for
// skills that a person vouches for, they are proved. It returns them in their stored form. It skips
// folders without a SKILL.md, and links to folders. An error names a file that links out of the
// folder, has more than 64 KiB, or has another format. The skills before it come with the error.
func (s Skills) ReadDir(ctx context.Context, scope backends.Scope, dir string, proved bool) ([]Skill, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var out []Skill
	for _, e := range entries {
		name := path.Join(e.Name(), skillFile)
		if _, err := root.Stat(name); !e.IsDir() || os.IsNotExist(err) {
			continue
		}
		written, err := readSkill(root, name)
		if err == nil {
			var one *Skill
			if one, err = s.Add(ctx, scope, written, proved); err == nil {
				out = append(out, *one)
			}
		}
		if err != nil {
			return out, fmt.Errorf("task: %s: %w", name, err)
		}
	}
	return out, nil
}

// readSkill reads one file.
func readSkill(root *os.Root, name string) (*Skill, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxSkillBytes+1))
	if err != nil {
		return nil, err
	}
	head, body, ok := bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("---\n")), []byte("\n---"))
	var of frontMatter
	switch err := yaml.Unmarshal(head, &of); {
	case len(raw) > maxSkillBytes:
		return nil, fmt.Errorf("%w: more than %d bytes", backends.ErrInvalid, maxSkillBytes)
	case !ok || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("---")):
		return nil, fmt.Errorf("%w: it does not begin with a front matter between lines of ---", backends.ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("%w: its front matter: %w", backends.ErrInvalid, err)
	}
	title, _ := of.Metadata["title"].(string)
	out := &Skill{Name: cmp.Or(title, of.Name), WhenToUse: of.Description, Tools: of.Tools}
	for line := range strings.Lines(string(body)) {
		if line = stepNumber.ReplaceAllString(strings.TrimSpace(line), ""); line != "" {
			out.Steps = append(out.Steps, line)
		}
	}
	return out, nil
}

var stepNumber = regexp.MustCompile(`^\d+\. `)
