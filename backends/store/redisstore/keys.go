// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/einomem/einomem/backends"
)

// keys names the keys of one partition. The package comment describes them and must
// change with them.
type keys struct{ tag string }

func (s *Store) keys(p backends.Partition) keys { return s.named(member(p)) }

// named returns the keys of the partition that the registry calls by a name.
func (s *Store) named(member string) keys {
	return keys{tag: "{" + s.config.Prefix + ":" + member + "}"}
}

func (k keys) meta() string    { return k.tag + ":meta" }
func (k keys) records() string { return k.tag + ":rec" }
func (k keys) vectors() string { return k.tag + ":vec" }
func (k keys) changed() string { return k.tag + ":chg" }
func (k keys) deleted() string { return k.tag + ":del" }
func (k keys) history() string { return k.tag + ":his" }
func (k keys) known() string   { return k.tag + ":idem" }
func (k keys) knownAt() string { return k.tag + ":idemt" }
func (k keys) nonces() string  { return k.tag + ":tip" }
func (k keys) tips() string    { return k.tag + ":tips" } // of earlier builds
func (k keys) pending() string { return k.tag + ":pend" }
func (k keys) born() string    { return k.tag + ":born" }
func (k keys) has() string     { return k.tag + ":has" }
func (k keys) lives() string   { return k.tag + ":lives" }
func (k keys) changes() string { return k.tag + ":sess" } // of earlier builds

// all names every key of the partition but its sessions' and T:lives, which may exist
// alone.
func (k keys) all() []string {
	return []string{k.meta(), k.records(), k.vectors(), k.changed(), k.deleted(), k.history(),
		k.known(), k.knownAt(), k.tips(), k.nonces(), k.pending(), k.born(), k.has()}
}

// sessionKeys names the keys of one session.
type sessionKeys struct{ stem string }

func (k keys) session(id string) sessionKeys { return sessionKeys{k.tag + ":s:" + escape(id)} }

func (k sessionKeys) state() string { return k.stem + ":st" }
func (k sessionKeys) log() string   { return k.stem + ":log" } // of earlier builds
func (k sessionKeys) ids() string   { return k.stem + ":ids" } // of earlier builds
func (k sessionKeys) blobs() string { return k.stem + ":blobs" }

func (k sessionKeys) all() []string { return []string{k.state(), k.log(), k.ids(), k.blobs()} }

// withSession names the keys for scripts that write to one session.
func (k keys) withSession(id string) []string {
	return append(append([]string{k.meta()}, k.session(id).all()...), k.pending(), k.born(), k.has(), k.lives())
}

// The keys of the registry.
func (s *Store) storeKey() string      { return s.config.Prefix + ":store" }
func (s *Store) namespacesKey() string { return s.config.Prefix + ":namespaces" }
func (s *Store) workKey() string       { return s.config.Prefix + ":work" }

// partitionsKey names the list of a namespace, which is escaped.
func (s *Store) partitionsKey(ns string) string { return s.config.Prefix + ":partitions:" + ns }

// writtenKey names the list of partitions that were written, see [Store.vanished].
func (s *Store) writtenKey(ns string) string { return s.config.Prefix + ":written:" + ns }

// member is the registry's name of a partition: <ns>:<kind>:<id>.
func member(p backends.Partition) string {
	return escape(p.Namespace) + ":" + local(p)
}

// local is the name of a partition in the list of one namespace: <kind>:<id>.
func local(p backends.Partition) string {
	return escape(string(p.Kind)) + ":" + escape(p.ID)
}

func parseMember(text string) (backends.Partition, error) {
	ns, rest, _ := strings.Cut(text, ":")
	name, err := url.PathUnescape(ns)
	if err != nil {
		return backends.Partition{}, fmt.Errorf("registry entry %q: %w: %w", text, backends.ErrUnavailable, err)
	}
	return parseLocal(name, rest)
}

func parseLocal(namespace, text string) (backends.Partition, error) {
	kind, id, _ := strings.Cut(text, ":")
	id, err := url.PathUnescape(id)
	p := backends.Partition{Namespace: namespace, Kind: backends.PartitionKind(kind), ID: id}
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return p, fmt.Errorf("registry entry %q: %w: not one of this store: %w", text, backends.ErrUnavailable, err)
	}
	return p, nil
}

// escape writes every byte outside [A-Za-z0-9_.-] as %XX.
func escape(part string) string {
	escaped := strings.ReplaceAll(url.QueryEscape(part), "+", "%20")
	return strings.ReplaceAll(escaped, "~", "%7E")
}
