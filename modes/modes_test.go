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

func TestThePlanOfEachMode(t *testing.T) {
	var plain, always backends.Backend = nil, learner{always: true}
	for _, c := range []struct {
		mode    modes.Mode
		backend backends.Backend
		want    modes.Plan
	}{
		{"", plain, modes.Plan{Search: true, Record: true, Tools: true}},
		{modes.Both, learner{}, modes.Plan{Search: true, Record: true, Tools: true}},
		{modes.Both, always, modes.Plan{Search: true, Record: true, Tools: true}},
		{modes.StaticControl, plain, modes.Plan{Search: true, Record: true}},
		{modes.StaticControl, always, modes.Plan{Search: true, Record: true}},
		{modes.AgentControl, learner{}, modes.Plan{Tools: true}},
		{modes.AgentControl, always, modes.Plan{Record: true, Tools: true}},
	} {
		got, err := c.mode.Plan(c.backend)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q", c.mode)
	}
}

type learner struct {
	backends.Backend
	always bool
}

func (l learner) AlwaysLearns() bool { return l.always }

func TestParse(t *testing.T) {
	for s, want := range map[string]modes.Mode{"": modes.Both, "both": modes.Both, "static_control": modes.StaticControl, "agent_control": modes.AgentControl} {
		got, err := modes.Parse(s)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, s := range []string{"garbage", "BOTH", " both", "static"} {
		_, err := modes.Parse(s)
		require.ErrorIs(t, err, backends.ErrInvalid, s)
		require.ErrorContains(t, err, "static_control")
		plan, err := modes.Mode(s).Plan(nil)
		require.ErrorIs(t, err, backends.ErrInvalid, s)
		require.Zero(t, plan)
	}
}

func ExampleMode_Plan() {
	plan, err := modes.AgentControl.Plan(nil)
	fmt.Printf("%+v %v\n", plan, err)
	// Output: {Search:false Record:false Tools:true} <nil>
}
