// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
)

// reMeStart is ReMe's start line, "backend=http http.port=8002 …", as settings of this program.
type reMeStart struct {
	*settings
	host, port         string
	backend, transport string
	env                map[string]string // variables to set, by their names
}

// startLine takes in ReMe's arguments, and its FLOW_ variables where OpenAI's are unset. An argument
// without a meaning here is an error that names the way out.
func (c *settings) startLine(command string, args []string) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s := &reMeStart{settings: c, host: host, port: port, env: map[string]string{
		"OPENAI_API_KEY": os.Getenv("FLOW_LLM_API_KEY"), "OPENAI_BASE_URL": os.Getenv("FLOW_LLM_BASE_URL"),
	}}
	c.vectors.key, c.vectors.url = os.Getenv("FLOW_EMBEDDING_API_KEY"), os.Getenv("FLOW_EMBEDDING_BASE_URL")
	if v := c.vectors; v.key == "" && v.url != "" && v.url != cmp.Or(os.Getenv("OPENAI_BASE_URL"), os.Getenv("FLOW_LLM_BASE_URL")) {
		return usage("FLOW_EMBEDDING_BASE_URL is another endpoint, which must not get the model's key: set FLOW_EMBEDDING_API_KEY, too")
	}
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			return usage("%s: %q is no KEY=VALUE, as ReMe's start line has them", command, a)
		}
		if err := s.set(name, value); err != nil {
			return err
		}
	}
	switch stdio := s.transport == "stdio"; {
	case command == "mcp" && (s.backend == "http" || s.transport != "" && !stdio), command != "mcp" && stdio:
		return usage("einomem serve is backend=http, and backend=mcp with server-sent events at /sse; einomem mcp is backend=mcp mcp.transport=stdio")
	case s.backend == "mcp" && len(s.Tools) == 0:
		s.Tools = []string{"reme"}
	}
	for name, value := range s.env {
		given := name == "OPENAI_MODEL" || name == "OPENAI_EMBEDDING_MODEL" // by an argument
		if value != "" && (given || os.Getenv(name) == "") {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	c.Listen = net.JoinHostPort(s.host, s.port)
	return nil
}

// expected are the arguments that have one right value here, or a few.
var expected = map[string]struct{ values, instead string }{
	"backend":                         {"http mcp", "write http or mcp"},
	"mcp.transport":                   {"stdio sse http streamable-http", "write stdio, sse or http"},
	"llm.default.backend":             {"openai_compatible openai", "models are reached by OpenAI's API"},
	"embedding_model.default.backend": {"openai_compatible openai", "models are reached by OpenAI's API"},
	"config":                          {"default", "-config names a file with this program's settings"},
}

func (s *reMeStart) set(name, value string) (err error) {
	if e, ok := expected[name]; ok {
		if !strings.Contains(" "+e.values+" ", " "+value+" ") {
			return usage("%s=%s: %s", name, value, e.instead)
		}
	}
	switch name {
	case "llm.default.backend", "embedding_model.default.backend", "config":
	case "backend":
		s.backend = value
	case "mcp.transport":
		s.transport = value
	case "http.host", "mcp.host":
		s.host = value
	case "http.port", "mcp.port":
		s.port = value
	case "http.limit_concurrency":
		s.Limits.Connections, err = strconv.Atoi(value)
	case "http.timeout_keep_alive": // connections of silent clients end by themselves
	case "language":
		s.Language = backends.Language(value)
		err = s.share()
	case "llm.default.model_name":
		s.env["OPENAI_MODEL"] = value
	case "embedding_model.default.model_name":
		s.env["OPENAI_EMBEDDING_MODEL"] = value
	case "vector_store.default.backend":
		switch value {
		case "local":
		case "memory":
			s.Store = ":memory:"
		default:
			return usage("%s=%s: einomem keeps vectors with the memories: -store names a file of SQLite, redis://host:6379 or postgres://host/database", name, value)
		}
	case "vector_store.default.params.store_dir":
		s.Store, err = path.Join(value, "memory.db"), os.MkdirAll(value, 0o750)
	default:
		if err = s.Experience.LoadSettings(nil, name+"="+value); err != nil {
			return usage("%s: ReMe's setting has no counterpart here: %v", name, err)
		}
	}
	if err != nil {
		return usage("%s=%s: %v", name, value, err)
	}
	return nil
}
