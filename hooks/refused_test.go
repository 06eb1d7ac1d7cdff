// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestARefusedRequestIsRepeatedWithoutTheNote(t *testing.T) {
	for status, repeated := range map[int]bool{400: true, 422: true, 401: false, 500: false} {
		for _, streaming := range []bool{false, true} {
			refusal := fmt.Errorf("error, status code: %d, message: refused", status)
			m, chat := newMemory(t, nil), testkit.New(testkit.Fail(refusal), testkit.Text("done"))
			said := testkit.Drain(m.enter(doors["runner"], chat, nil, streaming).Query(t.Context(), "any news"))
			if !repeated {
				require.Len(t, chat.Calls(), 1)
				m.fine()
				continue
			}
			require.Equal(t, []string{"assistant: done"}, said)
			require.Equal(t, []int{1, 0}, []int{testkit.Notes(chat.Calls()[0]), testkit.Notes(chat.Calls()[1])})
			require.Equal(t, []string{"user: any news", "assistant: done"}, m.logged(ann))
			require.Equal(t, []string{hooks.StageReply}, m.failures.Stages())
		}
	}
}

// A request that memory added nothing to is not repeated, and one that is refused again has failed.
func TestARefusalThatStaysIsTheCallersOwn(t *testing.T) {
	refusal := errors.New("error, status code: 400, message: refused")
	for found, calls := range map[int]int{0: 1, 1: 2} {
		m, chat := newMemory(t, nil), testkit.New(testkit.Fail(refusal))
		m.backend.Found = m.backend.Found[:found]
		said := testkit.Drain(m.enter(doors["runner"], chat, nil, false).Query(t.Context(), "any news"))
		require.Len(t, said, 1)
		require.Contains(t, said[0], refusal.Error())
		require.Len(t, chat.Calls(), calls)
		m.fine()
	}
}
