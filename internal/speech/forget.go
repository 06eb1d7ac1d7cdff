// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"slices"
	"strings"
)

// AsksToForget reports whether a user asks memory to forget an earlier message, or to stop mentioning
// it: "Forget what I said about my job", "that was the wine talking, wipe it", "别再提我的工作". It passes over
// users who forget something, or want a text or a file changed. The best sentence counts, by weights as
// in [Standing]; in a long text the first and the last one.
//
// Of 120 wishes by an author whom the fit has not seen 78 are found; the patterns before it found 12.
// Of 120 other messages, most of them close to one, 2 are taken for one, and so are 2 of 2,760 turns of
// LoCoMo; the patterns took none. Of 20 wishes and 30 others from before 19 are found and 4 are taken.
// These texts were counted for some thirty settings. In the stories of others, which were not, all 20
// wishes of 492 messages are found, and nothing else.
func AsksToForget(text string) bool {
	return slices.ContainsFunc(addressed(text), func(s string) bool { return forgetWeights.most(s) > 0 })
}

// Beside returns the other sentences of a text that asks to forget, if they state something, else
// "". It returns any other text as it is.
func Beside(text string) string {
	if !AsksToForget(text) {
		return text
	}
	said := sentence.FindAllString(strings.TrimSpace(text), -1)
	rest := slices.DeleteFunc(slices.Clone(said), AsksToForget)
	if out := strings.TrimSpace(strings.Join(rest, "")); len(rest) < len(said) && Classify(out) == Statement {
		return out
	}
	return ""
}

// TellsToForget reports whether a statement reports a wish to forget, such as "The user wants their
// address forgotten".
func TellsToForget(statement string) bool { return tells.MatchString(statement) }

var tells = regexp.MustCompile(`(?i)\b(?:forget|forgotten|delet(?:e|ed|ion)|eras(?:e|ed)|remov(?:e|ed)|(?:not|never|no longer)\b.{0,20}\bmention(?:ed)?)\b|忘(?:掉|记|了)|删除|清除|抹去|(?:不要|不想|不再|别)再?.{0,4}提`)
