// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package agenttool

import "strings"

// Text is a tool's text for a model: its description, and below it lines of the form "key: text".
// They describe a parameter, begin the text of a failure ("error"), or give advice about an error
// of that sort.
type Text string

// desc returns the description of the tool.
func (t Text) desc() string {
	desc, _, _ := strings.Cut(string(t), "\n")
	return desc
}

// Line returns the text of a line, or "".
func (t Text) Line(key string) string {
	_, rest, _ := strings.Cut(string(t), "\n"+key+": ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// phrases are the texts of every tool in one language.
type phrases struct {
	unreadable, missing string // arguments
	private, declined   string // a private turn, a user who declines
}

var english = phrases{
	unreadable: "The arguments of %s could not be read: %s\nCall it again with one JSON object that follows the schema.",
	missing:    "`%s` is missing — nothing was done. %s",
	private:    "Nothing was recorded or changed: what is said in this turn is not to be remembered. Do not try again, and do not claim to have recorded anything.",
	declined:   "The user declined this change: nothing was changed. Do not try again; say so if it matters.",
}

var chinese = phrases{
	unreadable: "无法读取 %s 的参数：%s\n请按照参数说明，用一个 JSON 对象重新调用。",
	missing:    "缺少 `%s`，没有执行任何操作。%s",
	private:    "没有记录或修改任何内容：本轮所说的内容不应被记住。请不要再试，也不要声称已经记下了什么。",
	declined:   "用户拒绝了这次修改，没有做任何改动。请不要再试；必要时告知用户。",
}
