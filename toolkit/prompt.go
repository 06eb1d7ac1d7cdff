// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"strings"

	"github.com/einomem/einomem/backends"
)

// toolText is what a model reads of a tool: its description, and below it lines of the
// form "key: text". They describe a parameter, begin the text of a failure ("error"), or
// say what to do about an error of that sort, where that is not the general advice.
type toolText string

// desc returns the description of the tool.
func (t toolText) desc() string {
	desc, _, _ := strings.Cut(string(t), "\n")
	return desc
}

// line returns the text of a line, or "".
func (t toolText) line(key string) string {
	_, rest, _ := strings.Cut(string(t), "\n"+key+": ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// phrases are all texts of one language.
type phrases struct {
	tools  map[string]toolText
	advice toolText // what to do about errors

	unreadable, missing                  string // arguments
	private, declined, tooLong           string // what is not to be remembered, not allowed, or no memory
	noneFound, keywordsLeft, hitsLeft    string // search_memory
	nothingRecorded, recorded            string // add_memory
	before                               string
	outcomes                             map[backends.Outcome]string
	updated, deleted, forgotten, tooMany string
	noMatch, matches, atByte             string // grep_working_memory
	moreMatches, howToRead, unreadables  string
	cutShort                             string
	emptyArchive, page                   string // read_working_memory
	endOfArchive, nextLine, nextByte     string
	blocks, block, colon, noBlock        string // the list of blocks in the descriptions
	appended, replaced, replayed         string // edits of core memory
	holds, empty                         string
}

const englishWorkingAdvice = `
no scope: No user is signed in, so there is no conversation to search. Continue with what you see.
not found: Use an id that a message names, or find one with grep_working_memory without archives.
invalid: The call cannot succeed like this. Change the arguments.
unavailable: Earlier messages cannot be read now. Try once more, naming the archives to search; then continue with what you see, and say what you could not look up.`

const englishCoreAdvice = `
no scope: No user is signed in, so the block has no owner. Continue without it.
not found: The call cannot succeed like this. Change the arguments or continue without it.
conflict: The block is edited by others all the time. Try once more.
unavailable: Core memory is not available now. Continue without it, and do not claim to have noted anything.`

var english = phrases{
	tools: map[string]toolText{
		SearchMemory: `Search long-term memory for what is known from earlier conversations: facts, preferences, plans, past events. Use it before you answer anything that may depend on them. Each result is "- [id] date: text".
keywords: Short and specific search texts, such as a name, a place or a topic. Each is searched for on its own; the results are joined. An id in brackets, as results show it, brings that memory whole.
limit: The most memories to return for each keyword, 1 to 50.
error: Error retrieving memory`,
		AddMemory: `Record something in long-term memory for later conversations: a lasting fact, a preference, a decision, a plan. Do not record small talk, secrets such as passwords, or what memory holds already.
thinking: Why this is worth remembering. It is not stored.
content: What to remember: complete sentences that are clear without this conversation, with names and dates in full, one for each item.
error: Error recording memory`,
		UpdateMemory: `Replace the text of one memory that turned out to be wrong or incomplete, or say where it is shown. Its former text stays in its history.
id: The id of the memory, as search_memory shows it in brackets.
content: The whole new text; it may be left out beside standing or delicate.
standing: true if it always applies, whatever is asked; false if it does not.
delicate: true to show it only where a question is about it.
error: Error updating memory`,
		DeleteMemory: `Delete one memory. Use it only when the user asks for something to be forgotten.
id: The id of the memory, as search_memory shows it in brackets.
error: Error deleting memory`,
		ForgetMemory: `Erase memories for good, with what was said in the turns that taught them. Use it only when the user asks for something to be forgotten: search for it first, and name all that they mean. Do not record that they asked.
ids: The ids of the facts and of what was said, as search_memory shows them in brackets.
error: Error erasing memory`,
		GrepWorkingMemory: `Search what was said and what tools answered earlier in this conversation, also what is no longer shown to you: messages that were shortened, summarised or moved to an archive. Returns the lines that match, under the id of their message in brackets; read on around them with read_working_memory.
pattern: The text to look for, within one line. With regex, a regular expression in RE2 syntax.
regex: Whether pattern is a regular expression. Default false: it is searched for literally.
archives: The ids of the archives to search, as messages name them: log-12, log-12-40, a-…. Leave it out to search all of this conversation.
context_lines: How many lines to show before and after each match, 0 to 10.
limit: The most matches to return, 1 to 200.
case_sensitive: Whether upper and lower case differ. Default false.
error: Error searching working memory` + englishWorkingAdvice,
		ReadWorkingMemory: `Read the original text of an earlier message of this conversation, or of a stretch of it, that is no longer shown to you in full. Returns a page, and says how to read the next one.
archive: The id, as a message or grep_working_memory names it: log-12, log-12-40, or a-….
line: The first line of the page, from 1 on.
lines: How many lines to return at most.
byte: The byte at which the page begins, from 0 on; in the place of line, for lines that are very long. If it is more than 0, line does not count.
bytes: The most bytes to return, up to 65536.
error: Error reading working memory` + englishWorkingAdvice,
		CoreMemoryAppend: `Add a text to a block of core memory, which is always shown to you, in this and in later conversations. Use it for what you need to have in mind all the time; keep it short.
block: The name of the block.
text: What to add, on a line of its own.
error: Error editing core memory` + englishCoreAdvice,
		CoreMemoryReplace: `Replace an exact piece of text in a block of core memory: to correct it, to shorten it, or to delete it. old_text has to occur exactly once in the block.
block: The name of the block.
old_text: The text to replace, copied exactly from the block, with as much around it as makes it the only one.
new_text: The text in its place. An empty string deletes old_text.
error: Error editing core memory` + englishCoreAdvice,
	},
	advice: `
no scope: No user is signed in, so there is no memory. Continue without memory.
not found: No memory has this id. Use an id that search_memory shows.
conflict: The memory was changed meanwhile. Search for it again and then decide.
invalid: The call cannot succeed like this. Change the arguments or continue without memory.
model output not understood: Memory could not make sense of it. Try once more with shorter and simpler content.
unavailable: Memory is not available now. Continue without it, and do not claim to have remembered or recorded anything.`,

	unreadable:      "The arguments of %s could not be read: %s\nCall it again with one JSON object that follows the schema.",
	missing:         "`%s` is missing — nothing was done. %s",
	private:         "Nothing was recorded or changed: what is said in this turn is not to be remembered. Do not try again, and do not claim to have recorded anything.",
	declined:        "The user declined this change: nothing was changed. Do not try again; say so if it matters.",
	tooLong:         "Nothing was recorded: `content` is %d bytes long, and at most %d are taken. Record what matters in a few sentences.",
	noneFound:       "(no relevant memories found)",
	keywordsLeft:    "(%d keywords were left out: at most %d a call)",
	hitsLeft:        "(%d more memories were left out: search with narrower keywords or a lower limit)",
	nothingRecorded: "Nothing was recorded: memory found nothing in `content` that can be stored.",
	recorded:        "Successfully recorded to memory:",
	before:          " (before: %s)",
	outcomes: map[backends.Outcome]string{
		backends.OutcomeAdded:      "added",
		backends.OutcomeUpdated:    "updated",
		backends.OutcomeSuperseded: "replaced an older memory",
		backends.OutcomeRetracted:  "marked as no longer true",
		backends.OutcomeUnchanged:  "known already",
		backends.OutcomeFailed:     "not recorded",
		backends.OutcomeSkipped:    "skipped",
	},
	updated:      "Updated memory [%s]: %s",
	deleted:      "Deleted memory [%s].",
	forgotten:    "Erased %d memories, and what was said with them. Do not repeat it.",
	tooMany:      "Nothing was erased: `ids` has %d entries, and at most %d are taken. Name only what the user means.",
	noMatch:      "No line has %q. Messages searched: %d. Try a shorter or another pattern; with regex, alternatives as in a|b; without archives, all of this conversation is searched.",
	matches:      "Matches: %d. Messages searched: %d.",
	atByte:       "(byte %d of a long line) ",
	moreMatches:  "There are more matches than are shown. Use a narrower pattern, or name in archives the part to search, such as log-12-40.",
	howToRead:    "To read around a match, call read_working_memory with the id in brackets as archive and the number before the match as line, or for a long line its byte as byte.",
	unreadables:  "These archives are damaged or gone and were not searched: %s",
	cutShort:     "The time was over before everything was searched: there may be more. Name in archives the part to search, such as log-12-40.",
	emptyArchive: "[%s is empty]",
	page:         "[%s: lines %d to %d of %d, bytes %d to %d of %d]",
	endOfArchive: "[end of %s]",
	nextLine:     "[there is more: read on with line %d]",
	nextByte:     "[there is more of this line: read on with byte %d]",
	blocks:       "The blocks:",
	block:        "- %s (at most %d characters)",
	colon:        ": ",
	noBlock:      "Nothing was changed: %q is no core memory block that you can edit. You can edit: %s.",
	appended:     "Added to core memory block %q.",
	replaced:     "Replaced in core memory block %q.",
	replayed:     "This very call was carried out before: nothing was changed now in core memory block %q.",
	holds:        " It holds %d of %d characters now, %d are left:",
	empty:        "(nothing)",
}

const chineseWorkingAdvice = `
no scope: 当前没有可对应的用户和对话。请根据现有内容继续。
not found: 请使用消息中给出的 id，或在不指定 archives 的情况下用 grep_working_memory 查找。
invalid: 这样调用不会成功。请修改参数。
unavailable: 现在无法读取较早的消息。请指明归档再试一次；仍然失败就根据现有内容继续，并说明哪些内容没能查到。`

const chineseCoreAdvice = `
no scope: 当前不知道这个块属于谁。请在没有它的情况下继续。
not found: 这样调用不会成功。请修改参数，或在没有它的情况下继续。
conflict: 该块正被频繁修改。请再试一次。
unavailable: 核心记忆暂时不可用。请在没有它的情况下继续，不要声称已经记下了什么。`

var chinese = phrases{
	tools: map[string]toolText{
		SearchMemory: `在长期记忆中检索以往对话里的已知内容：事实、偏好、计划和经历。回答可能与之相关的问题之前，请先使用它。每条结果的格式为“- [id] 日期: 内容”。
keywords: 简短而具体的检索词，例如人名、地点或主题。每个检索词单独检索，结果合并返回。填写带方括号的 id（如结果所示），则返回该条记忆的全文。
limit: 每个检索词最多返回的记忆条数，1 到 50。
error: 检索记忆时出错`,
		AddMemory: `把以后的对话用得上的内容写入长期记忆：长期有效的事实、偏好、决定或计划。不要记录寒暄、密码等机密，也不要重复记录已有的内容。
thinking: 为什么值得记住。该内容不会被存储。
content: 要记住的内容：脱离本次对话也能看懂的完整句子，写全姓名和日期，每项一条。
error: 写入记忆时出错`,
		UpdateMemory: `改写一条有误或不完整的记忆，或说明它在何时显示。原来的内容会保留在历史中。
id: 记忆的 id，即 search_memory 在方括号中显示的内容。
content: 新的完整内容；只改 standing 或 delicate 时可以不填。
standing: 无论问什么都适用时为 true，否则为 false。
delicate: 只在问到时才显示则为 true。
error: 更新记忆时出错`,
		DeleteMemory: `删除一条记忆。仅在用户要求忘记某事时使用。
id: 记忆的 id，即 search_memory 在方括号中显示的内容。
error: 删除记忆时出错`,
		ForgetMemory: `永久清除记忆，以及得知它们的那几轮对话中说的话。仅在用户要求忘掉某事时使用：先搜索，并列出他所指的全部内容。不要把这一要求记下来。
ids: 事实和说过的话的 id，即 search_memory 在方括号中给出的。
error: 清除记忆时出错`,
		GrepWorkingMemory: `在本次对话较早的消息和工具结果中搜索，包括已不再完整显示的内容：被缩短、被摘要或被归档的消息。返回匹配的行，上方的方括号中是所在消息的 id；可用 read_working_memory 阅读上下文。
pattern: 要查找的文本，须在同一行内。启用 regex 时为 RE2 语法的正则表达式。
regex: pattern 是否为正则表达式。默认为 false：按字面查找。
archives: 要搜索的归档 id，即消息中给出的 log-12、log-12-40 或 a-…。省略则搜索整个对话。
context_lines: 每处匹配前后各显示多少行，0 到 10。
limit: 最多返回的匹配数，1 到 200。
case_sensitive: 是否区分大小写。默认为 false。
error: 搜索工作记忆时出错` + chineseWorkingAdvice,
		ReadWorkingMemory: `阅读本次对话中较早的一条或一段消息的原文，即已不再完整显示的内容。返回一页，并说明如何阅读下一页。
archive: 归档 id，即消息或 grep_working_memory 给出的 log-12、log-12-40 或 a-…。
line: 本页的起始行，从 1 开始。
lines: 最多返回多少行。
byte: 本页的起始字节，从 0 开始；用于很长的行，代替 line。大于 0 时忽略 line。
bytes: 最多返回多少字节，不超过 65536。
error: 读取工作记忆时出错` + chineseWorkingAdvice,
		CoreMemoryAppend: `向核心记忆的一个块追加文字。核心记忆在本次和以后的对话中始终展示给你。只记录你需要随时记住的内容，并保持简短。
block: 块的名称。
text: 要追加的内容，单独成行。
error: 编辑核心记忆时出错` + chineseCoreAdvice,
		CoreMemoryReplace: `替换核心记忆某个块中一段完全一致的文字：用于更正、缩短或删除。old_text 必须在块中恰好出现一次。
block: 块的名称。
old_text: 要被替换的文字，从块中原样复制，并带上足够的上下文，使其只出现一次。
new_text: 替换后的文字。空字符串表示删除 old_text。
error: 编辑核心记忆时出错` + chineseCoreAdvice,
	},
	advice: `
no scope: 当前没有可对应的用户。请在没有记忆的情况下继续。
not found: 没有这个 id 的记忆。请使用 search_memory 显示的 id。
conflict: 该记忆刚刚被修改过。请重新检索后再决定。
invalid: 这样调用不会成功。请修改参数，或在没有记忆的情况下继续。
model output not understood: 记忆模块没能理解这些内容。请用更短、更简单的内容再试一次。
unavailable: 记忆暂时不可用。请在没有记忆的情况下继续，不要声称已经记住或查到了什么。`,

	unreadable:      "无法读取 %s 的参数：%s\n请按照参数说明，用一个 JSON 对象重新调用。",
	missing:         "缺少 `%s`，没有执行任何操作。%s",
	private:         "没有记录或修改任何内容：本轮所说的内容不应被记住。请不要再试，也不要声称已经记下了什么。",
	declined:        "用户拒绝了这次修改，没有做任何改动。请不要再试；必要时告知用户。",
	tooLong:         "没有写入任何内容：`content` 长 %d 字节，最多接受 %d 字节。请用几句话记录要点。",
	noneFound:       "（没有找到相关记忆）",
	keywordsLeft:    "（忽略了 %d 个检索词：每次最多 %d 个）",
	hitsLeft:        "（另有 %d 条记忆未显示：请使用更具体的检索词或更小的 limit）",
	nothingRecorded: "没有写入任何内容：`content` 中没有可以存储的信息。",
	recorded:        "已成功写入记忆:",
	before:          "（原为：%s）",
	outcomes: map[backends.Outcome]string{
		backends.OutcomeAdded:      "新增",
		backends.OutcomeUpdated:    "更新",
		backends.OutcomeSuperseded: "取代旧记忆",
		backends.OutcomeRetracted:  "标记为不再成立",
		backends.OutcomeUnchanged:  "已知",
		backends.OutcomeFailed:     "未写入",
		backends.OutcomeSkipped:    "已跳过",
	},
	updated:      "已更新记忆 [%s]: %s",
	deleted:      "已删除记忆 [%s]。",
	forgotten:    "已清除 %d 条记忆以及当时说的话。请不要再提及。",
	tooMany:      "没有清除任何内容：`ids` 有 %d 项，一次最多 %d 项。请只列出用户所指的内容。",
	noMatch:      "没有包含 %q 的行（共搜索 %d 条消息）。请换用更短或其他的内容；启用 regex 可写 a|b 这样的多个选项；省略 archives 则搜索整个对话。",
	matches:      "匹配：%d 处。共搜索 %d 条消息。",
	atByte:       "（长行的第 %d 字节）",
	moreMatches:  "还有未显示的匹配。请使用更具体的 pattern，或在 archives 中指明要搜索的部分，例如 log-12-40。",
	howToRead:    "要阅读匹配处的上下文，请调用 read_working_memory：archive 为方括号中的 id，line 为匹配前的行号；对于长行，用 byte 指定其字节位置。",
	unreadables:  "以下归档已损坏或不存在，未被搜索：%s",
	cutShort:     "时间已到，尚未搜索全部内容：可能还有匹配。请在 archives 中指明要搜索的部分，例如 log-12-40。",
	emptyArchive: "[%s 为空]",
	page:         "[%s：第 %d 到 %d 行，共 %d 行；第 %d 到 %d 字节，共 %d 字节]",
	endOfArchive: "[%s 结束]",
	nextLine:     "[还有更多：请用 line %d 继续阅读]",
	nextByte:     "[本行还有更多：请用 byte %d 继续阅读]",
	blocks:       "可编辑的块：",
	block:        "- %s（最多 %d 个字符）",
	colon:        "：",
	noBlock:      "没有做任何修改：%q 不是可以编辑的核心记忆块。可以编辑：%s。",
	appended:     "已追加到核心记忆块 %q。",
	replaced:     "已在核心记忆块 %q 中替换。",
	replayed:     "这次调用此前已经执行过：核心记忆块 %q 没有再被修改。",
	holds:        "现在共 %d/%d 个字符，剩余 %d 个：",
	empty:        "（空）",
}
