// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// forwarding are words in the names of headers that only proxies, tunnels and services in front of
// a server add.
var forwarding = strings.Fields(`accel akamai amz amzn appengine arr azure caddy cdn cf cloudfront cluster connecting envoy fastly
	fly forwarded forwards frontend haproxy incap ingress loop netlify nginx ngrok original originating proxied proxy proxyuser real
	remote render squid sucuri surrogate tailscale traefik tunnel varnish vercel via`)

// fromHere reports whether a request comes from this machine. Its host name counts, too: a page of
// another site can give its own name a loopback address.
func fromHere(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() || wasForwarded(r) {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	to, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && to.Unmap().IsLoopback()
}

// wasForwarded reports whether a header of a request reveals something in between. HTTP/1.0 does
// so, too: nginx speaks it by default to the servers behind it.
func wasForwarded(r *http.Request) bool {
	for name := range r.Header {
		words := strings.Split(strings.ToLower(name), "-")
		last := words[len(words)-1]
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(forwarding, w) }) ||
			len(words) > 1 && slices.Contains([]string{"ip", "addr", "proto", "scheme", "port", "https"}, last) {
			return true
		}
	}
	return !r.ProtoAtLeast(1, 1)
}
