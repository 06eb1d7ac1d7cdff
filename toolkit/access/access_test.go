// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
)

func TestAKeyOpensWhatItNames(t *testing.T) {
	shop := &access.Key{Namespaces: []string{"shop"}, Users: []string{access.Any}, Workspaces: []string{"orders"}, Write: true}
	reader := &access.Key{Namespaces: []string{"shop"}, Users: []string{"ann"}, Agents: []string{"clerk"}}
	for _, c := range []struct {
		key   *access.Key
		scope backends.Scope
		write bool
		ok    bool
	}{
		{shop, backends.Scope{Namespace: "shop", UserID: "ann"}, true, true},
		{shop, backends.Scope{Namespace: "shop", UserID: "ann", Workspace: "orders"}, true, true},
		{shop, backends.Scope{Namespace: "shop", UserID: "ann", Workspace: "other"}, false, false},
		{shop, backends.Scope{Namespace: "other", UserID: "ann"}, false, false},
		{shop, backends.Scope{UserID: "ann"}, false, false}, // the default namespace
		{shop, backends.Scope{Namespace: "shop", AgentID: "clerk"}, false, false},
		{shop, backends.Scope{Namespace: "shop", AgentID: "clerk", Workspace: "orders"}, false, false},
		{shop, backends.Scope{Namespace: "shop", UserID: "ann", AgentID: "clerk"}, true, true}, // an attribute
		{shop, backends.Scope{Namespace: "shop"}, false, false},
		{reader, backends.Scope{Namespace: "shop", UserID: "ann"}, false, true},
		{reader, backends.Scope{Namespace: "shop", UserID: "ann"}, true, false},
		{reader, backends.Scope{Namespace: "shop", UserID: "bob"}, false, false},
		{reader, backends.Scope{Namespace: "shop", AgentID: "clerk"}, false, true},
	} {
		err := c.key.Allow(c.scope, c.write)
		require.Equal(t, c.ok, err == nil, "%+v write=%v: %v", c.scope, c.write, err)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrDenied)
		}
	}
	require.ErrorIs(t, shop.AllowAll("shop", false), backends.ErrDenied)
}

func TestAConnectionNamesItsScopeWithinTheKey(t *testing.T) {
	k := &access.Key{Namespaces: []string{"shop"}, Users: []string{"ann", "bob"}, Workspaces: []string{"orders"}}
	h := http.Header{}
	h.Set(access.HeaderUser, "bob")
	s, err := k.Scope(h)
	require.NoError(t, err)
	require.Equal(t, backends.Scope{Namespace: "shop", UserID: "bob", Workspace: "orders"}, s)
	h.Set(access.HeaderUser, "eve")
	_, err = k.Scope(h)
	require.ErrorIs(t, err, backends.ErrDenied)
	_, err = (&access.Key{Users: []string{access.Any}}).Scope(http.Header{})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestAKeyIsFoundByItsSecret(t *testing.T) {
	secret := access.NewSecret()
	require.Len(t, secret, 36)
	guard, err := access.New(&access.Config{Keys: []access.Key{{Name: "other", Hash: access.Hash("x")}, {Name: "shop", Hash: access.Hash(secret)}}})
	require.NoError(t, err)
	for header, value := range map[string]string{"Authorization": "Bearer " + secret, "authorization": "token " + secret, "X-API-Key": secret} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(header, value)
		k, err := guard.Key(r)
		require.NoError(t, err, header)
		require.Equal(t, "shop", k.Name)
	}
	for _, value := range []string{"", "Bearer", "Bearer " + secret[1:], "Basic " + secret, "Bearer " + access.Hash(secret)} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("Authorization", value)
		_, err := guard.Key(r)
		require.ErrorIs(t, err, access.ErrNoKey, value)
	}
}

func TestKeysThatCannotBe(t *testing.T) {
	for name, keys := range map[string][]access.Key{
		"no name":    {{Hash: access.Hash("x")}},
		"no hash":    {{Name: "a"}},
		"the secret": {{Name: "a", Hash: "mem_secret"}},
		"twice":      {{Name: "a", Hash: access.Hash("x")}, {Name: "a", Hash: access.Hash("y")}},
	} {
		_, err := access.New(&access.Config{Keys: keys})
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
}

func TestWritesAreLoggedWithoutTexts(t *testing.T) {
	var log strings.Builder
	guard, err := access.New(&access.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	guard.Audit(t.Context(), &access.Key{Name: "shop"}, "POST /api/v1/add", backends.Scope{UserID: "ann"}, backends.ErrDenied)
	require.Contains(t, log.String(), "key=shop")
	require.Contains(t, log.String(), "ann")
	require.Contains(t, log.String(), "error=denied")
}

func ExampleKey_Allow() {
	k := access.Key{Name: "shop", Namespaces: []string{"default"}, Users: []string{"ann"}}
	fmt.Println(k.Allow(backends.Scope{UserID: "ann"}, false))
	fmt.Println(k.Allow(backends.Scope{UserID: "bob"}, false))
	// Output:
	// <nil>
	// denied: this key does not open that
}
