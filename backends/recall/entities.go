// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

// entities is the index of what the memories name.
type entities struct{}

func newEntities() *entities { return &entities{} }

func (e *entities) add(slot int32, text string, a *analyzer) {}
func (e *entities) remove(slot int32)                        {}
func (e *entities) bytes() int64                             { return 0 }
