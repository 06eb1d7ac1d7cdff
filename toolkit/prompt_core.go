// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

// corePhrases are all texts of the core memory tools in one language.
type corePhrases struct {
	Append, Replace toolText

	Blocks, Block, Colon                    string // the list of blocks in the descriptions
	Appended, Replaced, Replayed, Holds     string // results
	Empty                                   string // in the place of a text
	NoBlock, NoText, NoOldText, NoNewText   string // arguments that are missing
	TooLong, NoMatch, ManyMatches, MoreThan string // edits that cannot be
	ReadOnly, Unknown, Unreadable           string
	Advice                                  advice
}

// held shows what a block holds, on lines of its own.
func (p *corePhrases) held(text string) string {
	if text == "" {
		return "\n" + p.Empty
	}
	return "\n<text>\n" + clip(text, maxResultRunes) + "\n</text>"
}

var englishCore = corePhrases{
	Append: toolText{
		Desc: "Add a text to a block of core memory, which is always shown to you, in this and in later conversations. Use it for what you need to have in mind all the time; keep it short.",
		Params: map[string]string{
			"block": "The name of the block.",
			"text":  "What to add, on a line of its own.",
		},
		Failed: "Error editing core memory",
	},
	Replace: toolText{
		Desc: "Replace an exact piece of text in a block of core memory: to correct it, to shorten it, or to delete it. old_text has to occur exactly once in the block.",
		Params: map[string]string{
			"block":    "The name of the block.",
			"old_text": "The text to replace, copied exactly from the block, with as much around it as makes it the only one.",
			"new_text": "The text in its place. An empty string deletes old_text.",
		},
		Failed: "Error editing core memory",
	},
	Blocks:      "The blocks:",
	Block:       "- %s (at most %d characters)",
	Colon:       ": ",
	Appended:    "Added to core memory block %q.",
	Replaced:    "Replaced in core memory block %q.",
	Replayed:    "This very call was carried out before: nothing was changed now in core memory block %q.",
	Holds:       " It holds %d of %d characters now, %d are left:",
	Empty:       "(nothing)",
	NoBlock:     "`block` is empty — nothing was changed. Name one of: %s.",
	NoText:      "`text` is empty — nothing was changed.",
	NoOldText:   "`old_text` is empty — nothing was changed. To add to a block, use core_memory_append.",
	NoNewText:   "`new_text` is missing — nothing was changed. To delete old_text, pass an empty string as new_text.",
	TooLong:     "Nothing was changed: core memory block %q would have %d characters, and its limit is %d. It has %d now. Make the edit at least %d characters shorter, or first replace what the block holds with something shorter, by core_memory_replace.",
	NoMatch:     "Nothing was changed: `old_text` occurs 0 times in core memory block %q. Copy it exactly from what the block holds now:",
	ManyMatches: "Nothing was changed: `old_text` occurs %s times in core memory block %q. Pass more of the text around it, so that it occurs once.",
	MoreThan:    "more than %d",
	ReadOnly:    "Nothing was changed: core memory block %q is read-only. You can edit: %s.",
	Unknown:     "Nothing was changed: there is no core memory block %q. You can edit: %s.",
	Unreadable:  "The arguments of %s could not be read: %s\nCall it again with one JSON object that follows the schema.",
	Advice: advice{
		NoScope:     "Nobody is known here whom this block belongs to. Continue without it.",
		NotFound:    "The call cannot succeed like this. Change the arguments or continue without it.",
		Conflict:    "The block is edited by others all the time. Try once more.",
		Invalid:     "The call cannot succeed like this. Change the arguments or continue without it.",
		Unavailable: "Core memory is not available now. Continue without it, and do not claim to have noted anything.",
	},
}

var chineseCore = corePhrases{
	Append: toolText{
		Desc: "向核心记忆的一个块追加文字。核心记忆在本次和以后的对话中始终展示给你。只记录你需要随时记住的内容，并保持简短。",
		Params: map[string]string{
			"block": "块的名称。",
			"text":  "要追加的内容，单独成行。",
		},
		Failed: "编辑核心记忆时出错",
	},
	Replace: toolText{
		Desc: "替换核心记忆某个块中一段完全一致的文字：用于更正、缩短或删除。old_text 必须在块中恰好出现一次。",
		Params: map[string]string{
			"block":    "块的名称。",
			"old_text": "要被替换的文字，从块中原样复制，并带上足够的上下文，使其只出现一次。",
			"new_text": "替换后的文字。空字符串表示删除 old_text。",
		},
		Failed: "编辑核心记忆时出错",
	},
	Blocks:      "可编辑的块：",
	Block:       "- %s（最多 %d 个字符）",
	Colon:       "：",
	Appended:    "已追加到核心记忆块 %q。",
	Replaced:    "已在核心记忆块 %q 中替换。",
	Replayed:    "这次调用此前已经执行过：核心记忆块 %q 没有再被修改。",
	Holds:       "现在共 %d/%d 个字符，剩余 %d 个：",
	Empty:       "（空）",
	NoBlock:     "`block` 为空，没有做任何修改。请指定其中之一：%s。",
	NoText:      "`text` 为空，没有做任何修改。",
	NoOldText:   "`old_text` 为空，没有做任何修改。要追加内容，请使用 core_memory_append。",
	NoNewText:   "缺少 `new_text`，没有做任何修改。要删除 old_text，请将 new_text 设为空字符串。",
	TooLong:     "没有做任何修改：核心记忆块 %q 将有 %d 个字符，上限是 %d。它现在有 %d 个字符。请将本次编辑至少缩短 %d 个字符，或先用 core_memory_replace 把块中的内容改短。",
	NoMatch:     "没有做任何修改：`old_text` 在核心记忆块 %q 中出现 0 次。请从块的当前内容中原样复制：",
	ManyMatches: "没有做任何修改：`old_text` 出现 %s 次，所在的核心记忆块是 %q。请带上更多上下文，使其只出现一次。",
	MoreThan:    "超过 %d",
	ReadOnly:    "没有做任何修改：核心记忆块 %q 是只读的。可以编辑：%s。",
	Unknown:     "没有做任何修改：没有名为 %q 的核心记忆块。可以编辑：%s。",
	Unreadable:  "无法读取 %s 的参数：%s\n请按照参数说明，用一个 JSON 对象重新调用。",
	Advice: advice{
		NoScope:     "当前不知道这个块属于谁。请在没有它的情况下继续。",
		NotFound:    "这样调用不会成功。请修改参数，或在没有它的情况下继续。",
		Conflict:    "该块正被频繁修改。请再试一次。",
		Invalid:     "这样调用不会成功。请修改参数，或在没有它的情况下继续。",
		Unavailable: "核心记忆暂时不可用。请在没有它的情况下继续，不要声称已经记下了什么。",
	},
}
