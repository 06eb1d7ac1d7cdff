// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
)

// former are the names of ReMe 0.2 and the keys that they are here.
var former = map[string]string{
	"success_threshold":            "task.success_threshold",
	"success_score_threshold":      "task.simple_threshold",
	"validation_threshold":         "task.validation_threshold",
	"similarity_threshold":         "task.duplicate",
	"enable_similarity_comparison": "task.similar",
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

// formerPath is how ReMe 0.2 may write a name: bare, or as a parameter of an
// operator or a flow.
var formerPath = regexp.MustCompile(`^(?:(?:op|flow)\.([^.]+)\.(?:params\.)?)?([a-z_]+)$`)

// elsewhere are first parts of keys of ReMe 0.2, and where the same is set now.
var elsewhere = map[string]string{
	"backend":         "a server stands in front of the backend, and is set there",
	"http":            "a server stands in front of the backend, and is set there",
	"mcp":             "a server stands in front of the backend, and is set there",
	"llm":             "the model is a value that code gives to the backend",
	"embedding_model": "the embedder is a value that code gives to the backend",
	"vector_store":    "the store is a value that code gives to the backend",
	"enabled_flows":   "code calls the flows that it wants",
	"disabled_flows":  "code calls the flows that it wants",
}

var secret = regexp.MustCompile(`(?i)(api_?key|secret|access_?token|password|credential)`)

// resolve returns the key that a name stands for, or ErrInvalid with the nearest.
func resolve(name string) (string, error) {
	if key, ok := known(name); ok {
		return key, nil
	}
	if m := formerPath.FindStringSubmatch(name); m != nil {
		if m[2] == "similarity_threshold" && strings.Contains(m[1], "compar") {
			return "task.similar_above", nil
		}
		if key, ok := former[m[2]]; ok {
			return key, nil
		}
	}
	return "", unknown(name)
}

var sections = []string{"task", "personal", "personal.type_weights", "tool", "limits", "prompts"}

// isSection reports whether a name is that of keys below it.
func isSection(name string) bool {
	if rest, ok := strings.CutPrefix(name, promptsKey); ok {
		return slices.Contains(groups, rest)
	}
	below := func(k string) bool { return strings.HasPrefix(k, name+".") }
	return slices.ContainsFunc(keys, below) || below(promptsKey) || below(weightsKey)
}

// known reports whether a name is a key.
func known(name string) (string, bool) {
	if _, ok := fields[name]; ok {
		return name, true
	}
	if of, ok := strings.CutPrefix(name, weightsKey); ok && of != "" {
		return name, true
	}
	if rest, ok := strings.CutPrefix(name, promptsKey); ok {
		parts := strings.Split(rest, ".")
		if len(parts) == 3 && parts[2] == "file" {
			parts = parts[:2]
		}
		if len(parts) == 2 && slices.Contains(steps[parts[0]], parts[1]) {
			return promptsKey + strings.Join(parts, "."), true
		}
	}
	return "", false
}

// unknown says what is wrong with a name. It does not repeat what it was set to:
// that may be a secret.
func unknown(name string) error {
	first, _, _ := strings.Cut(name, ".")
	near := nearest(name, slices.Concat(keys, sections, promptKeys()))
	switch hint := elsewhere[first]; {
	case isSection(name):
		return fmt.Errorf("%q: %w: a section, not a value: say which of its keys", name, backends.ErrInvalid)
	case secret.MatchString(name):
		return fmt.Errorf("%q: %w: no such setting, and no setting takes a secret: code reads it from the environment; the nearest is %q", name, backends.ErrInvalid, near)
	case hint != "":
		return fmt.Errorf("%q: %w: no such setting: %s; the nearest is %q", name, backends.ErrInvalid, hint, near)
	}
	return fmt.Errorf("%q: %w: no such setting; the nearest is %q", name, backends.ErrInvalid, near)
}

func promptKeys() []string {
	var out []string
	for _, g := range groups {
		for _, step := range steps[g] {
			out = append(out, promptsKey+g+"."+step)
		}
	}
	return out
}
