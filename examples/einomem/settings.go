// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/toolkit/server/access"
)

// settings are the file's. einomem.yaml explains the fields, with their names in small letters.
type settings struct {
	Listen, Store string
	AlwaysOK      bool     `yaml:"reme_always_ok"`
	AllowForget   bool     `yaml:"mcp_allow_forget"`
	Tools         []string `yaml:"mcp_tools"`
	Folder        string
	TLS           struct{ Cert, Key string }
	Log           struct{ Level slog.Level }
	Limits        struct {
		PerSecond float64 `yaml:"per_second"`
		Body      int64
		Timeout   time.Duration

		Connections int
	}
	Core []core.Block
	Keys []access.Key
}

// load reads the file, if there is one. listen and at come from flags or the environment, and
// override it.
func load(file, listen, at string) (*settings, error) {
	c := &settings{Core: []core.Block{{Name: "pinned", Description: "what is always to be kept in mind"}}}
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d := yaml.NewDecoder(bytes.NewReader(b))
		d.KnownFields(true)
		if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	c.Listen = cmp.Or(listen, c.Listen, "127.0.0.1:8080")
	c.Store = cmp.Or(at, c.Store, "memory.db")
	c.Limits.Connections = cmp.Or(c.Limits.Connections, 1024)
	return c, nil
}

// mayServe says why these settings cannot be served, if so.
func (c *settings) mayServe() error {
	host, _, err := net.SplitHostPort(c.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("listen: %w", err)
	case len(c.Keys) == 0 && host != "localhost" && !net.ParseIP(host).IsLoopback():
		return fmt.Errorf("listen: %s is reached from other machines: configure keys (einomem key USER prints one), or listen on 127.0.0.1", c.Listen)
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return errors.New("tls: cert and key belong together")
	}
	return nil
}
