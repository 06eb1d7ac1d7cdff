// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// exportFormat is the version of the format that Export writes.
const exportFormat = 1

// line is one line of an export: one of its fields is set. They come in the order
// of the fields; the messages and blobs of a session follow it.
type line struct {
	Header  *headerLine     `json:"einomem,omitempty"`
	Record  *recordLine     `json:"record,omitempty"`
	Deleted *deletedLine    `json:"deleted,omitempty"`
	History *historyLine    `json:"history,omitempty"` // of what was deleted so long ago that no tombstone tells
	Key     *keyLine        `json:"key,omitempty"`
	Session *sessionLine    `json:"session,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
	Blob    *blobLine       `json:"blob,omitempty"`
	End     *ExportCount    `json:"end,omitempty"` // the last line: without it the file is cut off
}

type headerLine struct {
	Format    int                `json:"format"`
	Partition backends.Partition `json:"partition"`
	Version   int64              `json:"version"`
	Embedding *store.Embedding   `json:"embedding,omitempty"`
	Floor     int64              `json:"floor,omitempty"`
	Moved     int64              `json:"moved,omitempty"`
	Born      int64              `json:"born,omitempty"`
}

type recordLine struct {
	ID      string          `json:"id"`
	Version int64           `json:"version"`
	Memory  json.RawMessage `json:"memory"`
	Vector  []byte          `json:"vector,omitempty"` // base64
	Events  []eventLine     `json:"events,omitempty"`
}

// eventLine is one event of a history, without its version.
type eventLine struct {
	Version int64           `json:"version"`
	Event   json.RawMessage `json:"event"`
}

type deletedLine struct {
	ID      string      `json:"id"`
	Version int64       `json:"version"`
	Events  []eventLine `json:"events,omitempty"`
}

type historyLine struct {
	ID     string      `json:"id"`
	Events []eventLine `json:"events"`
}

type keyLine struct {
	Field   string          `json:"field"` // k:<key> or n:<nonce>
	Version int64           `json:"version"`
	Nonce   string          `json:"nonce"`
	Results json.RawMessage `json:"results"`
	Until   time.Time       `json:"until"` // when it may be forgotten
}

// sessionLine has no State if there are only blobs.
type sessionLine struct {
	ID        string          `json:"id"`
	Born      int64           `json:"born"`
	Moved     int64           `json:"moved,omitempty"`
	State     json.RawMessage `json:"state,omitempty"`
	Version   int64           `json:"version,omitempty"`
	Updates   string          `json:"updates,omitempty"`
	Nonce     string          `json:"nonce,omitempty"`
	Messages  int64           `json:"messages,omitempty"`
	Tokens    int64           `json:"tokens,omitempty"`
	Watermark int64           `json:"watermark,omitempty"`
	Updated   string          `json:"updated,omitempty"`
	Expires   string          `json:"expires,omitempty"`
	Exp       string          `json:"exp,omitempty"` // the same in microseconds since 1970
}

type blobLine struct {
	Name string `json:"name"`
	Data []byte `json:"data"` // base64
}

// fields are what T:s:<id>:st holds.
func (l *sessionLine) fields() []any {
	out := []any{"state", string(l.State), "ver", l.Version, "seq", l.Messages, "tokens", l.Tokens, "watermark", l.Watermark, "updated", l.Updated}
	for _, f := range [][2]string{{"upd", l.Updates}, {"nonce", l.Nonce}, {"expires", l.Expires}, {"exp", l.Exp}} {
		if f[1] != "" {
			out = append(out, f[0], f[1])
		}
	}
	return out
}

// stampedText is how T:rec and T:his hold a text.
func stampedText(version int64, text []byte) string { return fmt.Sprintf("%d %s", version, text) }

// historyText is an entry of T:his.
func historyText(events []eventLine) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(stampedText(e.Version, e.Event) + "\n")
	}
	return b.String()
}

// historyEvents splits an entry of T:his.
func historyEvents(text string) ([]eventLine, error) {
	if _, err := readEvents(text); err != nil {
		return nil, err
	}
	var out []eventLine
	for l := range strings.Lines(text) {
		version, event, err := unstamp("event", strings.TrimSuffix(l, "\n"))
		if err != nil {
			return nil, err
		}
		out = append(out, eventLine{version, json.RawMessage(event)})
	}
	return out, nil
}

// ExportCount counts what an export or an import had.
type ExportCount struct {
	Records   int `json:"records"`
	Deleted   int `json:"deleted"`   // tombstones
	Histories int `json:"histories"` // of memories, deleted or not
	Keys      int `json:"keys"`      // of idempotency, those of batches without a key included
	Sessions  int `json:"sessions"`
	Messages  int `json:"messages"`
	Blobs     int `json:"blobs"`
}

// Drop is what a Drop of the partition counts.
func (c ExportCount) Drop() store.DropCount {
	return store.DropCount{Records: c.Records + c.Deleted, Sessions: c.Sessions, Messages: c.Messages, Blobs: c.Blobs}
}

func (c *ExportCount) add(l *line) {
	switch {
	case l.Record != nil:
		c.Records++
		c.Histories += min(len(l.Record.Events), 1)
	case l.Deleted != nil:
		c.Deleted++
		c.Histories += min(len(l.Deleted.Events), 1)
	case l.History != nil:
		c.Histories++
	case l.Key != nil:
		c.Keys++
	case l.Session != nil && l.Session.State != nil:
		c.Sessions++
	case l.Message != nil:
		c.Messages++
	case l.Blob != nil:
		c.Blobs++
	}
}

// legalText returns an error for a text that JSON would change.
func legalText(key, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return fmt.Errorf("%s %q: %w: not as it was written: run Verify", key, text, backends.ErrUnavailable)
}
