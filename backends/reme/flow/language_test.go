// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

func TestTheLanguageFollowsTheMaterial(t *testing.T) {
	auto := flow.LanguageAuto
	assert.Equal(t, flow.English, auto.For())
	assert.Equal(t, flow.English, auto.For("Ann bought tea in 北京 yesterday"))
	assert.Equal(t, flow.Chinese, auto.For("安娜昨天", "在北京用 API 买茶"))
	assert.Equal(t, flow.English, flow.English.For("安娜昨天"))
	require.ErrorIs(t, flow.Language("fr").Validate(), backends.ErrInvalid)
	require.NoError(t, auto.Validate())
}
