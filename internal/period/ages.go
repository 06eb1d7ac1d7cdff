// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package period

import (
	"regexp"
	"strings"
)

var (
	ageForms = forms(``, []string{"{n}", `(\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`},
		`(?i)(?:\b(?:is|am|are)|'(?:s|m|re)) (?:now |already |only |just )?{n} years? old\b`,
		`(?i)\bturned {n}\b(?:[-/%]| (?:of|percent|pages?|minutes?|euros?|dollars?|degrees?|people)\b)?`,
		`([0-9]{1,3}|[一二三四五六七八九十]{1,3})(?:周)?岁(?:多?的?时候?|时|那年|那时|以?[前后]|以[上下]|之|起|开始|到|就|才)?`,
	)
	otherAge = regexp.MustCompile(`(?i)\b(?:when|until|till|once|before|after|if|since|ago|will|was|were|in \d{4})\b|[-/%]$|当时|那时|小时候|以前|之前|年前|如果|要是|的话|[大小差相] |\d{4}年`)
)

// Ages returns the present ages in a text, "is four years old", "turned six" or 今年四岁, by the
// offset where the words end. Ages at other times are left out.
func Ages(s string) map[int]int {
	s, ages := simple(s), map[int]int{}
	for _, form := range ageForms {
		for _, at := range form.FindAllStringSubmatchIndex(s, -1) {
			n := number(strings.ToLower(s[at[2]:at[3]]))
			before, behind := part(s, at[0], at[1], sentenceEnds)
			rest := s[at[3]:at[1]] // more than the age itself is another thing
			whole := rest == "" || rest == "岁" || rest == "周岁" || strings.HasSuffix(rest, "old")
			if n > 0 && whole && !otherAge.MatchString(before+" "+behind) && apart(s, at[2], at[3]) {
				ages[at[1]] = n
			}
		}
	}
	return ages
}
