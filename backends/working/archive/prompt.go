// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
)

// phrases are the texts of the tools in one language.
type phrases struct {
	tools  map[string]agenttool.Text
	advice agenttool.Text // what to do about errors

	noMatch, matches, atByte, moreMatches, howToRead, unreadables, cutShort, emptyArchive, page, endOfArchive, nextLine, nextByte string
}

var phrasesIn = map[backends.Language]*phrases{
	backends.English: {
		tools: map[string]agenttool.Text{
			grepTool: `Search what was said and what tools answered earlier in this conversation, also what is no longer shown to you: messages that were shortened, summarised or moved to an archive. Returns the lines that match, under the id of their message in brackets; read on around them with read_working_memory.
pattern: The text to look for, within one line. With regex, a regular expression in RE2 syntax.
regex: Whether pattern is a regular expression. Default false: it is searched for literally.
archives: The ids of the archives to search, as messages name them: log-12, log-12-40, a-…. Leave it out to search all of this conversation.
context_lines: How many lines to show before and after each match, 0 to 10.
limit: The most matches to return, 1 to 200.
case_sensitive: Whether upper and lower case differ. Default false.
error: Error searching working memory`,
			readTool: `Read the original text of an earlier message of this conversation, or of a stretch of it, that is no longer shown to you in full. Returns a page, and says how to read the next one.
archive: The id, as a message or grep_working_memory names it: log-12, log-12-40, or a-….
line: The first line of the page, from 1 on.
lines: How many lines to return at most.
byte: The byte at which the page begins, from 0 on; in the place of line, for lines that are very long. If it is more than 0, line does not count.
bytes: The most bytes to return, up to 65536.
error: Error reading working memory`,
		},
		advice: `
no scope: No user is signed in, so there is no conversation to search. Continue with what you see.
not found: Use an id that a message names, or find one with grep_working_memory without archives.
invalid: The call cannot succeed like this. Change the arguments.
unavailable: Earlier messages cannot be read now. Try once more, naming the archives to search; then continue with what you see, and say what you could not look up.`,

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
	},
	backends.Chinese: {
		tools: map[string]agenttool.Text{
			grepTool: `在本次对话较早的消息和工具结果中搜索，包括已不再完整显示的内容：被缩短、被摘要或被归档的消息。返回匹配的行，上方的方括号中是所在消息的 id；可用 read_working_memory 阅读上下文。
pattern: 要查找的文本，须在同一行内。启用 regex 时为 RE2 语法的正则表达式。
regex: pattern 是否为正则表达式。默认为 false：按字面查找。
archives: 要搜索的归档 id，即消息中给出的 log-12、log-12-40 或 a-…。省略则搜索整个对话。
context_lines: 每处匹配前后各显示多少行，0 到 10。
limit: 最多返回的匹配数，1 到 200。
case_sensitive: 是否区分大小写。默认为 false。
error: 搜索工作记忆时出错`,
			readTool: `阅读本次对话中较早的一条或一段消息的原文，即已不再完整显示的内容。返回一页，并说明如何阅读下一页。
archive: 归档 id，即消息或 grep_working_memory 给出的 log-12、log-12-40 或 a-…。
line: 本页的起始行，从 1 开始。
lines: 最多返回多少行。
byte: 本页的起始字节，从 0 开始；用于很长的行，代替 line。大于 0 时忽略 line。
bytes: 最多返回多少字节，不超过 65536。
error: 读取工作记忆时出错`,
		},
		advice: `
no scope: 当前没有可对应的用户和对话。请根据现有内容继续。
not found: 请使用消息中给出的 id，或在不指定 archives 的情况下用 grep_working_memory 查找。
invalid: 这样调用不会成功。请修改参数。
unavailable: 现在无法读取较早的消息。请指明归档再试一次；仍然失败就根据现有内容继续，并说明哪些内容没能查到。`,

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
	},
}
