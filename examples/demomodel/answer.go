// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/speech"
)

// The model's own phrases, in English and in Chinese.
var phrases = map[bool]struct{ noted, only, unknown, told, read string }{
	false: {"Noted.", "I am a demo model: all I do is repeat what you told me.", "I don't know: you have not told me.", `You told me: "%s"`, `I have read: "%s"`},
	true:  {"好的，记住了。", "我是演示模型，只会复述你告诉过我的话。", "我不知道，你还没有告诉过我。", "你告诉过我：“%s”", "我读到：“%s”"},
}

var own = regexp.MustCompile(`^(?:Noted\.|I am a demo model|I don't know|You told me|I have read|好的，记住|我是演示模型|我不知道|你告诉过我|我读到)`)

// statement is a sentence, or a part of one, that the user said.
type statement struct {
	text  string
	words []string
	about string // its subject: see subject
	time  string // of a memory, as the note shows it; latest for this conversation
	fit   float64
}

var (
	sentence = regexp.MustCompile(`(?:[^.!?。！？；;\n]|[.!?]+[^.!?\s"')])+[.!?。！？]*["')]*`)
	clause   = regexp.MustCompile(`,?\s+(?:and|but)\s+(I|we)\b|，(?:而且|但是|不过)?(我)`)
	question = regexp.MustCompile(`(?i)[?？]|^(?:what|who|whose|which|where|why|how)\b|^(?:am|is|are|was|were|do|does|did|have|has|can|could|when (?:is|was|do|did)) (?:i|you|we|my|the)\b` +
		`|\btell me (?:what|who|where)\b|[吗呢]$|什么|哪|谁|多少|几[个只岁点]`)
)

// order matches a sentence that wants something done.
var order = regexp.MustCompile(`(?i)^(?:please )?(?:forget|delete|erase|remove|stop|tell|remind|show|send|give|write (?:me|an?))\b|^(?:请|你|帮我|把.*)*(?:忘[掉了记]|删|清除|抹去|提醒|翻译)`)

// isOrder reports whether a sentence wants something done, such as to be forgotten. This model does nothing.
func isOrder(s string) bool {
	return !question.MatchString(s) && (order.MatchString(s) || speech.AsksToForget(s) || speech.WishOf(s) != speech.NoWish)
}

func sentences(text string) []string {
	out := sentence.FindAllString(text, 500) // it reads the first 500
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(words(s)) == 0 && !question.MatchString(s) })
}

// questions returns the questions in a text.
func questions(text string) []string {
	return slices.DeleteFunc(sentences(text), func(s string) bool { return !question.MatchString(s) })
}

// statements returns the statements of a text, cut where a new subject begins. This model's own
// answers do not count.
func statements(text, time string) []statement {
	var out []statement
	for _, s := range sentences(clause.ReplaceAllString(text, "\n$1$2")) {
		if !own.MatchString(text) && !question.MatchString(s) && !isOrder(s) {
			out = append(out, statement{text: s, words: words(s), about: subject(s), time: time})
		}
	}
	return out
}

// States reports whether a text states something, rather than ask or greet.
func States(text string) bool { return len(statements(text, "")) > 0 }

var subjects = regexp.MustCompile(`(?i)\b(?:my|our)\s+(?:(?:older|younger|little|new|old)\s+)?(\pL+)|\b(?:I|we|me)\b|我(?:的(\p{Han})|([妹姐哥弟妈爸母父妻老丈儿女孩朋同猫狗]))?`)

// subject returns the subject of a text: the thing for "my thing", "I" for the user, and "" for
// others.
func subject(text string) string {
	m := subjects.FindStringSubmatch(plain.Replace(strings.ToLower(text)))
	if m == nil {
		return ""
	}
	return cmp.Or(canonical(m[1]+m[2]+m[3]), "I")
}

// A bullet of a note or of a tool's answer: "- [id] day, user: text" or "- [id] text (said day)".
var (
	bullet = regexp.MustCompile(`(?m)^\s*[-*•]\s+(?:\[[^\]]*\]\s*)?(?:(` + day + `(?: \d\d:\d\d)?)(?:[,，] ?[^:：]*)?[:：]\s+)?(?:(?:user|用户|noted by the assistant|助手的笔记)[:：]\s*)?(.*(?:\n {2,}.*)*)$`)
	remark = regexp.MustCompile(`\s*[(（][^()（）]*?(` + day + `)[^()（）]*[)）]$`)
)

const day = `(?:\d{1,2} [A-Z][a-z]{2} \d{4}|\d{4}年\d{1,2}月\d{1,2}日)`

// A line with the date of the bullets below it, and a bullet that may have a time.
var (
	dated = regexp.MustCompile(`^(` + day + `)[:：]$`)
	timed = regexp.MustCompile(`^(- (?:\[[^\]]*\] )?)(?:(\d\d:\d\d)[,，] ?)?`)
)

// spread returns a note with the date of a line in each bullet below it.
func spread(note string) string {
	lines, on := strings.Split(note, "\n"), ""
	for i, line := range lines {
		switch m := dated.FindStringSubmatch(line); {
		case m != nil:
			on = m[1]
		case !strings.HasPrefix(line, "- "):
			if !strings.HasPrefix(line, " ") {
				on = ""
			}
		case on != "":
			m := timed.FindStringSubmatch(line)
			lines[i] = m[1] + strings.TrimSpace(on+" "+m[2]) + ", " + line[len(m[0]):]
		}
	}
	return strings.Join(lines, "\n")
}

// about matches the line of standing facts.
var about = regexp.MustCompile(`(?m)^(?:About the user: |关于用户：).*[.。]$`)

// apart returns such a line as bullets.
func apart(line string) string {
	_, line, _ = strings.Cut(strings.Replace(line, "：", ": ", 1), ": ")
	line = strings.NewReplacer("; ", "\n- ", "；", "\n- ", "“", "", "” (", ". (", "”（", "。（", "”", "").Replace(strings.TrimRight(line, ".。"))
	return "- " + line
}

// sortable returns a day of a bullet so that a later one is greater.
func sortable(said string) string {
	for _, layout := range []string{"2 Jan 2006 15:04", "2 Jan 2006", "2006年1月2日 15:04", "2006年1月2日"} {
		if t, err := time.Parse(layout, said); err == nil {
			return t.Format("2006-01-02 15:04")
		}
	}
	return said
}

// evidence is the words of users and the memories, from a note or from a tool. The words of an
// assistant do not count.
func evidence(in []*schema.Message, said int) []statement {
	var out []statement
	for i, m := range in {
		switch {
		case isNote(m) || m.Role == schema.Tool && i > said:
			for _, b := range bullet.FindAllStringSubmatch(about.ReplaceAllStringFunc(spread(m.Content), apart), -1) {
				said, at := b[2], b[1]
				if m := remark.FindStringSubmatch(said); m != nil && at == "" {
					said, at = strings.TrimSuffix(said, m[0]), m[1]
				}
				out = append(out, statements(html.UnescapeString(said), sortable(at))...)
			}
		case m.Role == schema.User && i <= said:
			out = append(out, statements(m.Content, fmt.Sprintf("now %09d", i))...)
		}
	}
	return out
}

// reply answers the questions, or acknowledges a statement. It says so if it does not do what it is told.
func reply(known []statement, asked []string, said string) string {
	var out []string
	states, says := States(said), phrases[han.MatchString(said)]
	if len(asked) == 0 && states {
		out = append(out, says.noted)
	}
	if len(asked) == 0 && !states || slices.ContainsFunc(sentences(said), isOrder) {
		out = append(out, says.only)
	}
	for _, q := range asked {
		found := find(known, q)
		for _, s := range found {
			out = append(out, fmt.Sprintf(phrases[han.MatchString(q)].told, s.text))
		}
		if len(found) == 0 {
			out = append(out, phrases[han.MatchString(q)].unknown)
		}
	}
	return strings.Join(slices.Compact(out), " ")
}

var (
	adds    = regexp.MustCompile(`(?i)\b(?:also|too|another)\b|也|还`)
	changes = regexp.MustCompile(`(?i)\b(?:moved|now|changed|became|switched)\b|搬|换|改`)
)

// find returns the latest statement that answers a question, after the ones that it adds to; for
// "What do you know about me?" it returns all.
func find(known []statement, question string) []statement {
	asked, about := words(question), subject(question)
	var fit []statement
	for _, s := range known {
		if s.fit = share(asked, s.words); len(asked) == 0 || s.fit > 0.6 && s.isAbout(about, asked) {
			fit = append(fit, s)
		}
	}
	slices.SortStableFunc(fit, func(a, b statement) int {
		return cmp.Or(cmp.Compare(b.fit, a.fit), cmp.Compare(b.time, a.time), len(changes.FindAllString(b.text, 1))-len(changes.FindAllString(a.text, 1)))
	})
	n := min(1, len(fit))
	for n < len(fit) && (len(asked) == 0 || adds.MatchString(fit[n-1].text)) {
		n++
	}
	slices.Reverse(fit[:n])
	return slices.CompactFunc(fit[:n], func(a, b statement) bool { return a.text == b.text })
}

// share returns the share of the question's words that a statement has; it must have a number of
// the question.
func share(asked, said []string) float64 {
	n := 0
	for _, w := range asked {
		if slices.Contains(said, w) {
			n++
		} else if strings.ContainsAny(w, "0123456789") {
			return 0
		}
	}
	return float64(n) / float64(max(1, len(asked)))
}

// isAbout reports whether the statement and the question have the same subject. My sister's address
// does not answer a question about me, or about my dog.
func (s *statement) isAbout(about string, asked []string) bool {
	if about == "" || about == "I" {
		return about == "" || s.about == "I"
	}
	return slices.Contains(s.words, about) && (s.about == "I" || slices.Contains(asked, s.about))
}
