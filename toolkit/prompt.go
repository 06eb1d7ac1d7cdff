// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"fmt"

	"github.com/einomem/einomem/backends"
)

// Language is the language in which the tools speak to the model. What is
// remembered keeps its own.
type Language string

// The languages.
const (
	Auto    Language = "" // English: an agent reads its tools once, before anybody has spoken
	English Language = "en"
	Chinese Language = "zh"
)

func (l Language) phrases() (*phrases, error) {
	switch l {
	case Auto, English, "auto":
		return &english, nil
	case Chinese:
		return &chinese, nil
	}
	return nil, fmt.Errorf("language %q: %w: use auto, en or zh", l, backends.ErrInvalid)
}

// toolText describes a tool to a model.
type toolText struct {
	Desc   string
	Params map[string]string
	Failed string // begins the text of a failure
}

// phrases are all texts of one language.
type phrases struct {
	Search, Add, Update, Delete toolText

	NoKeywords, NoneFound, KeywordsLeft, HitsLeft           string
	NoContent, NothingRecorded, Recorded, Rationale, Before string
	NoID, Updated, Deleted, Unreadable                      string
	Outcomes                                                map[backends.Outcome]string
	Advice                                                  advice
}

var english = phrases{
	Search: toolText{
		Desc: "Search long-term memory for what is known from earlier conversations: facts, preferences, plans, past events. Use it before you answer anything that may depend on them. Each result is \"- [id] date: text\".",
		Params: map[string]string{
			"keywords": "Short and specific search texts, such as a name, a place or a topic. Each is searched for on its own; the results are joined.",
			"limit":    "The most memories to return for each keyword, 1 to 50.",
		},
		Failed: "Error retrieving memory",
	},
	Add: toolText{
		Desc: "Record something in long-term memory for later conversations: a lasting fact, a preference, a decision, a plan. Do not record small talk, secrets such as passwords, or what memory holds already.",
		Params: map[string]string{
			"thinking": "Why this is worth remembering. It is not stored.",
			"content":  "What to remember: complete sentences that are clear without this conversation, with names and dates in full, one for each item.",
		},
		Failed: "Error recording memory",
	},
	Update: toolText{
		Desc: "Replace the text of one memory that turned out to be wrong or incomplete. Its former text stays in its history.",
		Params: map[string]string{
			"id":      "The id of the memory, as search_memory shows it in brackets.",
			"content": "The whole new text.",
		},
		Failed: "Error updating memory",
	},
	Delete: toolText{
		Desc:   "Delete one memory. Use it only when the user asks for something to be forgotten.",
		Params: map[string]string{"id": "The id of the memory, as search_memory shows it in brackets."},
		Failed: "Error deleting memory",
	},
	NoKeywords:      "(no keywords supplied — nothing to search)",
	NoneFound:       "(no relevant memories found)",
	KeywordsLeft:    "(%d keywords were left out: at most %d a call)",
	HitsLeft:        "(%d more memories were left out: search with narrower keywords or a lower limit)",
	NoContent:       "`content` is empty — nothing to record.",
	NothingRecorded: "Nothing was recorded: memory found nothing in `content` that can be stored.",
	Recorded:        "Successfully recorded to memory",
	Rationale:       " (rationale: %s)",
	Before:          " (before: %s)",
	NoID:            "`id` is empty — use an id that search_memory shows in brackets.",
	Updated:         "Updated memory [%s]: %s",
	Deleted:         "Deleted memory [%s].",
	Unreadable:      "The arguments of %s could not be read: %s\nCall it again with one JSON object that follows the schema.",
	Outcomes: map[backends.Outcome]string{
		backends.OutcomeAdded:      "added",
		backends.OutcomeUpdated:    "updated",
		backends.OutcomeSuperseded: "replaced an older memory",
		backends.OutcomeRetracted:  "marked as no longer true",
		backends.OutcomeUnchanged:  "known already",
		backends.OutcomeFailed:     "not recorded",
	},
	Advice: advice{
		NoScope:     "Nobody is signed in whose memory this could be. Continue without memory.",
		NotFound:    "No memory has this id. Use an id that search_memory shows.",
		Conflict:    "The memory was changed meanwhile. Search for it again and then decide.",
		Invalid:     "The call cannot succeed like this. Change the arguments or continue without memory.",
		Model:       "Memory could not make sense of it. Try once more with shorter and simpler content.",
		Unavailable: "Memory is not available now. Continue without it, and do not claim to have remembered or recorded anything.",
	},
}

var chinese = phrases{
	Search: toolText{
		Desc: "在长期记忆中检索以往对话里的已知内容：事实、偏好、计划和经历。回答可能与之相关的问题之前，请先使用它。每条结果的格式为“- [id] 日期: 内容”。",
		Params: map[string]string{
			"keywords": "简短而具体的检索词，例如人名、地点或主题。每个检索词单独检索，结果合并返回。",
			"limit":    "每个检索词最多返回的记忆条数，1 到 50。",
		},
		Failed: "检索记忆时出错",
	},
	Add: toolText{
		Desc: "把以后的对话用得上的内容写入长期记忆：长期有效的事实、偏好、决定或计划。不要记录寒暄、密码等机密，也不要重复记录已有的内容。",
		Params: map[string]string{
			"thinking": "为什么值得记住。该内容不会被存储。",
			"content":  "要记住的内容：脱离本次对话也能看懂的完整句子，写全姓名和日期，每项一条。",
		},
		Failed: "写入记忆时出错",
	},
	Update: toolText{
		Desc: "改写一条有误或不完整的记忆。原来的内容会保留在历史中。",
		Params: map[string]string{
			"id":      "记忆的 id，即 search_memory 在方括号中显示的内容。",
			"content": "新的完整内容。",
		},
		Failed: "更新记忆时出错",
	},
	Delete: toolText{
		Desc:   "删除一条记忆。仅在用户要求忘记某事时使用。",
		Params: map[string]string{"id": "记忆的 id，即 search_memory 在方括号中显示的内容。"},
		Failed: "删除记忆时出错",
	},
	NoKeywords:      "（未提供检索词，没有可检索的内容）",
	NoneFound:       "（没有找到相关记忆）",
	KeywordsLeft:    "（忽略了 %d 个检索词：每次最多 %d 个）",
	HitsLeft:        "（另有 %d 条记忆未显示：请使用更具体的检索词或更小的 limit）",
	NoContent:       "`content` 为空，没有可记录的内容。",
	NothingRecorded: "没有写入任何内容：`content` 中没有可以存储的信息。",
	Recorded:        "已成功写入记忆",
	Rationale:       "（理由：%s）",
	Before:          "（原为：%s）",
	NoID:            "`id` 为空：请使用 search_memory 在方括号中显示的 id。",
	Updated:         "已更新记忆 [%s]: %s",
	Deleted:         "已删除记忆 [%s]。",
	Unreadable:      "无法读取 %s 的参数：%s\n请按照参数说明，用一个 JSON 对象重新调用。",
	Outcomes: map[backends.Outcome]string{
		backends.OutcomeAdded:      "新增",
		backends.OutcomeUpdated:    "更新",
		backends.OutcomeSuperseded: "取代旧记忆",
		backends.OutcomeRetracted:  "标记为不再成立",
		backends.OutcomeUnchanged:  "已知",
		backends.OutcomeFailed:     "未写入",
	},
	Advice: advice{
		NoScope:     "当前没有可对应的用户。请在没有记忆的情况下继续。",
		NotFound:    "没有这个 id 的记忆。请使用 search_memory 显示的 id。",
		Conflict:    "该记忆刚刚被修改过。请重新检索后再决定。",
		Invalid:     "这样调用不会成功。请修改参数，或在没有记忆的情况下继续。",
		Model:       "记忆模块没能理解这些内容。请用更短、更简单的内容再试一次。",
		Unavailable: "记忆暂时不可用。请在没有记忆的情况下继续，不要声称已经记住或查到了什么。",
	},
}
