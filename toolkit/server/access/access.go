// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package access says who may reach which memories over a network: keys and the scopes that they
// open. Packages rest and mcp ask it for every request.
//
//	secret := access.NewSecret() // give it to the client; keep its hash
//	guard, err := access.New(&access.Config{Keys: []access.Key{{
//		Name: "shop", Hash: access.Hash(secret), Users: []string{access.Any}, Write: true,
//	}}})
//
// A client sends its secret as "Authorization: Bearer …", "Authorization: Token …" or "X-API-Key:
// …". Without keys only this machine is served, and may do everything. That means requests from a
// loopback address, to a loopback name, free of headers that proxies add. A proxy or tunnel on this
// machine that adds none looks like a local program: configure keys there.
//
// # The person of a key
//
// A key names its person, by As or as the only one of its Users. In a workspace it acts as that
// person: it adds, and it changes that person's own memories. A key for several users names one of
// them with each request. A key with one agent and an empty list of users is that agent. A
// workspace as a whole, other people's records there, and sessions of everybody need Admin.
//
// Some clients name nobody, such as those of agent-memory-server. [Config.DefaultUser] and
// [Key.DefaultUser] are the person of such a connection. It names nobody else: a request with a user
// or an agent of its own is about that one.
//
// A scope that the key does not open is [backends.ErrDenied], before any look-up, so that its
// existence stays secret. [Key.Open] decides that for each door, and a [Door] hands out the memory
// behind it.
package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/einomem/einomem/backends"
)

// Any in a list of a [Key] means every id. It is illegal as an id.
const Any = "*"

// Headers by which a connection names its scope: see [Key.Scope].
const (
	HeaderNamespace = "X-Memory-Namespace"
	HeaderUser      = "X-Memory-User"
	HeaderAgent     = "X-Memory-Agent"
	HeaderWorkspace = "X-Memory-Workspace"
	HeaderSession   = "X-Memory-Session"
)

// The errors of [Guard.Key].
var (
	ErrNoKey = errors.New("no valid key") // 401
	ErrRate  = errors.New("too many requests")
)

// Key is a secret and the scopes that it opens.
type Key struct {
	Name string `json:"name" yaml:"name"` // in logs. Required, unique.
	Hash string `json:"hash" yaml:"hash"` // of the secret, by [Hash]. Required.

	// The ids that the key opens; [Any] means all of them, an empty list none. Namespaces defaults
	// to backends.DefaultNamespace.
	Namespaces []string `json:"namespaces,omitempty" yaml:"namespaces"`
	Users      []string `json:"users,omitempty" yaml:"users"`
	Agents     []string `json:"agents,omitempty" yaml:"agents"`
	Workspaces []string `json:"workspaces,omitempty" yaml:"workspaces"`

	// As is the user of the key. The key opens that user, too. Optional. Defaults to the only one
	// of Users.
	As string `json:"as,omitempty" yaml:"as"`
	// DefaultUser is the user of a connection that names nobody, for a key of several Users. A
	// connection through a proxy has none. Optional. It must be one of Users.
	DefaultUser string `json:"default_user,omitempty" yaml:"default_user"`
	Write       bool   `json:"write,omitempty" yaml:"write"` // It also changes what it opens.
	// Admin lets the key act as the program, in all that it opens: on a whole workspace, on records
	// of other people there, on dumps. Optional. Defaults to false.
	Admin bool `json:"admin,omitempty" yaml:"admin"`
}

// NewSecret returns a new secret of 160 random bits.
func NewSecret() string { return "mem_" + strings.ToLower(rand.Text() + rand.Text())[:32] }

// Hash returns the SHA-256 of a secret in hex, for a configuration. Secrets are random, so a fast
// hash is enough.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Config configures a [Guard]. [New] copies it.
type Config struct {
	Keys []Key // Optional. Without keys only this machine is served, and everything is open to it.
	// DefaultUser is the user of a connection that names nobody, where there are no Keys. Optional.
	// Without it such a connection has no memory.
	DefaultUser string

	// PerSecond is how many requests a key may make in a second, in the mean; at once it may
	// make twice as many, and one more. Optional. Unlimited by default.
	PerSecond float64

	Log *slog.Logger // Optional. Gets every write: key, action, scope. Defaults to slog.Default().
}

// Guard finds the key of a request. It is safe for concurrent use.
type Guard struct {
	cfg    Config
	local  Key                      // of every connection while there are no keys
	limits map[string]*rate.Limiter // by the names of keys
}

// New returns a guard. It returns backends.ErrInvalid if a key lacks a name or a hash, if two share
// a name, if As is an illegal user, or if a DefaultUser is illegal, closed, or of no use.
func New(cfg *Config) (*Guard, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	g := &Guard{cfg: *cfg, limits: map[string]*rate.Limiter{}}
	g.cfg.Log = cmp.Or(g.cfg.Log, slog.Default())
	limit := rate.Inf
	if g.cfg.PerSecond > 0 {
		limit = rate.Limit(g.cfg.PerSecond)
	}
	burst := int(2*g.cfg.PerSecond) + 1
	if g.local = local; len(cfg.Keys) == 0 {
		g.limits[local.Name] = rate.NewLimiter(limit, burst)
	}
	if g.local.DefaultUser = cfg.DefaultUser; cfg.DefaultUser != "" && len(cfg.Keys) > 0 {
		return nil, fmt.Errorf("%w: there are keys: give one of them a default user", backends.ErrInvalid)
	}
	if err := g.local.checkDefault(); err != nil {
		return nil, err
	}
	g.cfg.Keys = slices.Clone(cfg.Keys)
	for i := range g.cfg.Keys {
		k := &g.cfg.Keys[i]
		if b, err := hex.DecodeString(k.Hash); k.Name == "" || g.limits[k.Name] != nil || err != nil || len(b) != sha256.Size {
			return nil, fmt.Errorf("%w: key %q needs a name of its own and the hash of its secret: 64 hex digits", backends.ErrInvalid, k.Name)
		}
		if _, err := (backends.Scope{UserID: k.As}).Normalize(); err != nil {
			return nil, fmt.Errorf("key %q, as: %w", k.Name, err)
		}
		if err := k.checkDefault(); err != nil {
			return nil, err
		}
		g.limits[k.Name] = rate.NewLimiter(limit, burst)
		k.Hash = strings.ToLower(k.Hash)
		if len(k.Namespaces) == 0 {
			k.Namespaces = []string{backends.DefaultNamespace}
		}
		if k.As != "" && !opens(k.Users, k.As) {
			k.Users = append(slices.Clone(k.Users), k.As)
		}
	}
	return g, nil
}

// open reports whether the list of keys is empty: programs on this machine may do everything.
func (g *Guard) open() bool { return len(g.cfg.Keys) == 0 }

// local is the key of a guard with an empty list of keys.
var local = Key{
	Name: "local", Namespaces: []string{Any}, Users: []string{Any}, Agents: []string{Any}, Workspaces: []string{Any}, Write: true, Admin: true,
}

// Key returns the key of a request. It returns [ErrNoKey] for a missing or unknown key, and
// [ErrRate]. If the guard has no keys, a request from another machine is backends.ErrDenied. Its
// time is the same for every key.
func (g *Guard) Key(r *http.Request) (*Key, error) {
	var found *Key
	hash := []byte(Hash(secretOf(r.Header)))
	for i := range g.cfg.Keys {
		if subtle.ConstantTimeCompare(hash, []byte(g.cfg.Keys[i].Hash)) == 1 {
			found = &g.cfg.Keys[i]
		}
	}
	switch {
	case g.open() && !fromHere(r):
		return nil, fmt.Errorf("%w: without keys only this machine is served", backends.ErrDenied)
	case g.open():
		found = &g.local
	case found == nil:
		return nil, fmt.Errorf("%w: send it as \"Authorization: Bearer …\"", ErrNoKey)
	}
	if !g.limits[found.Name].Allow() {
		return nil, fmt.Errorf("%w for key %q: wait a second", ErrRate, found.Name)
	}
	if found.DefaultUser != "" && wasForwarded(r) {
		unnamed := *found
		unnamed.DefaultUser, found = "", &unnamed
	}
	return found, nil
}

// Audit logs a write: the key, the action, the scope, and whether it worked.
func (g *Guard) Audit(ctx context.Context, k *Key, action string, s backends.Scope, err error) {
	attrs := []slog.Attr{slog.String("key", k.Name), slog.String("action", action), slog.Any("scope", s)}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	g.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
}

func secretOf(h http.Header) string {
	if s := h.Get("X-API-Key"); s != "" {
		return s
	}
	scheme, secret, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") {
		return ""
	}
	return strings.TrimSpace(secret)
}
