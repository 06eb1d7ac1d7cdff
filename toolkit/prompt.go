// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
)

// phrases are all texts of one language.
type phrases struct {
	tools  map[string]agenttool.Text
	advice agenttool.Text // what to do about errors

	tooLong                              string // no memory
	noneFound, keywordsLeft, hitsLeft    string // search_memory
	nothingRecorded, recorded, queued    string // add_memory
	before                               string
	outcomes                             map[backends.Outcome]string
	updated, deleted, forgotten, tooMany string
}

var english = phrases{
	tools: map[string]agenttool.Text{
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
	},
	advice: `
no scope: No user is signed in, so there is no memory. Continue without memory.
not found: No memory has this id. Use an id that search_memory shows.
conflict: The memory was changed meanwhile. Search for it again and then decide.
invalid: The call cannot succeed like this. Change the arguments or continue without memory.
model output not understood: Memory could not make sense of it. Try once more with shorter and simpler content.
unavailable: Memory is not available now. Continue without it, and do not claim to have remembered or recorded anything.`,

	tooLong:         "Nothing was recorded: `content` is %d bytes long, and at most %d are taken. Record what matters in a few sentences.",
	noneFound:       "(no relevant memories found)",
	keywordsLeft:    "(%d keywords were left out: at most %d a call)",
	hitsLeft:        "(%d more memories were left out: search with narrower keywords or a lower limit)",
	nothingRecorded: "Nothing was recorded: memory found nothing in `content` that can be stored.",
	queued:          "Accepted: memory will learn from it soon. Until then a search may miss it. Do not record it again.",
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
	updated:   "Updated memory [%s]: %s",
	deleted:   "Deleted memory [%s].",
	forgotten: "Erased %d memories, and what was said with them. Do not repeat it.",
	tooMany:   "Nothing was erased: `ids` has %d entries, and at most %d are taken. Name only what the user means.",
}

var chinese = phrases{
	tools: map[string]agenttool.Text{
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
	},
	advice: `
no scope: 当前没有可对应的用户。请在没有记忆的情况下继续。
not found: 没有这个 id 的记忆。请使用 search_memory 显示的 id。
conflict: 该记忆刚刚被修改过。请重新检索后再决定。
invalid: 这样调用不会成功。请修改参数，或在没有记忆的情况下继续。
model output not understood: 记忆模块没能理解这些内容。请用更短、更简单的内容再试一次。
unavailable: 记忆暂时不可用。请在没有记忆的情况下继续，不要声称已经记住或查到了什么。`,

	tooLong:         "没有写入任何内容：`content` 长 %d 字节，最多接受 %d 字节。请用几句话记录要点。",
	noneFound:       "（没有找到相关记忆）",
	keywordsLeft:    "（忽略了 %d 个检索词：每次最多 %d 个）",
	hitsLeft:        "（另有 %d 条记忆未显示：请使用更具体的检索词或更小的 limit）",
	queued:          "已接收：记忆稍后会学到这些内容，在此之前检索可能查不到。请勿重复记录。",
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
	updated:   "已更新记忆 [%s]: %s",
	deleted:   "已删除记忆 [%s]。",
	forgotten: "已清除 %d 条记忆以及当时说的话。请不要再提及。",
	tooMany:   "没有清除任何内容：`ids` 有 %d 项，一次最多 %d 项。请只列出用户所指的内容。",
}
