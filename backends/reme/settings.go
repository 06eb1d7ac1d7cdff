// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
)

// LoadSettings applies the settings of files, in order, and then the overrides; the last value of a
// key wins. A file is YAML or JSON, an override key=value:
//
//	err := cfg.LoadSettings([]string{"memory.yaml"}, "task.top_k=10", "language=zh")
//
// with memory.yaml:
//
//	language: zh
//	task: {success_threshold: 0.8}
//	limits: {calls: 32, timeout: 90s}
//
// The keys are the names of the fields of Config, Limits, and the configurations of task,
// personal and tool memory, in snake_case (task.duplicate_words, tool.keep), with these
// exceptions:
//
//	task.success_threshold, task.simple_threshold, task.validation_threshold
//	    Threshold, SimpleThreshold and MinQuality of task.Config
//	task.forget_after, task.forget_share
//	    the fields of task.Config.Forget
//
// Names of ReMe 0.2 are read, too: success_threshold, success_score_threshold,
// validation_threshold, similarity_threshold (of duplicates), top_k, enable_llm_rerank,
// enable_llm_rewrite, freq_threshold, utility_threshold, contra_repeat_max_count,
// output_memory_max_count, max_history_tool_call_cnt, recent_call_count, recent_frequency
// and thread_pool_max_workers, bare or behind op.NAME., op.NAME.params., flow.NAME. and
// flow.NAME.params.
//
// Values made by code, such as models and stores, are not settings, and secrets never are. Errors:
// ErrInvalid for an unreadable document, an unknown key, a value of another type and a key that one
// file sets twice; and the errors of reading files. After an error c is as it was. [New] checks the
// ranges of values.
func (c *Config) LoadSettings(files []string, overrides ...string) error {
	n := *c
	s := newSettings(&n)
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err == nil {
			err = s.read(data)
		}
		if err != nil {
			return fmt.Errorf("reme: settings in %s: %w", name, err)
		}
	}
	for _, o := range overrides {
		name, value, ok := strings.Cut(o, "=")
		if !ok || name == "" {
			return fmt.Errorf("reme: settings: override %.40q: %w: write key=value", name, backends.ErrInvalid)
		}
		if err := s.set(name, &yaml.Node{Kind: yaml.ScalarNode, Value: value}, map[string]string{}); err != nil {
			return fmt.Errorf("reme: settings: override %w", err)
		}
	}
	*c = n
	return nil
}

// settings are the fields of a configuration, by their keys.
type settings map[string]any

func newSettings(c *Config) settings {
	t, l, p, o := &c.Task, &c.Limits, &c.Personal, &c.Tools
	if t.Forget == (task.Rule{}) {
		t.Forget = task.DefaultRule()
	}
	return settings{
		"language": &c.Language, "no_personal": &c.NoPersonal,
		"limits.calls": &l.Calls, "limits.tokens": &l.Tokens, "limits.prompt": &l.Prompt, "limits.concurrency": &l.Concurrency, "limits.timeout": &l.Timeout,
		"task.success_threshold": &t.Threshold, "task.simple_threshold": &t.SimpleThreshold, "task.validation_threshold": &t.MinQuality,
		"task.duplicate": &t.Duplicate, "task.duplicate_words": &t.DuplicateWords, "task.top_k": &t.TopK, "task.rerank": &t.Rerank, "task.rewrite": &t.Rewrite,
		"task.keep_query": &t.KeepQuery, "task.hold_back": &t.HoldBack, "task.examples": &t.Examples, "task.forget_after": &t.Forget.MinUses, "task.forget_share": &t.Forget.MaxUtility,
		"personal.top_k": &p.TopK, "personal.max_known": &p.MaxKnown,
		"tool.history": &o.History, "tool.window": &o.Window, "tool.refresh_after": &o.RefreshAfter, "tool.keep": &o.Keep, "tool.no_refresh": &o.NoRefresh,
	}
}

// formerNames are the names of ReMe 0.2, and the keys for them.
var formerNames = map[string]string{
	"success_threshold":         "task.success_threshold",
	"success_score_threshold":   "task.simple_threshold",
	"validation_threshold":      "task.validation_threshold",
	"similarity_threshold":      "task.duplicate",
	"top_k":                     "task.top_k",
	"enable_llm_rerank":         "task.rerank",
	"enable_llm_rewrite":        "task.rewrite",
	"freq_threshold":            "task.forget_after",
	"utility_threshold":         "task.forget_share",
	"contra_repeat_max_count":   "personal.max_known",
	"output_memory_max_count":   "personal.top_k",
	"max_history_tool_call_cnt": "tool.history",
	"recent_call_count":         "tool.window",
	"recent_frequency":          "tool.window",
	"thread_pool_max_workers":   "limits.concurrency",
}

// formerPath matches a name of ReMe 0.2: bare, or as a parameter of an operator or a flow.
var formerPath = regexp.MustCompile(`^(?:(?:op|flow)\.[^.]+\.(?:params\.)?)?([a-z_]+)$`)

// key returns the key for a name, or ErrInvalid.
func (s settings) key(name string) (string, error) {
	if s[name] != nil {
		return name, nil
	}
	former := formerPath.FindStringSubmatch(name)
	if former != nil && formerNames[former[1]] != "" && !strings.Contains(name, "compar") { // its similarity belongs to tasks
		return formerNames[former[1]], nil
	}
	return "", fmt.Errorf("%.80q: %w: no such setting; models, stores and their secrets are values of Config; the settings are %s",
		name, backends.ErrInvalid, strings.Join(slices.Sorted(maps.Keys(s)), ", "))
}

// read applies the settings of a document.
func (s settings) read(document []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	if root.Content == nil || root.Content[0].ShortTag() == "!!null" {
		return nil
	}
	if n := root.Content[0]; n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %w: settings are names and values", n.Line, backends.ErrInvalid)
	}
	return s.section("", root.Content[0], map[string]string{})
}

// section applies a setting, or the settings of a mapping. set has the names by which keys were
// set before.
func (s settings) section(name string, n *yaml.Node, set map[string]string) error {
	if n.Kind != yaml.MappingNode {
		return s.set(name, n, set)
	}
	for pair := range slices.Chunk(n.Content, 2) { // a name and a value
		if err := s.section(strings.TrimPrefix(name+"."+pair[0].Value, "."), pair[1], set); err != nil {
			return err
		}
	}
	return nil
}

// zeroes are the keys that take 0 as a value instead of the default.
var zeroes = []string{"task.forget_after", "task.forget_share"}

// set decodes a value into the field of a key; an empty value leaves it as it is. Errors leave out
// the value: it may be a secret.
func (s settings) set(name string, n *yaml.Node, set map[string]string) error {
	key, err := s.key(name)
	switch {
	case n.ShortTag() == "!!null":
		return nil
	case err != nil:
		return err
	case set[key] != "":
		return fmt.Errorf("%s: %w: it sets %s, which %s sets already", name, backends.ErrInvalid, key, set[key])
	}
	set[key] = name
	field := s[key]
	_, isInt := field.(*int)
	_, isBool := field.(*bool)
	switch {
	case n.Kind != yaml.ScalarNode || isInt && n.ShortTag() != "!!int" || n.Decode(field) != nil: // the decoder makes 1 of 1.5
		return fmt.Errorf("%s: %w: its value is no %s", name, backends.ErrInvalid, strings.TrimLeft(fmt.Sprintf("%T", field), "*"))
	case !isBool && reflect.ValueOf(field).Elem().IsZero() && !slices.Contains(zeroes, key):
		return fmt.Errorf("%s: %w: 0 stands for the default; leave it out for that", name, backends.ErrInvalid)
	}
	return nil
}
