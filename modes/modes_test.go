// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package modes_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/modes"
)

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		mode   modes.Mode
		always bool
		want   modes.Plan
	}{
		{"", false, modes.Plan{Search: true, Record: true, Instruct: true, Tools: true}},
		{modes.Both, false, modes.Plan{Search: true, Record: true, Instruct: true, Tools: true}},
		{modes.Both, true, modes.Plan{Search: true, Record: true, Instruct: true, Tools: true}},
		{modes.StaticControl, false, modes.Plan{Search: true, Record: true}},
		{modes.StaticControl, true, modes.Plan{Search: true, Record: true}},
		{modes.AgentControl, false, modes.Plan{Instruct: true, Tools: true}},
		{modes.AgentControl, true, modes.Plan{Record: true, Instruct: true, Tools: true}},
	} {
		got, err := c.mode.Plan(c.always)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q, always %t", c.mode, c.always)
	}
}

func TestAnUnknownModeIsInvalid(t *testing.T) {
	for _, s := range []string{"garbage", "BOTH", " both", "static"} {
		_, err := modes.Parse(s)
		require.ErrorIs(t, err, backends.ErrInvalid, s)
		require.ErrorContains(t, err, "static_control")
		plan, err := modes.Mode(s).Plan(true)
		require.ErrorIs(t, err, backends.ErrInvalid, s)
		require.Zero(t, plan)
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]modes.Mode{"": modes.Both, "both": modes.Both, "static_control": modes.StaticControl, "agent_control": modes.AgentControl} {
		got, err := modes.Parse(s)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func ExampleMode_Plan() {
	plan, err := modes.AgentControl.Plan(false)
	fmt.Printf("%+v %v\n", plan, err)
	// Output: {Search:false Record:false Instruct:true Tools:true} <nil>
}
