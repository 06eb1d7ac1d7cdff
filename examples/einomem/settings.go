// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
)

// settings are the file's, with the names of the fields in small letters. README.md explains them,
// and einomem.yaml has an example of each.
type settings struct {
	Listen, Store string
	vectors       struct{ key, url string } // of ReMe's variables for the embedder; what is empty is the model's
	DefaultUser   string                    `yaml:"default_user"`
	AlwaysOK      bool                      `yaml:"reme_always_ok"`
	AllowForget   bool                      `yaml:"mcp_allow_forget"`
	Tools         []string                  `yaml:"mcp_tools"`
	Folder        string
	TLS           struct{ Cert, Key string }
	Log           struct{ Level slog.Level }
	Limits        struct {
		PerSecond float64 `yaml:"per_second"`
		Body      int64
		Timeout   time.Duration

		Connections int
	}
	Core    []core.Block
	Keys    []access.Key
	KeyFile string `yaml:"key_file"`

	// Of the library, for all its parts at once.
	Location  string
	Language  backends.Language
	Redact    string
	Retention *backends.Retention
	Rewrite   bool
	Rerank    bool

	// Of the library, as its own fields are named. The program fills what only code can.
	Agent      middleware.Config
	Facts      mem0.Config
	Experience reme.Config
	Learning   working.Config
	Window     window.Config
	Reflection *struct {
		Turns, Calls, Tokens int
		Idle                 time.Duration
		Rules                []reflection.Rule
	}
}

// load reads the file, if there is one. listen, at and keyFile come from flags or the environment,
// and override it.
func load(file, listen, at, keyFile string) (*settings, error) {
	c := &settings{Core: []core.Block{{Name: "pinned", Description: "what is always to be kept in mind"}}}
	if file != "" {
		if err := c.read(file); err != nil {
			return nil, fmt.Errorf("the file of settings, %s: %w", file, err)
		}
	}
	c.Listen = cmp.Or(listen, c.Listen, "127.0.0.1:8080")
	c.Store = cmp.Or(at, c.Store, "memory.db")
	c.KeyFile = cmp.Or(keyFile, c.KeyFile)
	c.Limits.Connections = cmp.Or(c.Limits.Connections, 1024)
	return c, c.share()
}

// read takes in a file. The decoder panics where the file sets what only code can, such as a backend.
func (c *settings) read(file string) (err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("only code can set one of its fields: %v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	switch err = d.Decode(c); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return errors.New(unknown.ReplaceAllString(err.Error(), "there is no setting $1: einomem.yaml of examples/einomem has all"))
	}
	return nil
}

// unknown matches what package yaml says of a name that no field has.
var unknown = regexp.MustCompile(`field (\S+) not found in type \S+`)

// share gives the parts of the library what they have in common, unless they have their own.
func (c *settings) share() error {
	place, err := time.LoadLocation(c.Location) // "" is UTC
	if err != nil {
		return fmt.Errorf("location: %w; it is named as in Asia/Shanghai", err)
	}
	c.Agent.Location, c.Facts.Location, c.Learning.Budget.Location = place, place, place
	for _, language := range []*backends.Language{&c.Agent.Language, &c.Facts.Language, &c.Experience.Language} {
		*language = cmp.Or(*language, c.Language)
	}
	names := map[string]func(string) string{"": nil, "keys": nil, "personal": redact.Shared, "none": redact.None}
	change, known := names[c.Redact]
	if !known {
		return fmt.Errorf("redact: %q is unknown: keys (the default), personal (also addresses, numbers and ids of persons) or none", c.Redact)
	}
	c.Agent.Redact, c.Facts.Redact, c.Experience.Redact = change, change, change
	c.Facts.Retention, c.Experience.Retention = c.Retention, c.Retention
	return nil
}

// keys says whether these settings may be served, and by which keys. It makes a missing file of a
// key and prints its secret, unless this is only a check.
func (c *settings) keys(check bool, out io.Writer) error {
	if c.KeyFile != "" && !check {
		secret, err := keyIn(c.KeyFile, out)
		if err != nil {
			return fmt.Errorf("key_file: %w", err)
		}
		every := []string{access.Any}
		c.Keys = append(c.Keys, access.Key{Name: "key file", Hash: access.Hash(secret), Namespaces: every, Users: every, Agents: every, Workspaces: every, Write: true, Admin: true})
	}
	host, _, err := net.SplitHostPort(c.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("listen: %w", err)
	case len(c.Keys) == 0 && c.KeyFile == "" && host != "localhost" && !net.ParseIP(host).IsLoopback():
		return fmt.Errorf("listen: %s is reached from other machines: configure keys (einomem key USER prints one, -key-file FILE makes one), or listen on 127.0.0.1", c.Listen)
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return errors.New("tls: cert and key belong together")
	}
	return nil
}

// keyIn returns the secret in a file. Processes that miss the file at the same time agree on one.
func keyIn(file string, out io.Writer) (string, error) {
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		secret, whole := access.NewSecret(), file+"."+backends.NewID()
		if err = os.WriteFile(whole, []byte(secret+"\n"), 0o600); err == nil {
			err = os.Link(whole, file) // a file appears with its content, or is another's
			_ = os.Remove(whole)
		}
		if err == nil {
			_, err = fmt.Fprintf(out, "the key in %s, which opens everything: %s\n", file, secret)
		} else if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(file)
	return strings.TrimSpace(string(b)), err
}
