// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/einomem/einomem/backends"
)

// Open returns the content of the file that a prompt names.
type Open func(name string) ([]byte, error)

// maxFile is how many bytes a configuration, or the file of a prompt, may have.
const maxFile = 1 << 20

// Load returns the defaults with the files over them, in order, and the overrides
// over these, checked by [Settings.Validate]. Errors: ErrInvalid with all that is
// wrong in one file or in the overrides, and those of reading files.
func Load(files []string, overrides ...string) (*Settings, error) {
	s := Default()
	for _, name := range files {
		data, err := readFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading settings: %w", err)
		}
		if err := s.Read(name, data, openBeside(filepath.Dir(name))); err != nil {
			return nil, err
		}
	}
	if err := s.Override(openBeside("."), overrides...); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

func openBeside(dir string) Open {
	return func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return readFile(name)
	}
}

func readFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %w: %d bytes are more than %d", name, backends.ErrInvalid, info.Size(), maxFile)
	}
	return os.ReadFile(name)
}

// Read puts the settings of a file over s. The end of its name tells the format:
// .yaml, .yml, .json. Open reads the files of prompts; nil: there are none. With an
// error s is as it was. It is not validated: call [Settings.Validate] at the end.
func (s *Settings) Read(name string, data []byte, open Open) error {
	tree, err := parse(name, data)
	if err != nil {
		return fmt.Errorf("reading settings: %s: %w", name, err)
	}
	var values []value
	flatten(nil, tree, &values)
	if err := s.change(values, open); err != nil {
		return fmt.Errorf("reading settings: %s: %w", name, err)
	}
	return nil
}

// Override puts overrides key.path=value over s, in order. Open reads the files of
// prompts; nil: there are none. With an error s is as it was. It is not validated:
// call [Settings.Validate] at the end.
func (s *Settings) Override(open Open, overrides ...string) error {
	changed := s.Clone()
	for _, o := range overrides {
		values, err := parseOverride(o)
		if err == nil {
			err = changed.change(values, open)
		}
		if err != nil {
			return fmt.Errorf("override: %w", err)
		}
	}
	*s = *changed
	return nil
}

// Clone returns a copy that shares nothing with s.
func (s *Settings) Clone() *Settings {
	out := *s
	out.Prompts = s.Prompts.clone()
	out.Personal.TypeWeights = maps.Clone(s.Personal.TypeWeights)
	return &out
}

// change sets values, all or none.
func (s *Settings) change(values []value, open Open) error {
	changed := s.Clone()
	said := map[string]string{} // key → the name by which it was set
	var wrong []error
	slices.SortFunc(values, func(a, b value) int { return slices.Compare(a.path, b.path) })
	for _, v := range values {
		if v.content == nil && isSection(v.key()) {
			continue
		}
		key, err := resolve(v.key())
		if err == nil && v.content == nil {
			continue
		}
		if err == nil && said[key] != "" {
			err = fmt.Errorf("%s: %w: it sets %s, and so does %s", v.key(), backends.ErrInvalid, key, said[key])
		}
		if err == nil {
			said[key] = v.key()
			err = changed.set(key, v.of(key), open)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	*s = *changed
	return nil
}
