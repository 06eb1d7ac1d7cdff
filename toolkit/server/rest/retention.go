// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// maxTexts is how many of the memories that would go are shown with their texts.
const maxTexts = 200

// retentionResponse is what a retention would erase now.
type retentionResponse struct {
	*backends.RetainReport
	Texts map[string]string `json:"texts"` // of the first 200 items, by id
}

// retention runs the rules of the backend dry. One part of a joined backend has them.
func (c *call) retention(in *scopeQuery) (*retentionResponse, error) {
	if err := c.openAll(in.Scope.Namespace, access.Read); err != nil {
		return nil, err
	}
	out := &retentionResponse{Texts: map[string]string{}}
	err := fmt.Errorf("%w: rules of retention", backends.ErrNotFound)
	for _, part := range backends.Parts(c.Backend()) {
		r, ok := part.(interface {
			Retain(ctx context.Context, q *backends.RetainRequest) (*backends.RetainReport, error)
		})
		if !ok {
			continue
		}
		report, failed := r.Retain(c, &backends.RetainRequest{Namespace: c.Scope.Namespace, DryRun: true})
		if !errors.Is(failed, backends.ErrInvalid) { // else the rules are another part's
			out.RetainReport, err = report, failed
			break
		}
	}
	if err != nil {
		return nil, err
	}
	for _, item := range out.Items[:min(len(out.Items), maxTexts)] {
		if m, err := c.Manager.Get(c, &backends.GetRequest{Scope: item.Partition.Scope(), ID: item.ID}); err == nil { // else it is gone already
			out.Texts[item.ID] = m.Text
		}
	}
	return out, nil
}
