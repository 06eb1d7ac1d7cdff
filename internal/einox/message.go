// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
)

// Text returns the text of a message, whatever form it has: its parts, else its content. It skips
// images and sounds, and the notes inside a user's message. For an assistant it returns the result
// of [Spoken].
func Text(m *schema.Message) string {
	return textOf(m, func(s string) string { return spokenBy(m, s) })
}

// Written returns the text of a message as Text does, thoughts and printed calls included.
func Written(m *schema.Message) string { return textOf(m, strings.Clone) }

func textOf(m *schema.Message, of func(string) string) string {
	m = own(m)
	var texts []string
	for _, p := range Parts(m) {
		if t := strings.TrimSpace(of(p.Text)); t != "" {
			texts = append(texts, t)
		}
	}
	if len(texts) == 0 { // content alone, or media with a text beside them
		return strings.TrimSpace(of(m.Content))
	}
	return strings.Join(texts, "\n")
}

// HasParts reports whether a message has parts, of whichever sort.
func HasParts(m *schema.Message) bool {
	return len(m.MultiContent)+len(m.UserInputMultiContent)+len(m.AssistantGenMultiContent) > 0
}

// SaysNothing reports whether m is only there to end a turn. Blank texts count as nothing, since
// providers refuse them. A tool's result always counts: its call needs one.
func SaysNothing(m *schema.Message) bool {
	return m == nil || strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 && m.ToolCallID == "" && !HasParts(m)
}

var retold = regexp.MustCompile("^For context:($| \\[[^\\]\n]*\\] (said: |called tool: |`[^`]*` tool returned result: ))")

// IsRetold reports whether m tells one agent about the work of another: Eino writes that in the
// role of the user (trap T16).
func IsRetold(m *schema.Message) bool {
	return m != nil && m.Role == schema.User && retold.MatchString(own(m).Content)
}

// summaryKey is the mark of the summarization middleware of newer Eino releases on the message that
// replaces others.
const summaryKey = "_eino_summarization_content_type"

// IsDigest reports whether m is a summary that Eino's own middleware made, in the role of the user.
func IsDigest(m *schema.Message) bool {
	if m == nil {
		return false
	}
	_, ok := m.Extra[summaryKey]
	return ok
}

// Stored returns the copy of a message that is stored. It applies text to all words, and keeps
// media as they are. It leaves out the provider's parts, which nobody said (Extra, token counts,
// asides); those need not be encodable.
func Stored(m *schema.Message, text func(string) string) *schema.Message {
	c := *own(m)
	c.Extra, c.ResponseMeta = nil, nil
	c.ReasoningContent = text(c.ReasoningContent)
	said := func(s string) string { return text(spokenBy(m, s)) }
	c.Content = said(c.Content)
	c.ToolCalls = slices.Clone(c.ToolCalls)
	for i := range c.ToolCalls {
		c.ToolCalls[i].Extra = nil
		c.ToolCalls[i].Function.Arguments = text(c.ToolCalls[i].Function.Arguments)
	}
	c.MultiContent = told(c.MultiContent, func(p *schema.ChatMessagePart) *string { return &p.Text }, said)
	c.UserInputMultiContent = told(c.UserInputMultiContent, func(p *schema.MessageInputPart) *string { return &p.Text }, said)
	c.AssistantGenMultiContent = told(c.AssistantGenMultiContent, func(p *schema.MessageOutputPart) *string { return &p.Text }, said)
	return &c
}

// told returns a copy of the parts of a message, to whose texts text has been applied.
func told[P any](parts []P, of func(*P) *string, text func(string) string) []P {
	parts = slices.Clone(parts)
	for i := range parts {
		said := of(&parts[i])
		*said = text(*said)
	}
	return parts
}

// Portable removes from loaded messages the values that Eino's checkpoints refuse. Those are gob,
// which fails on lists and objects as JSON makes them, and only once a run is interrupted (trap
// T5). Texts, numbers and truth values that clients put into the Extra of a message's parts stay.
// The messages are the caller's own, and are changed.
func Portable(messages []*schema.Message) {
	for _, m := range messages {
		if HasParts(m) {
			keepScalars(reflect.ValueOf([]any{m.UserInputMultiContent, m.AssistantGenMultiContent, m.MultiContent}))
		}
	}
}

// keepScalars leaves texts, numbers and truth values in every map of v, which are the
// Extra of parts and of their media.
func keepScalars(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			keepScalars(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			keepScalars(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			keepScalars(v.Field(i))
		}
	case reflect.Map:
		extra, _ := v.Interface().(map[string]any)
		maps.DeleteFunc(extra, func(_ string, value any) bool {
			switch value.(type) {
			case string, bool, float64, int, int64:
				return false
			}
			return true
		})
	}
}

// Part is one part of a message, of whichever of Eino's three sorts.
type Part struct {
	Text   string
	Media  string // such as "image" or "audio"; "" for a text
	URL    string // of the media, if they have an address
	Data   string // base64, if they are in the message
	MIME   string
	Name   string                // of a file
	Detail schema.ImageURLDetail // of an image
}

// Parts returns the parts of a message, or nil for a message of content alone.
func Parts(m *schema.Message) []Part {
	var out []Part
	for i := range m.UserInputMultiContent {
		p := &m.UserInputMultiContent[i]
		part := partOf(p.Type, p.Text)
		switch {
		case p.Image != nil:
			part.locate(&p.Image.MessagePartCommon)
			part.Detail = p.Image.Detail
		case p.Audio != nil:
			part.locate(&p.Audio.MessagePartCommon)
		case p.Video != nil:
			part.locate(&p.Video.MessagePartCommon)
		case p.File != nil:
			part.locate(&p.File.MessagePartCommon)
			part.Name = p.File.Name
		}
		out = append(out, part)
	}
	for i := range m.AssistantGenMultiContent {
		p := &m.AssistantGenMultiContent[i]
		part := partOf(p.Type, p.Text)
		switch {
		case p.Image != nil:
			part.locate(&p.Image.MessagePartCommon)
		case p.Audio != nil:
			part.locate(&p.Audio.MessagePartCommon)
		case p.Video != nil:
			part.locate(&p.Video.MessagePartCommon)
		}
		out = append(out, part)
	}
	for i := range m.MultiContent {
		p := &m.MultiContent[i]
		part := partOf(p.Type, p.Text)
		switch {
		case p.ImageURL != nil:
			part.URL, part.MIME, part.Detail = p.ImageURL.URL, p.ImageURL.MIMEType, p.ImageURL.Detail
		case p.AudioURL != nil:
			part.URL, part.MIME = p.AudioURL.URL, p.AudioURL.MIMEType
		case p.VideoURL != nil:
			part.URL, part.MIME = p.VideoURL.URL, p.VideoURL.MIMEType
		case p.FileURL != nil:
			part.URL, part.MIME, part.Name = p.FileURL.URL, p.FileURL.MIMEType, p.FileURL.Name
		}
		out = append(out, part)
	}
	return out
}

// Reference names the place of a medium: its address, or for data in the message their hash, which
// identifies the message again.
func (p *Part) Reference() string {
	if p.URL != "" && !strings.HasPrefix(p.URL, "data:") {
		return p.URL
	}
	sum := sha256.Sum256([]byte(p.URL + p.Data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func partOf(kind schema.ChatMessagePartType, text string) Part {
	if kind == schema.ChatMessagePartTypeText {
		kind = ""
	}
	return Part{Text: text, Media: strings.TrimSuffix(string(kind), "_url")}
}

func (p *Part) locate(c *schema.MessagePartCommon) {
	p.MIME = c.MIMEType
	if c.URL != nil {
		p.URL = *c.URL
	}
	if c.Base64Data != nil {
		p.Data = *c.Base64Data
	}
}

// The tokens of a message beside its texts.
const (
	messageTokens = 4   // role and separators
	mediaTokens   = 800 // an image, an audio or a file: the order of magnitude of a picture of 1024 by 1024
)

// Tokens counts a message as it goes to the provider: its texts by count, reasoning, tool calls and
// media. A nil message counts 0.
func Tokens(m *schema.Message, count func(string) int) int {
	if m == nil {
		return 0
	}
	n := messageTokens + count(m.Content) + count(m.ReasoningContent)
	for i := range m.ToolCalls {
		n += count(m.ToolCalls[i].Function.Name) + count(m.ToolCalls[i].Function.Arguments)
	}
	for _, p := range Parts(m) {
		n += count(p.Text)
		if p.Media != "" {
			n += mediaTokens
		}
	}
	return n
}

// Some models think aloud, and print calls of tools or results, in the text of their answers.
// Memory neither keeps nor shows such asides. The agent's program gets them as they are.

var (
	aside = regexp.MustCompile(`(?i)^(?:</?(?:seed:)?(?:think|thinking|thoughts?|reasoning)>|\[/?THINK\]|◁/?think▷|<\|(?:START|END)_THINKING\|>|</?tool_(?:calls?|response)>)`)
	// asideWords are pieces of the tags; every tag has one.
	asideWords = []string{"hink", "HINK", "hought", "HOUGHT", "easoning", "EASONING", "tool_call", "tool_response"}
	// tagNoun matches behind a tag only in a sentence about it; aboutTag may match there.
	tagNoun  = regexp.MustCompile(`^[ \t]*(?:(?:tags?|tokens?|blocks?|sections?|markers?)\b|标签|标记|标识)`)
	aboutTag = regexp.MustCompile(`^[ \t]*(?:(?:and|or|to|is|are|in)\b|和|与|或|及|之间|块|[,;:.…，、；。)）]|[ \t][a-z]|</)`)
)

// Asides returns the stretches of an assistant's text that are thoughts and printed calls, in
// order. A thought whose opening tag the chat template swallowed begins with the text. An open
// thought ends with the text. Tags in code, in quotation marks, and within a sentence about them
// are text.
func Asides(s string) (out [][2]int) {
	if !slices.ContainsFunc(asideWords, func(word string) bool { return strings.Contains(s, word) }) {
		return nil
	}
	start, open, spokenOf := 0, "", false
	var end int
	for i := 0; i < len(s); i = end {
		end = i + 1
		if s[i] == '`' && open == "" {
			end = i + codeLength(s[i:])
		}
		if s[i] != '<' && s[i] != '[' && s[i] != "◁"[0] {
			continue
		}
		tag := strings.ToLower(aside.FindString(s[i:min(len(s), i+24)])) // the longest has fewer bytes
		if tag == "" {
			continue
		}
		closes := strings.Contains(tag, "/") || strings.HasPrefix(tag, "<|end")
		end = i + len(tag)
		if mentioned(s, i, end) {
			spokenOf = spokenOf || open == "" && !closes
			continue
		}
		calls := strings.Contains(tag, "tool")
		switch {
		case open == "" && !closes:
			start, open = i, tag
		case open == "" && calls: // the tag closes no call
			out = append(out, [2]int{i, end})
		case open == "" && spokenOf: // it closes the tag that the text mentions
		case open == "":
			out = [][2]int{{0, end}}
		case closes && calls == strings.Contains(open, "tool"):
			out, open = append(out, [2]int{start, end}), ""
		}
	}
	if open != "" {
		out = append(out, [2]int{start, len(s)})
	}
	return out
}

// codeLength returns the length of the code that backticks begin, or their number if it stays open.
func codeLength(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	rest, fence := s[n:], s[:min(n, 3)]
	if n < 3 {
		rest, _, _ = strings.Cut(rest, "\n")
	}
	if at := strings.Index(rest, fence); at >= 0 {
		return n + at + len(fence)
	}
	return n
}

// mentioned reports whether a sentence is about a tag. Such a tag stands in quotation marks, or
// amid the words of a line, which go on behind it. An opening tag may also end the line.
func mentioned(s string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	after, _ := utf8.DecodeRuneInString(s[end:])
	if strings.ContainsRune("\"'`“‘「『", before) && strings.ContainsRune("\"'`”’」』", after) || tagNoun.MatchString(s[end:]) {
		return true
	}
	word, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s[:start], " \t"))
	apart := word != before || unicode.Is(unicode.Han, word) || strings.ContainsRune("，、", word)
	amid := apart && (unicode.IsLetter(word) || strings.ContainsRune(",，、", word))
	return amid && (aboutTag.MatchString(s[end:]) || s[start+1] != '/' && (end == len(s) || after == '\n'))
}

// Spoken returns the words of an assistant's text, freed of its asides.
func Spoken(s string) string {
	asides := Asides(s)
	for _, at := range slices.Backward(asides) {
		s = s[:at[0]] + s[at[1]:]
	}
	if len(asides) > 0 {
		s = strings.TrimSpace(s)
	}
	return s
}

// spokenBy returns the spoken words in a text of a message.
func spokenBy(m *schema.Message, s string) string {
	if m.Role != schema.Assistant {
		return s
	}
	return Spoken(s)
}
