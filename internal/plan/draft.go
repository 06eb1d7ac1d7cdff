// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"maps"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// planner plans one batch.
type planner struct {
	in     *Input
	drafts map[string]*draft
	order  []*draft // those that changed, in the order of their first changes
	out    Plan
}

// draft is a record in the course of a batch.
type draft struct {
	id     string
	old    int64         // its version before the batch; 0: there was none
	record *store.Record // as it is now; nil: there is none

	changed      bool
	sameVector   bool // as before the batch
	ownsRecord   bool // record is no longer that of Input.Record
	ownsMetadata bool // nor is its metadata, or that of the batch
}

// draft returns the record with the given id as the mutations so far left it.
func (p *planner) draft(id string) (*draft, error) {
	if d, ok := p.drafts[id]; ok {
		return d, nil
	}
	r, err := p.in.Record(id)
	if err != nil {
		return nil, err
	}
	d := &draft{id: id, record: r}
	if r != nil {
		d.old, d.sameVector = r.Version, true
	}
	p.drafts[id] = d
	p.out.Checks = append(p.out.Checks, Check{ID: id, Version: d.old})
	return d, nil
}

func (p *planner) change(d *draft) {
	if !d.changed {
		d.changed = true
		p.order = append(p.order, d)
	}
}

// write puts w, which the planner owns, in the place of the draft's record.
func (p *planner) write(d *draft, w *store.Record) {
	p.change(d)
	// Two empty ones may be a vector that was left out and one that is removed.
	d.sameVector = d.sameVector && len(w.Vector) > 0 && bytes.Equal(d.record.Vector, w.Vector)
	d.record, d.ownsRecord, d.ownsMetadata = w, true, false
}

// touch returns the draft's memory, which exists, to be changed now.
func (p *planner) touch(d *draft) *backends.Memory {
	p.change(d)
	if !d.ownsRecord {
		r := *d.record
		d.record, d.ownsRecord = &r, true
	}
	m := &d.record.Memory
	m.Version, m.Updated = p.in.Next, p.in.Now
	return m
}

// metadata returns the metadata of a memory that touch returned, to be changed.
func (d *draft) metadata() map[string]any {
	if !d.ownsMetadata {
		d.record.Metadata, d.ownsMetadata = maps.Clone(d.record.Metadata), true
	}
	if d.record.Metadata == nil {
		d.record.Metadata = map[string]any{}
	}
	return d.record.Metadata
}

// remove deletes the draft's record. The vector of what comes in its place is a
// new one.
func (p *planner) remove(d *draft) {
	p.change(d)
	d.record, d.sameVector = nil, false
}

// collect turns the drafts that changed into writes.
func (p *planner) collect() {
	for _, d := range p.order {
		if d.old != 0 || d.record != nil {
			p.out.Writes = append(p.out.Writes, Write{ID: d.id, Record: d.record, Old: d.old, SameVector: d.sameVector})
		}
	}
}
