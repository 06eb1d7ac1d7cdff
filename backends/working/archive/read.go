// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// Bounds of a page.
const (
	defaultLines = 200
	defaultBytes = 6000     // about 1500 tokens of English: small enough to survive compaction
	maxBytes     = 64 << 10 // also the bound of a page by lines
)

// logPage is how many entries of the log are read at a time.
const logPage = 100

// ReadRequest asks for a page of an archive, by line or by byte.
type ReadRequest struct {
	// Ref is the archive. Required.
	Ref string `json:"archive" jsonschema:"what a match or a message names, such as log-12, log-12-40 or a-…"`

	// Line is the first line of the page, and Lines is the most lines that it has. Only "\n"
	// ends a line.
	Line  int `json:"line,omitempty" jsonschema:"the first line, from 1 on"`
	Lines int `json:"lines,omitempty" jsonschema:"how many lines at most; 200 by default"`
	// Byte is the offset at which the page begins, from 0 on, if Line is 0. In the midst of a
	// character the page begins with that character. Lines does not count then. If Line, Byte
	// and Bytes are all 0, the page begins with line 1.
	Byte int `json:"byte,omitempty" jsonschema:"the first byte, in place of line"`
	// Bytes is the most bytes that the page has, also if it is one of lines. It always has at
	// least one character.
	Bytes int `json:"bytes,omitempty" jsonschema:"how many bytes at most, up to 65536; 6000 by default"`
}

// Page is a part of an archive's text. Consecutive pages make up the whole text, gapless.
type Page struct {
	Ref  string `json:"archive"`
	Text string `json:"text"` // with its line breaks

	FirstLine int `json:"first_line"`
	LastLine  int `json:"last_line"` // 0 in an empty archive; Text touches FirstLine to LastLine, from 1 on
	// NextLine is the line to continue with. It is 0 at the end of the archive. It is also 0 if
	// Text ends within a line that has more than Bytes: continue with NextByte.
	NextLine int `json:"next_line,omitempty"`
	// Text is the bytes from Byte on and before NextByte.
	Byte     int  `json:"byte"`
	NextByte int  `json:"next_byte"`
	More     bool `json:"more"` // something follows

	TotalLines int `json:"total_lines"`
	TotalBytes int `json:"total_bytes"` // size of the whole archive
}

// Read returns a page of the text of an archive. For one message with only text, that text is
// the archive's, byte by byte. Otherwise each message begins with a line that names its author,
// followed by its reasoning, text, media and tool calls.
//
// It returns ErrNotFound for an archive that this session lacks. It returns ErrInvalid for a
// malformed id, and for a line or byte outside the text; the error gives the bounds.
//
// Each page reads the whole archive: name a part of a long range of the log.
func (x *Archive) Read(ctx context.Context, req *ReadRequest) (*Page, error) {
	if req == nil {
		return nil, fmt.Errorf("reading an archive: %w: no request", backends.ErrInvalid)
	}
	var b strings.Builder
	err := x.documents(ctx, req.Ref, func(d *document) error {
		b.WriteString(d.text())
		return nil
	})
	if err != nil {
		return nil, err
	}
	page, err := pageOf(b.String(), *req)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w: %w", req.Ref, backends.ErrInvalid, err)
	}
	return page, nil
}

// pageOf cuts a page out of the text of an archive.
func pageOf(s string, req ReadRequest) (*Page, error) {
	switch {
	case req.Line < 0 || req.Lines < 0 || req.Byte < 0 || req.Bytes < 0:
		return nil, errors.New("lines count from 1, bytes from 0")
	case req.Line > 0 && req.Byte > 0:
		return nil, fmt.Errorf("begin at line %d or at byte %d, not at both", req.Line, req.Byte)
	case req.Byte == 0 && req.Bytes == 0:
		req.Line = max(req.Line, 1)
	}
	total := min(1+strings.Count(strings.TrimSuffix(s, "\n"), "\n"), len(s))
	start, end, what := text.RuneStart(s, req.Byte), len(s), fmt.Sprintf("byte %d", req.Byte)
	if req.Line > 0 {
		start, what = lineStart(s, req.Line-1), fmt.Sprintf("line %d", req.Line)
	}
	if start >= len(s) && start > 0 || start < 0 {
		return nil, fmt.Errorf("there is no %s: it has the lines 1 to %d and the bytes 0 to %d", what, total, len(s)-1)
	}
	if n := lineStart(s[start:], cmp.Or(req.Lines, defaultLines)); req.Line > 0 && n >= 0 {
		end = start + n
	}
	if most := min(cmp.Or(req.Bytes, defaultBytes), maxBytes); end-start > most {
		end = fitting(s, start, start+most, req.Line > 0)
	}
	p := &Page{Ref: req.Ref, Text: s[start:end], Byte: start, NextByte: end, More: end < len(s), TotalLines: total, TotalBytes: len(s)}
	p.FirstLine = 1 + strings.Count(s[:start], "\n")
	p.LastLine = p.FirstLine + strings.Count(p.Text, "\n")
	if p.Text == "" || strings.HasSuffix(p.Text, "\n") {
		if p.LastLine--; p.More {
			p.NextLine = p.LastLine + 1
		}
	}
	return p, nil
}

// fitting returns where a page from start to at most end should end. A page by lines ends behind
// its last whole line, if it has one; any other page ends behind a character, at least one.
func fitting(s string, start, end int, lines bool) int {
	if i := strings.LastIndexByte(s[start:end], '\n'); lines && i >= 0 {
		return start + i + 1
	}
	if at := text.RuneStart(s, end); at > start {
		return at
	}
	_, n := utf8.DecodeRuneInString(s[start:])
	return start + n
}

// lineStart returns the offset behind the first n lines, or -1.
func lineStart(s string, n int) int {
	at := 0
	for range n {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	return at
}

// document is one message of an archive.
type document struct {
	id    string // the id under which it is read
	label string // its place in the archive, for people
	when  time.Time
	alone bool // it is the only message of the archive
	einox.Marked
}

// documents calls f for each message of an archive until f fails. An empty archive is
// ErrNotFound.
func (x *Archive) documents(ctx context.Context, id string, f func(*document) error) error {
	r, err := parseRef(id)
	switch {
	case err != nil:
		return err
	case r.isLog():
		err = x.logged(ctx, r, f)
	default:
		var messages []einox.Marked
		messages, err = x.blob(ctx, r)
		for i, m := range messages {
			if err == nil {
				err = f(&document{id: id, label: "#" + strconv.Itoa(i), alone: len(messages) == 1, Marked: m})
			}
		}
	}
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("archive %s: %w", id, err)
	}
	return err
}

// logged calls f for the entries with content of a range of the log. It stops at the end of the
// log.
func (x *Archive) logged(ctx context.Context, r ref, f func(*document) error) error {
	found := false
	for after := r.from - 1; after < r.upto; after += logPage {
		end := min(r.upto, after+logPage)
		page, err := x.cfg.Sessions.Read(ctx, x.key.Partition, x.key.ID, store.Range{After: after, Upto: end, Limit: logPage})
		if err != nil {
			return fmt.Errorf("reading messages %d to %d of session %s: %w", after+1, end, x.key, err)
		}
		found = found || len(page) > 0 // entries that say nothing count as found, too
		for i := range page {
			if einox.SaysNothing(page[i].Message.Message) {
				continue
			}
			d := entry(&page[i])
			d.alone = r.from == r.upto
			if err := f(d); err != nil {
				return err
			}
		}
		if len(page) < int(end-after) { // sequence numbers have no gaps
			break
		}
	}
	if !found {
		return fmt.Errorf("%w: the log of this conversation has no messages there", backends.ErrNotFound)
	}
	return nil
}

// entry returns an entry of the log with the marks of its place.
func entry(e *store.Entry) *document {
	m := einox.Logged(e.Message.Message, e.Seq, e.Turn, e.ID)
	return &document{id: einox.LogRef(e.Seq, e.Seq), label: strconv.FormatInt(e.Seq, 10), when: e.Time, Marked: m}
}

// text returns the text of a message. A message read alone that has only content gives just that
// content. Otherwise it gives whole lines, and the first names the author.
func (d *document) text() string {
	if d.alone && d.ReasoningContent == "" && len(d.ToolCalls) == 0 && !einox.HasParts(d.Message) && d.Ref == "" {
		return d.Content
	}
	lines := []string{d.header()}
	if d.ReasoningContent != "" {
		lines = append(lines, "reasoning: "+d.ReasoningContent)
	}
	lines = append(lines, d.Content)
	for _, p := range einox.Parts(d.Message) {
		lines = append(lines, p.Text, mediaLine(&p))
	}
	for i := range d.ToolCalls {
		f := &d.ToolCalls[i].Function
		lines = append(lines, callPrefix+f.Name+"("+f.Arguments+")")
	}
	var b strings.Builder
	for _, l := range lines {
		if b.WriteString(l); l != "" && !strings.HasSuffix(l, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// callPrefix begins the line of a tool call.
const callPrefix = "call "

// header is like "[12] tool read_file 2026-11-21 10:00".
func (d *document) header() string {
	when, instead := "", ""
	if !d.when.IsZero() {
		when = d.when.UTC().Format("2006-01-02 15:04")
	}
	if d.Ref != "" {
		instead = "(in the place of " + d.Ref + ")"
	}
	return joined("["+d.label+"]", string(d.Role), d.ToolName, d.Name, when, instead)
}

// mediaLine is like "[image https://… image/png]"; "" for a text. Embedded data are shown by
// their size alone.
func mediaLine(p *einox.Part) string {
	if p.Media == "" {
		return ""
	}
	url, data := p.URL, ""
	if strings.HasPrefix(url, "data:") {
		url = fmt.Sprintf("%d bytes of data", len(url))
	}
	if p.Data != "" {
		data = fmt.Sprintf("%d bytes of base64", len(p.Data))
	}
	return "[" + joined(p.Media, url, data, p.MIME, p.Name) + "]"
}

// joined joins the non-empty words.
func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
