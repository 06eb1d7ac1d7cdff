// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package vault keeps the secrets of a person, such as a door code or a key of an API, beside the
// person's memory and out of it. Each is encrypted with a key of the program (AES-256-GCM). No
// note, index, log or learner sees one. An agent reads one by a tool, after somebody agreed:
//
//	v, err := vault.New(&vault.Config{Store: store, Keys: [][]byte{key}})
//	err = v.Put(ctx, scope, "door code", []byte("4711"))
//	tools, err := v.Tools(&backends.ToolSetup{Scope: mem.ResolveScope, Confirm: ask})
//
// Middleware keeps the tool's result out of the log and of learning, and the agent's words after it
// in the same turn, since they may repeat it. The model itself reads the secret.
//
// A secret is no kind of memory. Memories are ranked, embedded, listed and shown, and each backend
// would have to leave such a kind out; a blob is out of their sight.
//
// Secrets stand in the partition of the person: exports carry them encrypted, and Forget erases
// them. Their names are stored as they are. The ciphertext is bound to its person and name, so a
// copy elsewhere cannot be read. It tells the length of the secret.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// KeySize is the size of a vault's key, in bytes.
const KeySize = 32

const (
	maxName   = 128      // bytes
	maxSecret = 64 << 10 // bytes
)

const (
	session = "einomem/vault" // conversations have other ids
	folder  = "secret/"
)

// Config configures a vault. [New] copies it.
type Config struct {
	// Store keeps the secrets. Required.
	Store store.Blobs
	// Keys have [KeySize] random bytes each. The first encrypts, and all decrypt: put a new key
	// before the old one, and Put each secret again. Without its key a secret is lost. Required.
	Keys [][]byte
}

// Vault keeps secrets. It is safe for concurrent use.
type Vault struct {
	store store.Blobs
	keys  []cipher.AEAD
}

// New returns a vault, or ErrInvalid.
func New(cfg *Config) (*Vault, error) {
	if cfg == nil || cfg.Store == nil || len(cfg.Keys) == 0 {
		return nil, fmt.Errorf("vault: %w: Config.Store and Config.Keys are required", backends.ErrInvalid)
	}
	v := &Vault{store: cfg.Store}
	for i, key := range cfg.Keys {
		if len(key) != KeySize {
			return nil, fmt.Errorf("vault: %w: key %d has %d bytes: pass %d random bytes", backends.ErrInvalid, i+1, len(key), KeySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("vault: %w", err)
		}
		sealed, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("vault: %w", err)
		}
		v.keys = append(v.keys, sealed)
	}
	return v, nil
}

// partition returns where the secrets of a scope's person are, and checks the name of one.
func partition(s backends.Scope, name string) (backends.Partition, error) {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || name != strings.TrimSpace(name) {
		return backends.Partition{}, fmt.Errorf("vault: %w: a name has 1 to %d bytes of UTF-8, and neither control characters nor spaces at its ends", backends.ErrInvalid, maxName)
	}
	p, err := s.Speaker()
	if err != nil {
		err = fmt.Errorf("vault: %w", err)
	}
	return p, err
}

// bound is what a ciphertext belongs to.
func bound(p backends.Partition, name string) []byte { return []byte(p.String() + "\x00" + name) }

// Put keeps a secret of the scope's person under a name, instead of the one that is there. Errors:
// ErrNoScope; ErrInvalid for a name or a size that is not allowed; the store's.
func (v *Vault) Put(ctx context.Context, s backends.Scope, name string, secret []byte) error {
	p, err := partition(s, name)
	switch {
	case err != nil:
		return err
	case len(secret) == 0 || len(secret) > maxSecret:
		return fmt.Errorf("vault: %w: a secret has 1 to %d bytes, this one %d", backends.ErrInvalid, maxSecret, len(secret))
	}
	if err := v.store.PutBlob(ctx, p, session, folder+name, v.keys[0].Seal(nil, nil, secret, bound(p, name))); err != nil {
		return fmt.Errorf("vault: keeping %q: %w", name, err)
	}
	return nil
}

// Get returns a secret. Errors: ErrNoScope, ErrInvalid for the name, ErrNotFound, ErrUnavailable
// where none of the keys decrypts it or its bytes are damaged, the store's.
func (v *Vault) Get(ctx context.Context, s backends.Scope, name string) ([]byte, error) {
	p, err := partition(s, name)
	if err != nil {
		return nil, err
	}
	data, err := v.store.GetBlob(ctx, p, session, folder+name)
	if err != nil {
		return nil, fmt.Errorf("vault: reading %q: %w", name, err)
	}
	for _, key := range v.keys {
		if secret, err := key.Open(nil, nil, data, bound(p, name)); err == nil {
			return secret, nil
		}
	}
	return nil, fmt.Errorf("vault: %q: %w: no key of Config.Keys decrypts it, or it is damaged", name, backends.ErrUnavailable)
}

// Delete removes a secret. An unknown name is harmless.
func (v *Vault) Delete(ctx context.Context, s backends.Scope, name string) error {
	p, err := partition(s, name)
	if err == nil {
		err = v.store.PutBlob(ctx, p, session, folder+name, nil)
	}
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return fmt.Errorf("vault: deleting %q: %w", name, err)
	}
	return nil
}

// Names lists the names of the person's secrets, sorted by their bytes.
func (v *Vault) Names(ctx context.Context, s backends.Scope) (names []string, err error) {
	p, err := s.Speaker()
	if err != nil {
		return nil, fmt.Errorf("vault: %w", err)
	}
	for at := (store.Page{}); ; {
		page, err := v.store.ListBlobs(ctx, p, session, folder, at)
		if err != nil {
			return nil, fmt.Errorf("vault: listing: %w", err)
		}
		for _, b := range page.Blobs {
			names = append(names, strings.TrimPrefix(b.Name, folder))
		}
		if at.Cursor = page.Next; at.Cursor == "" {
			return names, nil
		}
	}
}
