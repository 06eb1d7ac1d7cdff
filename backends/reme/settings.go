// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
)

// LoadSettings sets what files, in order, and then overrides set; the last one wins, key by
// key. A file is YAML or JSON, an override key=value:
//
//	err := cfg.LoadSettings([]string{"memory.yaml"}, "task.top_k=10", "language=zh")
//
// with memory.yaml:
//
//	language: zh
//	task: {success_threshold: 0.8}
//	limits: {calls: 32, timeout: 90s}
//	prompts:
//	  task:
//	    judge: Judge whether each experience is worth keeping.
//
// The keys are the names of the fields of Config, Limits, and the configurations and prompts
// of task, personal and tool memory, in snake_case (task.duplicate_words, tool.keep,
// prompts.tool.guideline), with these exceptions:
//
//	task.success_threshold, task.simple_threshold, task.validation_threshold
//	    Threshold, SimpleThreshold and MinQuality of task.Config
//	task.compare_similar
//	    true sets task.similar to 0.3 if it is 0, false to 0, whichever comes last
//	task.forget_after, task.forget_share, task.forget_strict
//	    the fields of task.Config.Forget
//	prompts.personal.summarize
//	    PersonalConfig.Prompt
//
// Names of ReMe 0.2 are read, too: success_threshold, success_score_threshold,
// validation_threshold, similarity_threshold, enable_similarity_comparison, top_k,
// enable_llm_rerank, enable_llm_rewrite, freq_threshold, utility_threshold,
// contra_repeat_max_count, output_memory_max_count, max_history_tool_call_cnt,
// recent_call_count, recent_frequency and thread_pool_max_workers, bare or behind op.NAME.,
// op.NAME.params., flow.NAME. and flow.NAME.params.
//
// What code makes, such as models and stores, has no key, and no key takes a secret.
// Errors: ErrInvalid for what cannot be read, an unknown key, a value of another type and a
// key that one file sets twice; those of reading files. After an error c is as it was. [New]
// checks the ranges of values.
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
		if err := s.override(o); err != nil {
			return fmt.Errorf("reme: settings: override %w", err)
		}
	}
	switch similar := *s[similarKey].(**bool); {
	case similar != nil && *similar:
		n.Task.Similar = cmp.Or(n.Task.Similar, 0.3) // which is ReMe's
	case similar != nil:
		n.Task.Similar = 0
	}
	*c = n
	return nil
}

// settings are the fields of a configuration, by their keys.
type settings map[string]any

// similarKey is ReMe's switch for what task.similar does.
const similarKey = "task.compare_similar"

func newSettings(c *Config) settings {
	c.Personal.TypeWeights = maps.Clone(c.Personal.TypeWeights)
	if c.Personal.TypeWeights == nil {
		c.Personal.TypeWeights = defaultTypeWeights()
	}
	forget, taskPrompts, toolPrompts := task.DefaultRule(), task.Prompts{}, tool.Prompts{}
	c.Task.Forget, c.Task.Prompts, c.Tools.Prompts = clone(c.Task.Forget, &forget), clone(c.Task.Prompts, &taskPrompts), clone(c.Tools.Prompts, &toolPrompts)
	s := settings{
		"task.success_threshold":     &c.Task.Threshold,
		"task.simple_threshold":      &c.Task.SimpleThreshold,
		"task.validation_threshold":  &c.Task.MinQuality,
		similarKey:                   new(*bool),
		"task.forget_after":          &c.Task.Forget.MinUses,
		"task.forget_share":          &c.Task.Forget.MaxUtility,
		"task.forget_strict":         &c.Task.Forget.Strict,
		"prompts.personal.summarize": &c.Personal.Prompt,
	}
	s.add("", c, "Language", "NoPersonal")
	s.add("limits.", &c.Limits, "Calls", "Tokens", "Prompt", "Concurrency", "Timeout")
	s.add("task.", &c.Task, "Duplicate", "DuplicateWords", "Similar", "TopK", "Rerank", "Rewrite", "Attempts", "KeepQuery", "Author")
	s.add("personal.", &c.Personal, "MinScore", "TopK", "MaxKnown", "TimeWeight", "TypeWeights", "InWorkspace")
	s.add("tool.", &c.Tools, "History", "Window", "RefreshAfter", "Judge", "Keep", "MaxArguments", "MaxResult", "MaxDescription", "NoRefresh")
	s.add("prompts.task.", c.Task.Prompts, "Success", "Failure", "Comparative", "Similar", "Simple", "Judge", "Duplicates", "Query", "Rerank", "Rewrite",
		"Memory", "WhenToUse", "Content", "Header", "Closing", "Learnt")
	s.add("prompts.tool.", c.Tools.Prompts, "Judge", "Guideline", "Note")
	return s
}

var wordInName = regexp.MustCompile(`([a-z])([A-Z])`)

// add makes keys of the names of fields, in snake_case behind section.
func (s settings) add(section string, config any, names ...string) {
	fields := reflect.ValueOf(config).Elem()
	for _, name := range names {
		key := section + strings.ToLower(wordInName.ReplaceAllString(name, "${1}_$2"))
		s[key] = fields.FieldByName(name).Addr().Interface()
	}
}

// clone returns a copy of what p points to, or otherwise if it points to nothing.
func clone[T any](p, otherwise *T) *T {
	if p == nil {
		return otherwise
	}
	c := *p
	return &c
}

// formerNames are the names of ReMe 0.2, and the keys for them. Of an operator that compares
// trajectories similarity_threshold is task.similar.
var formerNames = map[string]string{
	"success_threshold":            "task.success_threshold",
	"success_score_threshold":      "task.simple_threshold",
	"validation_threshold":         "task.validation_threshold",
	"similarity_threshold":         "task.duplicate",
	"enable_similarity_comparison": similarKey,
	"top_k":                        "task.top_k",
	"enable_llm_rerank":            "task.rerank",
	"enable_llm_rewrite":           "task.rewrite",
	"freq_threshold":               "task.forget_after",
	"utility_threshold":            "task.forget_share",
	"contra_repeat_max_count":      "personal.max_known",
	"output_memory_max_count":      "personal.top_k",
	"max_history_tool_call_cnt":    "tool.history",
	"recent_call_count":            "tool.window",
	"recent_frequency":             "tool.window",
	"thread_pool_max_workers":      "limits.concurrency",
}

var (
	// formerPath matches a name of ReMe 0.2: bare, or as a parameter of an operator or a flow.
	formerPath = regexp.MustCompile(`^(?:(?:op|flow)\.([^.]+)\.(?:params\.)?)?([a-z_]+)$`)
	// formerSection matches what is above such names in a file.
	formerSection = regexp.MustCompile(`^(?:op|flow)(?:\.[^.]+(?:\.params)?)?$`)
	// byCode matches the sections of ReMe 0.2 for which there are no settings, and secrets.
	byCode = regexp.MustCompile(`^(backend|http|mcp|llm|embedding_model|vector_store|enabled_flows|disabled_flows)(\.|$)|(?i)api_?key|secret|token$|password`)
)

// key returns the key for a name, or ErrInvalid.
func (s settings) key(name string) (string, error) {
	if s[name] != nil {
		return name, nil
	}
	if m := formerPath.FindStringSubmatch(name); m != nil && formerNames[m[2]] != "" {
		if m[2] == "similarity_threshold" && strings.Contains(m[1], "compar") {
			return "task.similar", nil
		}
		return formerNames[m[2]], nil
	}
	if byCode.MatchString(name) {
		return "", fmt.Errorf("%.80q: %w: not a setting: models, embedders and stores, and their secrets, are values of Config; servers are the program's", name, backends.ErrInvalid)
	}
	section := name[:strings.LastIndexByte(name, '.')+1]
	var known []string
	for key := range s {
		if rest, ok := strings.CutPrefix(key, section); ok || !s.hasSection(strings.TrimSuffix(section, ".")) {
			first, _, _ := strings.Cut(rest, ".")
			known = append(known, first)
		}
	}
	slices.Sort(known)
	return "", fmt.Errorf("%.80q: %w: no such setting; beside it there are %s", name, backends.ErrInvalid, strings.Join(slices.Compact(known), ", "))
}

// hasSection reports whether a name is that of keys below it.
func (s settings) hasSection(name string) bool {
	for key := range s {
		if name == "" || strings.HasPrefix(key, name+".") {
			return true
		}
	}
	return formerSection.MatchString(name)
}

// read sets what a document sets.
func (s settings) read(document []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	if len(root.Content) == 0 {
		return nil
	}
	return s.section("", root.Content[0], map[string]string{})
}

// section sets what a mapping sets. set has the names by which keys were set before.
func (s settings) section(prefix string, n *yaml.Node, set map[string]string) error {
	switch {
	case n.Tag == "!!null":
		return nil
	case n.Kind != yaml.MappingNode:
		return fmt.Errorf("line %d: %w: %q is a section of settings: write names and values in it", n.Line, backends.ErrInvalid, strings.TrimSuffix(prefix, "."))
	}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := prefix+n.Content[i].Value, n.Content[i+1]
		key, err := s.key(name)
		switch {
		case err != nil && s.hasSection(name):
			err = s.section(name+".", value, set)
		case err == nil && set[key] != "":
			err = fmt.Errorf("%s: %w: it sets %s, which %s sets already", name, backends.ErrInvalid, key, set[key])
		case err == nil:
			set[key] = name
			err = s.set(key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// override sets key=value. A value for a text is taken as it is, unless it is in double
// quotes.
func (s settings) override(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("%.40q: %w: write key=value", name, backends.ErrInvalid)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if key, err := s.key(name); err != nil || !isText(s[key]) || strings.HasPrefix(value, `"`) {
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(value), &root); err != nil || len(root.Content) == 0 {
			return fmt.Errorf("%.80q: %w: its value is neither JSON nor YAML", name, backends.ErrInvalid)
		}
		n = root.Content[0]
	}
	if kind, ok := strings.CutPrefix(name, "personal.type_weights."); ok {
		name, n = "personal.type_weights", mapping(kind, n)
	}
	return s.section("", mapping(name, n), map[string]string{})
}

// mapping returns a mapping of one name.
func mapping(name string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, value}}
}

func isText(field any) bool {
	switch field.(type) {
	case *string, *backends.Language:
		return true
	}
	return false
}

// zeroes are the keys for which 0 is a value, and does not stand for the default.
var zeroes = []string{"task.similar", "task.forget_after", "task.forget_share"}

// set decodes a value into the field of a key. Errors do not repeat the value.
func (s settings) set(key string, n *yaml.Node) error {
	wrong := func(want string) error {
		return fmt.Errorf("%s: line %d: %w: write %s", key, n.Line, backends.ErrInvalid, want)
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Tag == "!!null" {
		return nil
	}
	want, isNumber := "", true
	switch field := s[key].(type) {
	case *string:
		if n.Kind != yaml.ScalarNode || strings.TrimSpace(n.Value) == "" || !utf8.ValidString(n.Value) {
			return wrong("a text in UTF-8 that says something")
		}
		*field = n.Value
		return nil
	case *backends.Language:
		if *field = backends.Language(n.Value); field.Validate() != nil {
			return wrong("en, zh or auto")
		}
		return nil
	case *int:
		var x float64 // the decoder makes 1 of 1.5 for an int
		if want = "a whole number"; n.Decode(&x) != nil || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
			return wrong(want)
		}
	case *float64:
		want = "a number"
	case *time.Duration:
		want = `a duration such as "90s" or "36h"`
	case *bool, **bool:
		want, isNumber = "true or false", false
	case *map[string]float64:
		want, isNumber = "names and numbers", false
	}
	err := n.Decode(s[key])
	x, _ := s[key].(*float64)
	switch {
	case err != nil || x != nil && math.IsNaN(*x):
		return wrong(want)
	case isNumber && reflect.ValueOf(s[key]).Elem().IsZero() && !slices.Contains(zeroes, key):
		return wrong("a value other than 0, which stands for the default; leave the key out for that")
	}
	return nil
}
