// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

// For tests of the formats alone.

func WriteReMe(m *backends.Memory, workspace string, in *time.Location) (string, error) {
	text, err := writeReMe(m, workspace, in)
	return string(text), err
}

func WriteOwn(m *backends.Memory, vector []byte) (string, error) {
	text, err := writeOwn(m, vector)
	return string(text), err
}

// ReadLine reads one line, in whichever format it is.
func ReadLine(text string, in *time.Location) (*backends.Memory, []byte, error) {
	r := newReader(strings.NewReader(text), in, 0)
	e, err := r.next(context.Background())
	if err != nil {
		return nil, nil, err
	}
	return &e.record.Memory, e.record.Vector, nil
}

// DrawnBar is a bar on whatever w is.
func DrawnBar(w io.Writer) Progress { return bar(w) }

const (
	SessionID = sessionID
	LeaseFor  = leaseFor
)
