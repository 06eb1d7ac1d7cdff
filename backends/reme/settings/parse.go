// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/einomem/einomem/backends"
)

// value is what one key is set to.
type value struct {
	path    []string
	content any // string, bool, a number, a list; nil: nothing
}

func (v *value) key() string { return strings.Join(v.path, ".") }

// of returns what the key that the path stands for is set to.
func (v *value) of(key string) any {
	if name, ok := v.content.(string); ok && v.key() == key+".file" {
		return promptFile(name)
	}
	return v.content
}

// parse returns the tree of a file.
func parse(name string, data []byte) (map[string]any, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", backends.ErrInvalid, len(data), maxFile)
	}
	var decoder interface{ Decode(any) error }
	switch filepath.Ext(name) {
	case ".yaml", ".yml":
		decoder = yaml.NewDecoder(bytes.NewReader(data))
	case ".json":
		numbers := json.NewDecoder(bytes.NewReader(data))
		numbers.UseNumber()
		decoder = numbers
	default:
		return nil, fmt.Errorf("%w: its name does not end in .yaml, .yml or .json", backends.ErrInvalid)
	}
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil // nothing is set
		}
		return nil, fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the settings", backends.ErrInvalid)
	}
	return tree, nil
}

// flatten appends the values of a tree whose keys begin with path.
func flatten(path []string, content any, out *[]value) {
	section, ok := content.(map[string]any)
	if ok && len(section) == 0 {
		content, ok = nil, len(path) == 0 // nothing is set, but the name is looked at
	}
	if !ok {
		*out = append(*out, value{path: path, content: content})
		return
	}
	for name, below := range section {
		flatten(append(path[:len(path):len(path)], name), below, out)
	}
}

// parseOverride returns the values that key.path=value sets.
func parseOverride(override string) ([]value, error) {
	key, raw, ok := strings.Cut(override, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return nil, fmt.Errorf("%w: an override is written key.path=value", backends.ErrInvalid)
	}
	content := typed(strings.TrimSpace(raw))
	if known, err := resolve(key); err == nil && isText(known) {
		switch content.(type) {
		case nil, string, map[string]any:
		default:
			content = raw
		}
	}
	var out []value
	flatten([]string{key}, content, &out)
	return out, nil
}

// typed returns what a text is as JSON, or the text. The words of Python are
// understood, too.
func typed(raw string) any {
	switch raw {
	case "True":
		return true
	case "False":
		return false
	case "None":
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(raw))
	decoder.UseNumber()
	var content any
	if json.Valid([]byte(raw)) && decoder.Decode(&content) == nil {
		return content
	}
	return raw
}
