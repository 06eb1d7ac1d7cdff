// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import "strings"

// Standing reports whether a user says something that always applies: an order how to answer
// ("Always answer in bullet points", "叫我小王"), or a hard limit of their own ("I'm allergic to
// peanuts", "我不吃辣"). The best sentence counts. A sentence is judged by the weights of its words and
// of two and three in a row, in Chinese of its characters: a logistic regression, which
// weights_train_test.go fits to 3,200 messages. Code, quotations, wishes to forget and texts of
// more than 600 bytes are exempt, and the fit has learnt that a diagnosis is nothing to show always.
//
// Of 60 such messages by an author whom the fit has not seen 31 are found, and of 80 others, most of
// them close to one, 3 are taken for one. So are 10 of 2,760 turns of LoCoMo. Of
// 40 by one more author 24 are found, and none of 40 others is taken for one. The first two of these
// texts chose among some thirty settings.
func Standing(text string) bool {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "```")
	if len(text) > maxQuestion || AsksToForget(text) {
		return false
	}
	return standingWeights.most(text) > 0
}
