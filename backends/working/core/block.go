// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// Owner says whose a block is: everybody who shares the owner shares the text.
type Owner string

// The owners of a block.
const (
	OwnerUser      Owner = "user"      // the scope's user, with every agent and in every session; the default
	OwnerAgent     Owner = "agent"     // the scope's agent, whoever it talks to: nothing about a user belongs there
	OwnerWorkspace Owner = "workspace" // the scope's workspace: all who work in it
	OwnerSession   Owner = "session"   // the scope's session, of its user, else of its agent
)

const (
	// DefaultLimit is the limit of a block that names none, in runes.
	DefaultLimit = 2000
	// MaxLimit is the largest limit of a block, in runes.
	MaxLimit = 100_000
	// MaxBlocks is how many blocks one configuration can have.
	MaxBlocks = 64
	// MaxName is the longest name of a block, in bytes.
	MaxName = 64

	maxDescription = 1000 // runes
)

// Block is the definition of one block. It is part of the configuration, and the
// agent cannot change it.
type Block struct {
	Name        string // Required. Letters a to z, digits and underscores, at most MaxName; unique.
	Description string // Optional. What belongs into the block, for the model; at most 1000 runes.
	Owner       Owner  // Optional. Defaults to OwnerUser.
	Limit       int    // Optional. The most runes that the text may have. Defaults to DefaultLimit; at most MaxLimit.
	Initial     string // Optional. The text of a block that nobody has written yet. Defaults to none.
	ReadOnly    bool   // Optional. The agent sees the block and cannot edit it; Set still can. Defaults to false.
}

// Value is a block and what it holds for one scope. It is the caller's own.
type Value struct {
	Block   Block
	Text    string
	Version int64     // what Set expects; 0: nobody has written the block, and Text is its Initial
	Updated time.Time // zero where Version is 0

	// Replayed says that the edit's idempotency key was known: nothing was done now.
	Replayed bool
}

// Size returns the length of the text, in runes.
func (v *Value) Size() int { return utf8.RuneCountInString(v.Text) }

// Room returns how many runes the block still takes; 0 where it is full.
func (v *Value) Room() int { return max(0, v.Block.Limit-v.Size()) }

// Shown returns the text as models are shown it: see the package comment.
func (v *Value) Shown() string { return show(v.Text).text }

// complete fills in the defaults and returns ErrInvalid for what cannot be.
func (b *Block) complete() error {
	if b.Owner == "" {
		b.Owner = OwnerUser
	}
	if b.Limit == 0 {
		b.Limit = DefaultLimit
	}
	b.Initial = breaks(b.Initial)
	var fault string
	switch {
	case b.Name == "" || len(b.Name) > MaxName || strings.ContainsFunc(b.Name, notOfName):
		fault = fmt.Sprintf("a name is 1 to %d letters a to z, digits and underscores", MaxName)
	case b.Owner != OwnerUser && b.Owner != OwnerAgent && b.Owner != OwnerWorkspace && b.Owner != OwnerSession:
		fault = fmt.Sprintf("owner %q: use user, agent, workspace or session", b.Owner)
	case b.Limit < 1 || b.Limit > MaxLimit:
		fault = fmt.Sprintf("limit %d: 1 to %d runes", b.Limit, MaxLimit)
	case !utf8.ValidString(b.Description) || utf8.RuneCountInString(b.Description) > maxDescription:
		fault = fmt.Sprintf("a description is UTF-8 of at most %d runes", maxDescription)
	case !utf8.ValidString(b.Initial):
		fault = "its initial text is not UTF-8"
	case utf8.RuneCountInString(b.Initial) > b.Limit:
		fault = fmt.Sprintf("its initial text has %d runes, its limit is %d", utf8.RuneCountInString(b.Initial), b.Limit)
	default:
		return nil
	}
	return fmt.Errorf("block %q: %w: %s", b.Name, backends.ErrInvalid, fault)
}

func notOfName(r rune) bool {
	return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
}
