// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"context"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/testkit"
)

// fixed answers with a message.
func fixed(m *schema.Message) testkit.Reply {
	return func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) { return m, nil }
}
