// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package access says who may reach which memories over a network: keys and what each of
// them opens. Packages rest and mcp below toolkit ask it for every request.
//
//	secret := access.NewSecret() // give it to the client; keep its hash
//	guard, err := access.New(&access.Config{Keys: []access.Key{{
//		Name: "shop", Hash: access.Hash(secret), Users: []string{access.Any}, Write: true,
//	}}})
//
// A client sends its secret as "Authorization: Bearer …", "Authorization: Token …" or
// "X-API-Key: …". Without keys only this machine is served: requests from a loopback address,
// to a loopback name, that no proxy forwarded.
//
// What a key does not open is [backends.ErrDenied], before anything is looked up: whether it
// exists cannot be learnt.
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
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/einomem/einomem/backends"
)

// Any in a list of a [Key] is every id. It is no legal id itself.
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

// Key is a secret and what it opens.
type Key struct {
	Name string `json:"name" yaml:"name"` // in logs. Required, unique.
	Hash string `json:"hash" yaml:"hash"` // of the secret, by [Hash]. Required.

	// The ids that the key opens; [Any] is all of them, an empty list none. Namespaces
	// defaults to backends.DefaultNamespace.
	Namespaces []string `json:"namespaces,omitempty" yaml:"namespaces"`
	Users      []string `json:"users,omitempty" yaml:"users"`
	Agents     []string `json:"agents,omitempty" yaml:"agents"`
	Workspaces []string `json:"workspaces,omitempty" yaml:"workspaces"`

	Write bool `json:"write,omitempty" yaml:"write"` // It also changes what it opens.
}

// NewSecret returns a new secret of 160 random bits.
func NewSecret() string { return "mem_" + strings.ToLower(rand.Text() + rand.Text())[:32] }

// Hash returns the SHA-256 of a secret in hex: what a configuration keeps. Secrets are random,
// so that they need no slow hash.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Allow returns nil if the key opens the scope, for writing where write is set, else
// [backends.ErrDenied]. A scope that names nothing is refused, too.
func (k *Key) Allow(s backends.Scope, write bool) error {
	ok := opens(k.Namespaces, cmp.Or(s.Namespace, backends.DefaultNamespace)) && (k.Write || !write)
	switch {
	case s.UserID != "": // the agent is an attribute then
		ok = ok && opens(k.Users, s.UserID)
	case s.AgentID != "":
		ok = ok && opens(k.Agents, s.AgentID)
	case s.Workspace == "":
		ok = false
	}
	ok = ok && (s.Workspace == "" || opens(k.Workspaces, s.Workspace))
	if !ok {
		return fmt.Errorf("%w: this key does not open that", backends.ErrDenied)
	}
	return nil
}

// AllowAll returns nil if the key opens every user, agent and workspace of the namespace.
func (k *Key) AllowAll(namespace string, write bool) error {
	for _, ids := range [][]string{k.Users, k.Agents, k.Workspaces} {
		if !slices.Contains(ids, Any) {
			return fmt.Errorf("%w: this key does not open the whole namespace", backends.ErrDenied)
		}
	}
	return k.Allow(backends.Scope{Namespace: namespace, UserID: "any"}, write)
}

// Opens reports whether the key opens anything in a namespace.
func (k *Key) Opens(namespace string) bool {
	return opens(k.Namespaces, namespace) && len(k.Users)+len(k.Agents)+len(k.Workspaces) > 0
}

// Namespace returns the namespace that the key has where a request names none: its only one,
// else backends.DefaultNamespace.
func (k *Key) Namespace() string {
	return cmp.Or(only(k.Namespaces), backends.DefaultNamespace)
}

// Scope returns the scope of a connection: each part from its header, else the only id that
// the key opens. It returns [backends.ErrDenied] for what the key does not open, and
// [backends.ErrNoScope] where nothing names whose memory it is.
func (k *Key) Scope(h http.Header) (backends.Scope, error) {
	s, err := backends.Scope{
		Namespace: cmp.Or(h.Get(HeaderNamespace), only(k.Namespaces)),
		UserID:    cmp.Or(h.Get(HeaderUser), only(k.Users)),
		AgentID:   cmp.Or(h.Get(HeaderAgent), only(k.Agents)),
		Workspace: cmp.Or(h.Get(HeaderWorkspace), only(k.Workspaces)),
		SessionID: h.Get(HeaderSession),
	}.Normalize()
	if err != nil {
		return s, err
	}
	if s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		return s, fmt.Errorf("%w: name one by the header %s, %s or %s", backends.ErrNoScope, HeaderUser, HeaderWorkspace, HeaderAgent)
	}
	return s, k.Allow(s, false)
}

func opens(ids []string, id string) bool {
	return slices.Contains(ids, Any) || slices.Contains(ids, id)
}

// only returns the id of a list of one, else an empty text.
func only(ids []string) string {
	if len(ids) == 1 && ids[0] != Any {
		return ids[0]
	}
	return ""
}

// Config configures a [Guard]. It is copied by New.
type Config struct {
	Keys []Key // Optional. Without keys only this machine is served, and everything is open to it.

	// PerSecond is how many requests a key may make in a second, in the mean, and Burst how
	// many at once. Optional. PerSecond defaults to no limit, Burst to twice PerSecond.
	PerSecond float64
	Burst     int

	Log *slog.Logger // Optional. Gets every write: key, action, scope. Defaults to slog.Default().
}

// Guard finds the key of a request. It is safe for concurrent use.
type Guard struct {
	cfg    Config
	limits map[string]*rate.Limiter // by the names of keys
}

// New returns a guard, or backends.ErrInvalid for a key without a name or a hash, or two of
// one name.
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
	burst := cmp.Or(g.cfg.Burst, int(2*g.cfg.PerSecond)+1)
	if len(cfg.Keys) == 0 {
		g.limits[local.Name] = rate.NewLimiter(limit, burst)
	}
	g.cfg.Keys = slices.Clone(cfg.Keys)
	for i := range g.cfg.Keys {
		k := &g.cfg.Keys[i]
		if b, err := hex.DecodeString(k.Hash); k.Name == "" || g.limits[k.Name] != nil || err != nil || len(b) != sha256.Size {
			return nil, fmt.Errorf("%w: key %q needs a name of its own and the hash of its secret: 64 hex digits", backends.ErrInvalid, k.Name)
		}
		g.limits[k.Name] = rate.NewLimiter(limit, burst)
		k.Hash = strings.ToLower(k.Hash)
		if len(k.Namespaces) == 0 {
			k.Namespaces = []string{backends.DefaultNamespace}
		}
	}
	return g, nil
}

// Open reports whether the guard has no keys: programs on this machine may do everything.
func (g *Guard) Open() bool { return len(g.cfg.Keys) == 0 }

// local is the key of a guard without keys.
var local = Key{
	Name: "local", Namespaces: []string{Any}, Users: []string{Any}, Agents: []string{Any}, Workspaces: []string{Any}, Write: true,
}

// Key returns the key of a request. It returns [ErrNoKey] where there is none or it is
// unknown, backends.ErrDenied for a request from another machine where there are no keys, and
// [ErrRate]. The time that it takes does not depend on which key it is.
func (g *Guard) Key(r *http.Request) (*Key, error) {
	var found *Key
	hash := []byte(Hash(secretOf(r.Header)))
	for i := range g.cfg.Keys {
		if subtle.ConstantTimeCompare(hash, []byte(g.cfg.Keys[i].Hash)) == 1 {
			found = &g.cfg.Keys[i]
		}
	}
	switch {
	case g.Open() && !fromHere(r):
		return nil, fmt.Errorf("%w: without keys only this machine is served", backends.ErrDenied)
	case g.Open():
		found = &local
	case found == nil:
		return nil, fmt.Errorf("%w: send it as \"Authorization: Bearer …\"", ErrNoKey)
	}
	if !g.limits[found.Name].Allow() {
		return nil, fmt.Errorf("%w for key %q: wait a second", ErrRate, found.Name)
	}
	return found, nil
}

// Audit logs a write: who did what to whose memory, and whether it worked.
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

// fromHere reports whether a request was made on this machine. The name that it was sent to
// counts, too: a page of another site can give its own name a loopback address.
func fromHere(r *http.Request) bool {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	to, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && to.IsLoopback()
}
