// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends/working/archive"
)

func (k *workingKit) read(ctx context.Context, arguments string) (string, error) {
	var args readArguments
	if err := decode(arguments, &args); err != nil {
		return "", k.unreadable(ReadWorkingMemory, err)
	}
	ids := refs(args.Archive, args.Archives, args.Ref)
	switch {
	case len(ids) == 0:
		return "", refusal(k.text.NoArchive)
	case len(ids) > 1:
		return "", refusal(fmt.Sprintf(k.text.OneArchive, len(ids)))
	}
	x, ctx, cancel, err := k.open(ctx)
	if err != nil {
		return "", err
	}
	defer cancel()
	page, err := x.Read(ctx, args.request(ids[0]))
	if err != nil {
		return "", k.slip(k.text.Read, err)
	}
	return k.showPage(page), nil
}

// request takes a byte for what is meant when there is one: models fill in the
// first line for good measure.
func (a *readArguments) request(id string) *archive.ReadRequest {
	r := &archive.ReadRequest{Ref: id, Line: int(a.Line), Lines: int(a.Lines), Byte: int(a.Byte), Bytes: int(a.Bytes)}
	switch {
	case r.Byte > 0:
		r.Line = 0
	case r.Line == 0 && r.Lines > 0:
		r.Line = 1
	}
	return r
}

// showPage puts the page between a line that says what it is, and one that says
// how to go on.
func (k *workingKit) showPage(p *archive.Page) string {
	var head, foot string
	switch {
	case p.Text == "":
		return fmt.Sprintf(k.text.EmptyArchive, p.Ref)
	case p.TotalBytes == 0:
		head = fmt.Sprintf(k.text.LongPage, p.Ref, p.FirstLine, p.LastLine, p.Byte, p.NextByte-1)
	default:
		head = fmt.Sprintf(k.text.Page, p.Ref, p.FirstLine, p.LastLine, p.TotalLines, p.Byte, p.NextByte-1, p.TotalBytes)
	}
	switch {
	case !p.More:
		foot = fmt.Sprintf(k.text.EndOfArchive, p.Ref)
	case p.NextLine > 0:
		foot = fmt.Sprintf(k.text.NextLine, p.NextLine)
	default:
		foot = fmt.Sprintf(k.text.NextByte, p.NextByte)
	}
	text := p.Text
	if text[len(text)-1] != '\n' {
		text += "\n"
	}
	return head + "\n" + text + foot
}
