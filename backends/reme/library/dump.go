// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// DumpRequest asks for a dump.
type DumpRequest struct {
	Scope  backends.Scope // Required. Names the workspace. Defaults to that of the context.
	Format Format         // Optional. Defaults to Einomem.
	// Vectors writes vectors, too, which saves a load from embedding again where the
	// model is the same. The Einomem format alone has them. Optional.
	Vectors bool
	// Past writes, in the format ReMe, also what was superseded, retracted or expired:
	// ReMe takes it for what holds now. The Einomem format always has it. Optional.
	Past bool
	// File is the name of the file in Config.Dir, for DumpFile. Optional. Defaults to
	// [FileName] of the workspace.
	File     string
	Progress Progress // Optional. Defaults to that of the Config.
}

// DumpResponse tells what was written.
type DumpResponse struct {
	Memories int
	LeftOut  int // those that hold no more, in the format ReMe without Past
}

// Dump writes the memories of a workspace as they are at one moment, in the order in
// which they were made, one a line. A workspace without memories has none. Core
// blocks, sessions and the log of tool calls are no part of it. ErrConflict: a load of
// the workspace is not finished.
func (l *Library) Dump(ctx context.Context, r *DumpRequest, w io.Writer) (*DumpResponse, error) {
	d, err := l.dump(ctx, r)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, d.failed(fmt.Errorf("%w: nothing to write to", backends.ErrInvalid))
	}
	if err := d.write(ctx, w); err != nil {
		return nil, d.failed(err)
	}
	return &DumpResponse{Memories: len(d.memories), LeftOut: d.leftOut}, nil
}

// dump is one dump under way.
type dump struct {
	*Library
	at       *place
	request  *DumpRequest
	memories []*backends.Memory // the ranker's
	leftOut  int
	header   *header
}

func (l *Library) dump(ctx context.Context, r *DumpRequest) (*dump, error) {
	if r == nil {
		r = &DumpRequest{}
	}
	at, err := l.place(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	d := &dump{Library: l, at: at, request: r}
	switch {
	case r.Format != Einomem && r.Format != ReMe:
		return nil, d.failed(fmt.Errorf("%w: format %q: use Einomem or ReMe", backends.ErrInvalid, r.Format))
	case r.Vectors && r.Format != Einomem:
		return nil, d.failed(fmt.Errorf("%w: ReMe's lines have no vectors: use the Einomem format", backends.ErrInvalid))
	}
	if err := d.look(ctx); err != nil {
		return nil, d.failed(err)
	}
	return d, nil
}

func (d *dump) failed(err error) error {
	return fmt.Errorf("library: dumping workspace %s: %w", d.at.partition.ID, err)
}

// look takes the memories to be written.
func (d *dump) look(ctx context.Context) error {
	all, err := d.snapshot(ctx, d.at.partition)
	if err != nil {
		return err
	}
	now := d.keeper.Now()
	d.memories = slices.DeleteFunc(all, func(m *backends.Memory) bool {
		return d.request.Format == ReMe && !d.request.Past && (!m.Active() || m.Expired(now))
	})
	d.leftOut = len(all) - len(d.memories)
	if d.request.Format != Einomem {
		return nil
	}
	d.header = &header{Version: dumpVersion, Workspace: d.at.partition.ID, Memories: len(d.memories)}
	if d.request.Vectors {
		d.header.Embedding, err = d.spaceOf(ctx, d.at.partition)
	}
	return err
}

// snapshot returns the memories of a workspace of one moment at which no load is
// half done. They belong to the ranker.
func (l *Library) snapshot(ctx context.Context, p backends.Partition) ([]*backends.Memory, error) {
	if err := l.settled(ctx, p); err != nil {
		return nil, err
	}
	all, err := l.keeper.All(ctx, p)
	if err != nil {
		return nil, err
	}
	return all, l.settled(ctx, p)
}

// spaceOf returns the space of a partition's vectors, nil if it has none.
func (l *Library) spaceOf(ctx context.Context, p backends.Partition) (*store.Embedding, error) {
	c, err := l.keeper.Store().Changes(ctx, p, "")
	if err != nil {
		return nil, err
	}
	return c.Embedding, nil
}

// dumpPage is how many memories are written between looks at the context, and how
// many vectors are read at once.
const dumpPage = 200

func (d *dump) write(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if d.header != nil {
		text, err := encode(d.header)
		if err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	tell, done := d.reporter(d.request.Progress), 0
	for page := range slices.Chunk(d.memories, dumpPage) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.writePage(ctx, out, page); err != nil {
			return err
		}
		done += len(page)
		tell(done, len(d.memories), StageWrite)
	}
	return out.Flush()
}

func (d *dump) writePage(ctx context.Context, w io.Writer, page []*backends.Memory) error {
	vectors := map[string][]byte{}
	if d.header != nil && d.header.Embedding != nil {
		var err error
		if vectors, err = d.vectorsOf(ctx, d.at.partition, page); err != nil {
			return err
		}
	}
	for _, m := range page {
		text, err := d.line(m, vectors[m.ID])
		if err != nil {
			return fmt.Errorf("memory %s: %w", m.ID, err)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func (d *dump) line(m *backends.Memory, vector []byte) ([]byte, error) {
	if d.request.Format == ReMe {
		return writeReMe(m, d.at.partition.ID, d.location)
	}
	return writeOwn(m, vector)
}

// vectorsOf returns the vectors of memories whose texts are as they were.
func (l *Library) vectorsOf(ctx context.Context, p backends.Partition, memories []*backends.Memory) (map[string][]byte, error) {
	ids, texts := make([]string, len(memories)), make(map[string]string, len(memories))
	for i, m := range memories {
		ids[i], texts[m.ID] = m.ID, recall.EmbedText(m)
	}
	records, err := l.keeper.Records(ctx, p, ids...)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(records))
	for i := range records {
		if r := &records[i]; len(r.Vector) > 0 && recall.EmbedText(&r.Memory) == texts[r.ID] {
			out[r.ID] = r.Vector
		}
	}
	return out, nil
}
