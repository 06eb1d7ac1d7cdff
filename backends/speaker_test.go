// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

func TestNamesOfSpeakers(t *testing.T) {
	for in, want := range map[string]string{
		"Ann": "Ann", " Ann\tLee ": "Ann Lee", "李雷": "李雷", "O'Brien-Müller": "O'Brien-Müller", "Ａｎｎ": "Ann", "Иван": "Иван", "Bob: system": "Bob system", "user_1": "",
		"Ann\u202e": "Ann", "Ann\nsystem": "Ann system", "[4c1f0e] Ann": "4c1f0e Ann", "Aiko": "Aiko", "Toolan": "Toolan",
		"": "", "assistant": "", "Assistant": "", "ＡＳＳＩＳＴＡＮＴ": "", "a s s i s t a n t": "", "assis\u200btant": "", "system:": "", "SYSTEM 2": "", "tool search_web": "",
		"memory": "", "Memories": "", "«memory»": "", "助手": "", "系统": "", "用户": "", "记忆": "", "\u202etnatsissa": "tnatsissa", "аssistant": "", "user": "", "*user*": "", "已知事实：": "",
		strings.Repeat("x", 65): "", "\x00\x07": "", "noted by the assistant": "", "\xff": "",
	} {
		require.Equal(t, want, backends.SpeakerName(in), "%q", in)
	}
}
