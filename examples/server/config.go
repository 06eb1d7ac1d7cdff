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
	"net/netip"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/einomem/einomem/toolkit/access"
)

// config is the file. See server.yaml for what the fields mean.
type config struct {
	Listen   string `yaml:"listen"`
	Store    string `yaml:"store"`
	AlwaysOK bool   `yaml:"reme_always_ok"`
	Folder   string `yaml:"folder"`
	NoPage   bool   `yaml:"no_page"`
	NoMCP    bool   `yaml:"no_mcp"`
	TLS      struct {
		Cert string `yaml:"cert"`
		Key  string `yaml:"key"`
	} `yaml:"tls"`
	Log struct {
		Level  string `yaml:"level"`
		Format string `yaml:"format"`
	} `yaml:"log"`
	Limits struct {
		PerSecond float64       `yaml:"per_second"`
		Burst     int           `yaml:"burst"`
		Body      int64         `yaml:"body"`
		Timeout   time.Duration `yaml:"timeout"`
	} `yaml:"limits"`
	Core []struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	} `yaml:"core"`
	Keys []access.Key `yaml:"keys"`
}

// load reads the file, if there is one, and puts what flags and the environment say over it.
func load(file, listen, at string) (*config, error) {
	c := &config{}
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
	c.Limits.Timeout = cmp.Or(c.Limits.Timeout, 30*time.Second)
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if addr, err := netip.ParseAddr(host); len(c.Keys) == 0 && host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return nil, fmt.Errorf("listen: %s is reached from other machines: configure keys (server -new-key NAME prints one), or listen on 127.0.0.1", c.Listen)
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return nil, errors.New("tls: cert and key belong together")
	}
	return c, nil
}

// logger returns the log of the configuration.
func (c *config) logger(w io.Writer) (*slog.Logger, error) {
	level := slog.LevelInfo
	if c.Log.Level != "" {
		if err := level.UnmarshalText([]byte(c.Log.Level)); err != nil {
			return nil, fmt.Errorf("log.level: %w", err)
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch c.Log.Format {
	case "", "text":
		return slog.New(requestIDs{slog.NewTextHandler(w, options)}), nil
	case "json":
		return slog.New(requestIDs{slog.NewJSONHandler(w, options)}), nil
	}
	return nil, fmt.Errorf("log.format: %q is neither text nor json", c.Log.Format)
}
