// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// A store that is away is waited for once in a run, not with every event.
func TestAStoreThatIsAwayHoldsARunUpOnce(t *testing.T) {
	l := newLog()
	l.appendErr = fmt.Errorf("%w: away", backends.ErrUnavailable)
	d := newDesk(t, setting{hooks: func(c *hooks.Config) { c.Log = l }})
	script, said := readPages(0, 10, 5, testkit.Text("done"))
	drain(t, d.WrapRunner(newRunner(newAgent(t, "a", testkit.New(script...), nil, readTool(t, 5)), false, nil)).Query(context.Background(), "read"))
	stages, err := d.failures.seen()
	require.Equal(t, []string{hooks.StageRecord, hooks.StageRecord}, stages, "one while the run goes on, one at its end: %v", err)
	for _, turn := range l.conversation(t) {
		require.Equal(t, append(append([]string{"user: read"}, said...), "assistant: done"), turn)
	}
	turns := l.recorded()
	require.Greater(t, len(turns), 10, "what is said goes to the queue as it is said")
}

// The end of a resumed run waits for the turn that was interrupted, and not without
// end.
func TestAnOpenTurnIsTakenInTime(t *testing.T) {
	sessions, points := &bounded{Sessions: memorySessions(t)}, &testkit.Checkpoints{}
	d := newDesk(t, setting{sessions: sessions})
	r := d.WrapRunner(newRunner(newAgent(t, "a", approvalModel(), nil, askTool(t)), false, points))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	it, err := r.Resume(context.Background(), "cp")
	require.NoError(t, err)
	drain(t, it)
	require.Equal(t, []bool{true}, sessions.seen())
	_, done := d.turns()
	require.Equal(t, 1, done)
	d.fine()
}
