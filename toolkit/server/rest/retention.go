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

type (
	// retentionResponse is what a retention would erase now.
	retentionResponse struct {
		backends.RetainReport
		Items []retainItem `json:"items"`
	}
	retainItem struct {
		backends.RetainItem
		Text string `json:"text,omitempty"` // of the first 200
	}
	retainer interface {
		Retain(ctx context.Context, q *backends.RetainRequest) (*backends.RetainReport, error)
	}
)

// retention runs the rules of the backend dry. One part of a joined backend has them.
func (c *call) retention(in *scopeQuery) (*retentionResponse, error) {
	if err := c.openAll(in.Scope.Namespace, access.Read); err != nil {
		return nil, err
	}
	for _, part := range backends.Parts(c.Backend()) {
		if r, ok := part.(retainer); ok {
			report, err := r.Retain(c, &backends.RetainRequest{Namespace: c.Scope.Namespace, DryRun: true})
			if err == nil {
				return c.withTexts(report), nil
			}
			if !errors.Is(err, backends.ErrInvalid) {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("%w: this server has no rules of retention", backends.ErrNotFound)
}

func (c *call) withTexts(report *backends.RetainReport) *retentionResponse {
	out := &retentionResponse{RetainReport: *report, Items: make([]retainItem, len(report.Items))}
	for i, item := range report.Items {
		out.Items[i].RetainItem = item
		if c.Manager != nil && i < maxTexts {
			if m, err := c.Manager.Get(c, &backends.GetRequest{Scope: item.Partition.Scope(), ID: item.ID}); err == nil { // else it is gone already
				out.Items[i].Text = m.Text
			}
		}
	}
	return out
}
