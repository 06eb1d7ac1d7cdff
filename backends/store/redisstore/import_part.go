// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// take checks a line and stages what it holds.
func (im *importer) take(l *line) error {
	if l.Message == nil && l.Blob == nil {
		if err := im.complete(); err != nil {
			return err
		}
	}
	switch {
	case l.Record != nil:
		return im.takeRecord(l.Record)
	case l.Deleted != nil:
		return im.takeDeleted(l.Deleted)
	case l.History != nil:
		return im.takeHistory(l.History.ID, l.History.Events)
	case l.Key != nil:
		return im.takeKey(l.Key)
	case l.Session != nil:
		return im.takeSession(l.Session)
	case l.Message != nil:
		return im.takeMessage(l.Message)
	case l.Blob != nil:
		return im.takeBlob(l.Blob)
	}
	return badLine("a second header")
}

func (im *importer) takeRecord(r *recordLine) error {
	var m backends.Memory
	if err := readLine(r.Memory, &m); err != nil {
		return err
	}
	if m.ID != r.ID {
		return badLine("the record %q is of the memory %q", r.ID, m.ID)
	}
	if err := (&store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: m})}}).Validate(); err != nil {
		return badLine("%w", err)
	}
	if err := im.version(r.Version, 1); err != nil {
		return err
	}
	im.out.Records++
	im.add(im.staged.records(), "HSET", r.ID, stampedText(r.Version, r.Memory))
	im.add(im.staged.changed(), "ZADD", r.Version, r.ID)
	if len(r.Vector) > 0 {
		im.vectors++
		im.add(im.staged.vectors(), "HSET", r.ID, r.Vector)
	}
	return im.takeEvents(r.ID, r.Events)
}

// version checks one of something.
func (im *importer) version(v, least int64) error {
	if v < least || v > im.header.Version {
		return badLine("version %d of a partition of version %d", v, im.header.Version)
	}
	return nil
}

func (im *importer) takeDeleted(d *deletedLine) error {
	if err := store.ValidateID("record", d.ID); err != nil {
		return badLine("%w", err)
	}
	if err := im.version(d.Version, 1); err != nil {
		return err
	}
	im.out.Deleted++
	im.add(im.staged.deleted(), "ZADD", d.Version, d.ID)
	return im.takeEvents(d.ID, d.Events)
}

func (im *importer) takeHistory(id string, events []eventLine) error {
	if err := store.ValidateID("record", id); err != nil {
		return badLine("%w", err)
	}
	if len(events) == 0 {
		return badLine("a history without events")
	}
	return im.takeEvents(id, events)
}

func (im *importer) takeEvents(id string, events []eventLine) error {
	for _, e := range events {
		var event backends.Event
		if err := readLine(e.Event, &event); err != nil {
			return err
		}
		if event.MemoryID != id {
			return badLine("an event of %q in the history of %q", event.MemoryID, id)
		}
		if err := im.version(e.Version, 0); err != nil {
			return err
		}
	}
	if len(events) > 0 {
		im.out.Histories++
		im.add(im.staged.history(), "HSET", id, historyText(events))
	}
	return nil
}

func (im *importer) takeKey(k *keyLine) error {
	name, ofKey := strings.CutPrefix(k.Field, "k:")
	nonce, ofNonce := strings.CutPrefix(k.Field, "n:")
	if !ofKey && !ofNonce || ofKey && store.ValidateID("idempotency key", name) != nil || ofNonce && !isNonce(nonce) || !isNonce(k.Nonce) {
		return badLine("the idempotency key %q with the nonce %q", k.Field, k.Nonce)
	}
	if err := im.version(k.Version, 0); err != nil {
		return err
	}
	var results []store.Result
	if err := readLine(k.Results, &results); err != nil {
		return err
	}
	im.out.Keys++
	im.add(im.staged.known(), "HSET", k.Field, stampedText(k.Version, []byte(k.Nonce))+" "+string(k.Results))
	im.add(im.staged.knownAt(), "ZADD", k.Until.UnixMicro(), k.Field)
	return nil
}

func (im *importer) takeSession(s *sessionLine) error {
	if err := im.checkSession(s); err != nil {
		return err
	}
	im.session, im.got, im.lastBorn, im.skip = s, 0, s.Born, false
	if s.State == nil {
		im.enterSession(s, "")
		return nil
	}
	left := ""
	if s.Exp != "" {
		ends, _ := strconv.ParseInt(s.Exp, 10, 64)
		now := micros(im.now())
		if im.skip = ends <= now; im.skip {
			return nil
		}
		left = strconv.FormatInt(max(1, (ends-now+999)/1000), 10)
	}
	im.out.Sessions++
	im.enterSession(s, left)
	im.add(im.staged.session(s.ID).state(), "HSET", s.fields()...)
	im.add(im.staged.sessions(), "ZADD", s.Moved, s.ID)
	if s.Messages > s.Watermark {
		im.pending++
		im.add(im.staged.pending(), "ZADD", s.Moved, s.ID)
	}
	return nil
}

func (im *importer) checkSession(s *sessionLine) error {
	if err := store.ValidateSession(s.ID); err != nil {
		return badLine("%w", err)
	}
	if s.Born <= im.lastBorn || s.Born > im.header.Born {
		return badLine("session %q has the number %d, after %d of %d", s.ID, s.Born, im.lastBorn, im.header.Born)
	}
	if s.State == nil {
		return nil
	}
	fields := map[string]string{}
	all := s.fields()
	for n := 0; n < len(all); n += 2 {
		name, _ := all[n].(string)
		switch v := all[n+1].(type) {
		case string:
			fields[name] = v
		case int64:
			fields[name] = strconv.FormatInt(v, 10)
		}
	}
	st, err := readSession(im.out.Partition, s.ID, fields)
	if err != nil {
		return badLine("%w", err)
	}
	if err := store.ValidateTitle(st.Title); err != nil {
		return badLine("session %q: %w", s.ID, err)
	}
	if s.Moved < 1 || s.Moved > im.header.Moved || s.Messages < 0 || s.Watermark < 0 || s.Watermark > s.Messages ||
		(s.Exp == "") != (s.Expires == "") || s.Exp != "" && abs(counter(s.Exp)-micros(st.Expires)) > 2 || counter(s.Updates) < 0 {
		return badLine("session %q cannot be", s.ID)
	}
	return nil
}

func abs(n int64) int64 { return max(n, -n) }

// complete makes sure that the session before has all its messages.
func (im *importer) complete() error {
	if s := im.session; s != nil && im.got != s.Messages {
		return badLine("session %q has %d messages of %d", s.ID, im.got, s.Messages)
	}
	im.session = nil
	return nil
}

func (im *importer) takeMessage(text json.RawMessage) error {
	if im.session == nil || im.got == im.session.Messages {
		return badLine("a message of no session")
	}
	var e store.Entry
	if err := readLine(text, &e); err != nil {
		return err
	}
	if err := (&store.Append{Entries: []store.Entry{e}}).Validate(); err != nil {
		return badLine("%w", err)
	}
	im.got++
	if !im.skip {
		im.out.Messages++
		im.message(im.session.ID, im.got, e.ID, text)
	}
	return nil
}

func (im *importer) takeBlob(b *blobLine) error {
	if im.session == nil || im.got != im.session.Messages {
		return badLine("a blob of no session")
	}
	if err := store.ValidateID("blob", b.Name); err != nil {
		return badLine("%w", err)
	}
	if im.skip {
		return nil
	}
	im.out.Blobs++
	im.ofSession().blobs++
	im.add(im.staged.session(im.session.ID).blobs(), "HSET", b.Name, b.Data)
	return nil
}

// readLine reads a part of a line.
func readLine(text json.RawMessage, v any) error {
	if len(text) == 0 {
		return badLine("a part is missing")
	}
	if err := decode("a part", string(text), v); err != nil {
		return badLine("%v", err) // of the file, not of the server
	}
	return nil
}
