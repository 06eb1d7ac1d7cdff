// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// phrasebook is all that compaction says in one language.
type phrasebook struct {
	begins   string // in front of a conversation that the user does not begin
	noResult string // of a call that nothing answered
	noOutput string // of a tool that returned nothing
	noAnswer string // of an assistant that only thought
	orphan   string // %s: the tool
	role     string // %q: the role
}

var englishPhrases = &phrasebook{
	begins:   "(The conversation begins here.)",
	noResult: "(No result: the turn was interrupted before the tool answered.)",
	noOutput: "(The tool returned nothing.)",
	noAnswer: "(No answer.)",
	orphan:   "[The result of an earlier call of %s, which is no longer in this conversation:]",
	role:     "[A message of the role %q:]",
}

var chinesePhrases = &phrasebook{
	begins:   "（对话从这里开始。）",
	noResult: "（没有结果：工具返回之前，这一轮已被中断。）",
	noOutput: "（工具没有返回内容。）",
	noAnswer: "（没有回答。）",
	orphan:   "[较早一次 %s 调用的结果，该调用已不在对话中：]",
	role:     "[角色为 %q 的消息：]",
}

func phrases(lang Language) *phrasebook {
	if lang == LanguageChinese {
		return chinesePhrases
	}
	return englishPhrases
}

// sample is how many letters of a text tell its language.
const sample = 400

// languageOf returns the language to write in: the one that is configured, else
// that of the last user message.
func languageOf(configured Language, messages []*schema.Message) Language {
	if configured != LanguageAuto {
		return configured
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m != nil && asks(m) {
			return spoken(einox.Text(m))
		}
	}
	return LanguageEnglish
}

func spoken(text string) Language {
	han, letters := 0, 0
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		if unicode.Is(unicode.Han, r) {
			han++
		}
		if letters++; letters == sample {
			break
		}
	}
	if 2*han > letters {
		return LanguageChinese
	}
	return LanguageEnglish
}
