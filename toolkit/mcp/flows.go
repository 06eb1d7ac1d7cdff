// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/files"
	"github.com/einomem/einomem/toolkit/flows"
)

// fileTool adds the tool of package files.
func (s *Server) fileTool() error {
	info, err := files.Info()
	if err != nil {
		return err
	}
	input, err := info.ToJSONSchema()
	if err != nil {
		return err
	}
	input.AdditionalProperties = nil
	output := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	s.add(info.Name, changes, info.Desc, input, output, func(c *call) (says string, out any, err error) {
		in := &files.Command{}
		if err = json.Unmarshal(c.request.Params.Arguments, in); err == nil {
			err = c.owner()
		}
		if err != nil {
			return "", nil, err
		}
		run := func() (err error) {
			says, err = s.cfg.Files.Do(c, c.scope, in)
			return err
		}
		if in.Writes() {
			err = c.write(run)
		} else {
			err = run()
		}
		return says, map[string]string{"text": says}, err
	})
	return nil
}

// flowTools adds ReMe's flows, but for the two whose names are taken: those read files.
func (s *Server) flowTools() error {
	output, err := jsonschema.For[flows.Response](nil)
	for _, f := range s.cfg.Flows.List() {
		if f.Name == grepTool || f.Name == readTool {
			continue
		}
		input, fault := jsonschema.ForType(f.Request, &jsonschema.ForOptions{IgnoreInvalidTypes: true})
		if err = errors.Join(err, fault); err != nil {
			return fmt.Errorf("describing %s: %w", f.Name, err)
		}
		does := reads
		if f.Write {
			does = changes
		}
		s.add(f.Name, does, f.Description, loose(input), output, func(c *call) (string, any, error) {
			opened := c.scope
			open := func(want backends.Scope, write bool) (backends.Scope, error) {
				want, err := want.Normalize()
				if want.UserID == "" && want.Workspace == "" {
					want = c.scope
				}
				opened = want
				return want, errors.Join(err, c.key.Allow(want, write))
			}
			r, err := s.cfg.Flows.Call(c, f.Name, open, c.scope.Namespace, c.request.Params.Arguments)
			if f.Write {
				s.cfg.Guard.Audit(c, c.key, "mcp "+f.Name, opened, err)
			}
			if err != nil {
				return "", nil, err
			}
			says, ok := r.Answer.(string)
			if !ok {
				b, _ := json.Marshal(r.Answer)
				says = string(b)
			}
			return says, r, nil
		})
	}
	return nil
}
