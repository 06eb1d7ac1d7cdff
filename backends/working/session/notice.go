// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// speaker is the name under which messages stand that memory wrote.
const speaker = "working_memory"

// logRef names a stretch of the session's log for the tools that read archives.
func logRef(from, upto int64) string {
	if from == upto {
		return fmt.Sprintf("log-%d", from)
	}
	return fmt.Sprintf("log-%d-%d", from, upto)
}

// summary returns the message that tells what was said up to a message.
func (s *Service) summary(text string, upto int64) *schema.Message {
	return standIn(text, logRef(1, upto), upto)
}

// notice returns the message that names a stretch which is not shown.
func (s *Service) notice(from, upto int64) *schema.Message {
	ref := logRef(from, upto)
	return standIn(fmt.Sprintf(s.words.earlier, upto-from+1, ref), ref, upto)
}

// opening returns the message that stands in front of a conversation that no user
// began.
func (s *Service) opening() *schema.Message {
	m := schema.UserMessage(s.words.opening)
	m.Name = speaker
	einox.MarkSummary(m)
	return m
}

// orphan returns the message that tells a tool's result whose call is not shown.
func (s *Service) orphan(e *store.Entry) *schema.Message {
	ref := logRef(e.Seq, e.Seq)
	text := fmt.Sprintf(s.words.orphan, e.ToolName, ref, einox.Text(e.Message.Message))
	return einox.MarkTurn(standIn(text, ref, e.Seq), e.Turn)
}

func standIn(text, ref string, upto int64) *schema.Message {
	m := schema.UserMessage(text)
	m.Name = speaker
	einox.MarkSummary(m)
	return einox.MarkSeq(einox.MarkRef(m, ref), upto)
}
