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
	"github.com/einomem/einomem/toolkit/server/access"
)

func TestAKeyOpensWhatItNames(t *testing.T) {
	shop := &access.Key{Namespaces: []string{"shop"}, Users: []string{access.Any}, Workspaces: []string{"orders"}, Write: true}
	reader := &access.Key{Namespaces: []string{"shop"}, Users: []string{"ann"}, Agents: []string{"clerk"}}
	for _, c := range []struct {
		key   *access.Key
		scope backends.Scope
		mode  access.Mode
		ok    bool
	}{
		{shop, backends.Scope{Namespace: "shop", UserID: "ann"}, access.Write, true},
		{shop, backends.Scope{UserID: "ann"}, access.Write, true}, // the key's namespace
		{shop, backends.Scope{Namespace: "shop", UserID: "ann", Workspace: "orders"}, access.Write, true},
		{shop, backends.Scope{Namespace: "shop", UserID: "ann", Workspace: "other"}, access.Read, false},
		{shop, backends.Scope{Namespace: "other", UserID: "ann"}, access.Read, false},
		{shop, backends.Scope{Namespace: "shop", AgentID: "clerk"}, access.Read, false},
		{shop, backends.Scope{Namespace: "shop", AgentID: "clerk", Workspace: "orders"}, access.Read, false},
		{shop, backends.Scope{Namespace: "shop", UserID: "ann", AgentID: "clerk"}, access.Write, true}, // an attribute
		{shop, backends.Scope{Namespace: "shop", UserID: "ann", AgentID: "clerk"}, access.Each, false}, // whose blocks are reached
		{shop, backends.Scope{Namespace: "shop", UserID: "ann"}, access.Write | access.Whole, true},
		{shop, backends.Scope{Namespace: "shop", UserID: "ann"}, access.Program, false},
		{reader, backends.Scope{Namespace: "shop", UserID: "ann"}, access.Read, true},
		{reader, backends.Scope{Namespace: "shop", UserID: "ann"}, access.Write, false},
		{reader, backends.Scope{Namespace: "shop", UserID: "bob"}, access.Read, false},
		{reader, backends.Scope{Namespace: "shop", AgentID: "clerk"}, access.Read, true},
		{reader, backends.Scope{Namespace: "shop", AgentID: "clerk"}, access.Whole, false}, // others' users are in there
	} {
		got, err := c.key.Open(c.scope, c.mode)
		require.Equal(t, c.ok, err == nil, "%+v mode=%v: %v", c.scope, c.mode, err)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrDenied)
		} else {
			require.Equal(t, "shop", got.Namespace)
		}
	}
	_, err := shop.Open(backends.Scope{}, access.Read)
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = shop.OpenAll("shop", access.Read)
	require.ErrorIs(t, err, backends.ErrDenied)
}

// In a workspace a key is somebody, and changes nothing of it as a whole.
func TestAKeyActsAsItsPersonInAWorkspace(t *testing.T) {
	lab, any := []string{"lab"}, []string{access.Any}
	in := func(user, agent string) backends.Scope {
		return backends.Scope{Namespace: "default", Workspace: "lab", UserID: user, AgentID: agent}
	}
	for name, c := range map[string]struct {
		key   access.Key
		asked backends.Scope
		mode  access.Mode
		want  backends.Scope
		err   error
	}{
		"the only user":                {access.Key{Users: []string{"bob"}, Workspaces: lab}, in("", ""), access.Read, in("bob", ""), nil},
		"the user that it names":       {access.Key{As: "bob", Users: []string{"ann", "bob"}, Workspaces: lab}, in("", ""), access.Write, in("bob", ""), nil},
		"another one than it names":    {access.Key{As: "bob", Users: any, Workspaces: any}, in("ann", ""), access.Read, backends.Scope{}, backends.ErrDenied},
		"of several, unnamed":          {access.Key{Users: any, Workspaces: any}, in("", ""), access.Read, backends.Scope{}, backends.ErrNoScope},
		"of several, named":            {access.Key{Users: any, Workspaces: any}, in("ann", ""), access.Write, in("ann", ""), nil},
		"the only agent":               {access.Key{Agents: []string{"clerk"}, Workspaces: lab}, in("", ""), access.Write, in("", "clerk"), nil},
		"an agent, named":              {access.Key{Users: []string{"bob"}, Agents: any, Workspaces: lab}, in("", "clerk"), access.Write, in("", "clerk"), nil},
		"an agent that is closed":      {access.Key{Users: []string{"bob"}, Workspaces: lab}, in("", "clerk"), access.Read, backends.Scope{}, backends.ErrDenied},
		"nobody":                       {access.Key{Workspaces: any}, in("", ""), access.Read, backends.Scope{}, backends.ErrDenied},
		"all of it":                    {access.Key{Users: []string{"bob"}, Workspaces: lab}, in("", ""), access.Whole, backends.Scope{}, backends.ErrDenied},
		"all of it, by admin":          {access.Key{Workspaces: lab, Admin: true}, in("", ""), access.Write | access.Whole, in("", ""), nil},
		"all of another one, by admin": {access.Key{Workspaces: []string{"kitchen"}, Admin: true}, in("", ""), access.Whole, backends.Scope{}, backends.ErrDenied},
		"nobody, by admin":             {access.Key{Users: []string{"bob"}, Workspaces: lab, Admin: true}, in("", ""), access.Write, in("", ""), nil},
	} {
		c.key.Namespaces, c.key.Write = []string{"default"}, true
		got, err := c.key.Open(c.asked, c.mode)
		require.ErrorIs(t, err, c.err, name)
		if c.err == nil {
			require.NoError(t, err, name)
			require.Equal(t, c.want, got, name)
		}
	}
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
	k.As = "ann"
	s, err = k.Scope(nil)
	require.NoError(t, err)
	require.Equal(t, "ann", s.UserID)
	_, err = (&access.Key{Users: []string{access.Any}}).Scope(http.Header{})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

// A default person is for a connection that names nobody, and for it alone.
func TestADefaultPersonIsForConnectionsThatNameNobody(t *testing.T) {
	open, err := access.New(&access.Config{DefaultUser: "guest"})
	require.NoError(t, err)
	several, one := access.NewSecret(), access.NewSecret()
	keyed, err := access.New(&access.Config{Keys: []access.Key{
		{Name: "shop", Hash: access.Hash(several), Users: []string{"guest", "ann"}, DefaultUser: "guest"},
		{Name: "bob", Hash: access.Hash(one), Users: []string{"bob"}},
	}})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		guard   *access.Guard
		from    string
		headers [][2]string
		user    string // empty: refused
	}{
		"this machine":           {open, "127.0.0.1:1", nil, "guest"},
		"whoever names somebody": {open, "127.0.0.1:1", [][2]string{{access.HeaderUser, "ann"}}, "ann"},
		"another machine":        {open, "10.0.0.7:1", nil, ""},
		"a proxy here":           {open, "127.0.0.1:1", [][2]string{{"X-Forwarded-For", "10.0.0.7"}}, ""},
		"a key of several":       {keyed, "10.0.0.7:1", [][2]string{{"X-API-Key", several}}, "guest"},
		"a key that names":       {keyed, "10.0.0.7:1", [][2]string{{"X-API-Key", several}, {access.HeaderUser, "ann"}}, "ann"},
		"a key by a proxy":       {keyed, "10.0.0.7:1", [][2]string{{"X-API-Key", several}, {"Via", "1.1 x"}}, ""},
		"a key with its person":  {keyed, "10.0.0.7:1", [][2]string{{"X-API-Key", one}}, "bob"},
		"no key":                 {keyed, "127.0.0.1:1", nil, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		r.RemoteAddr = c.from
		for _, h := range c.headers {
			r.Header.Set(h[0], h[1])
		}
		k, err := c.guard.Key(r)
		var s backends.Scope
		if err == nil {
			s, err = k.Scope(r.Header)
		}
		require.Equal(t, c.user == "", err != nil, "%s: %v", name, err)
		if err == nil {
			require.Equal(t, backends.Scope{Namespace: backends.DefaultNamespace, UserID: c.user, AgentID: s.AgentID}, s, name)
		}
	}
}

// Without keys this machine alone is served: each trace of a proxy closes it.
func TestWithoutKeysOnlyThisMachineIsServed(t *testing.T) {
	guard, err := access.New(nil)
	require.NoError(t, err)
	ask := func(host, from string, headers ...string) error {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/", nil)
		r.RemoteAddr = from
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		_, err := guard.Key(r)
		return err
	}
	const here = "127.0.0.1:4711"
	browser := []string{"Accept", "*/*", "Accept-Encoding", "gzip", "Accept-Language", "zh", "User-Agent", "x", "Sec-Fetch-Site", "same-origin", "Sec-Ch-Ua-Platform", "x", "Origin",
		"http://localhost", "Referer", "x", "Content-Type", "application/json", "Dnt", "1", "Priority", "u=1", "Upgrade-Insecure-Requests", "1", "Cache-Control", "no-cache", "Cookie", "a=b"}
	clients := []string{"Authorization", "Token x", "X-Api-Key", "x", "Mem0-User-Id", "x", "X-Client-Version", "1", "Mcp-Session-Id", "x", "Mcp-Protocol-Version", "x", "Last-Event-Id", "1",
		"X-Memory-User", "ann", "X-Memory-Workspace", "w", "Prefer", "respond-async", "Traceparent", "x", "X-Request-Id", "x", "X-Requested-With", "x", "Connection", "keep-alive", "Idempotency-Key", "x"}
	for _, host := range []string{"localhost:8080", "127.0.0.1:8080", "127.8.8.8", "[::1]:8080"} {
		require.NoError(t, ask(host, here, append(browser, clients...)...), host)
		require.NoError(t, ask(host, "[::1]:4711"), host)
	}
	for _, host := range []string{"example.com", "10.0.0.1:8080", "localhost.example.com", "memory", "0.0.0.0:8080"} {
		require.ErrorIs(t, ask(host, here), backends.ErrDenied, host)
	}
	require.ErrorIs(t, ask("localhost", "10.0.0.7:4711"), backends.ErrDenied)
	for _, name := range strings.Fields(`Via Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Port X-Forwarded-Server X-Real-Ip X-Client-Ip Client-Ip
		True-Client-Ip CF-Connecting-IP CF-Ray CF-Visitor Cdn-Loop Fastly-Client-Ip Fly-Client-Ip X-Cluster-Client-Ip X-Original-Forwarded-For X-Original-Url X-Originating-Ip
		X-Remote-Addr X-Remote-Ip Remote-User X-Envoy-External-Address X-Amzn-Trace-Id X-Amz-Cf-Id X-Azure-ClientIp X-Arr-Log-Id X-Appengine-User-Ip X-Proxyuser-Ip Proxy-Connection
		Max-Forwards Front-End-Https X-Varnish X-Vercel-Id Tailscale-User-Login Ngrok-Trace-Id Surrogate-Capability X-Scheme-Proxy X-Url-Scheme Ali-Cdn-Real-Ip Wl-Proxy-Client-Ip Incap-Client-Ip`) {
		require.ErrorIs(t, ask("localhost", here, name, "x"), backends.ErrDenied, name)
	}
	old := httptest.NewRequest(http.MethodGet, "http://localhost/", nil) // as nginx speaks to what is behind it
	old.RemoteAddr, old.ProtoMajor, old.ProtoMinor = here, 1, 0
	_, err = guard.Key(old)
	require.ErrorIs(t, err, backends.ErrDenied)
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
		"as nobody":  {{Name: "a", Hash: access.Hash("x"), As: access.Any}},

		"a default that is nobody":      {{Name: "a", Hash: access.Hash("x"), Users: []string{access.Any}, DefaultUser: access.Any}},
		"a default that is closed":      {{Name: "a", Hash: access.Hash("x"), Users: []string{"ann", "bob"}, DefaultUser: "eve"}},
		"a default of an agent":         {{Name: "a", Hash: access.Hash("x"), Agents: []string{"eve"}, DefaultUser: "eve"}},
		"a default beside a person":     {{Name: "a", Hash: access.Hash("x"), Users: []string{access.Any}, As: "ann", DefaultUser: "bob"}},
		"a default beside one's own":    {{Name: "a", Hash: access.Hash("x"), Users: []string{"ann"}, DefaultUser: "ann"}},
		"a default that is no plain id": {{Name: "a", Hash: access.Hash("x"), Users: []string{access.Any}, DefaultUser: " ann"}},
	} {
		_, err := access.New(&access.Config{Keys: keys})
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	for _, c := range []access.Config{
		{DefaultUser: access.Any}, {DefaultUser: "a\x00"},
		{DefaultUser: "ann", Keys: []access.Key{{Name: "a", Hash: access.Hash("x"), Users: []string{access.Any}}}},
	} {
		_, err := access.New(&c)
		require.ErrorIs(t, err, backends.ErrInvalid, "%+v", c)
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

func ExampleKey_Open() {
	k := access.Key{Name: "bob's editor", Users: []string{"bob"}, Workspaces: []string{"team"}, Namespaces: []string{"default"}, Write: true}
	fmt.Println(k.Open(backends.Scope{Workspace: "team"}, access.Write))
	fmt.Println(k.Open(backends.Scope{UserID: "ann"}, access.Read))
	// Output:
	// {default team bob  } <nil>
	// {default  ann  } denied: this key does not open that
}
