// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

// words are what the service adds to conversations, in one language.
type words struct {
	earlier string // how many messages, where
	orphan  string // of which tool, where, the text
	missing string
	opening string
}

var wordsIn = map[Language]*words{
	LanguageEnglish: {
		earlier: "[%d earlier messages of this conversation are not shown. They are kept under %s.]",
		orphan:  "[Result of the tool %q, which was called before the messages shown here. It is kept under %s.]\n%s",
		missing: "[No result: the turn was interrupted before the tool answered, or it is still at work.]",
		opening: "[The assistant began this conversation.]",
	},
	LanguageChinese: {
		earlier: "[此对话较早的 %d 条消息未显示，保存在 %s 中。]",
		orphan:  "[工具 %q 的结果；它在此处所示消息之前被调用。原文保存在 %s 中。]\n%s",
		missing: "[无结果：本轮在工具返回之前中断，或工具仍在运行。]",
		opening: "[此对话由助手开始。]",
	},
}
