// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// hostileNames look like keys, like parts of them, like patterns, and like each other.
var hostileNames = []string{
	"a", "b", "A", "a:user:b", "a:user", "user:b", "user", ":", "::", "a:", ":a", "a%3Auser%3Ab", "a%3auser", "%", "%%", "%7D", "%7d", "%25", "%41", "%2", "a%00b",
	"}", "{", "{}", "}{", "{a}", "{a", "a}", "}:rec", "a}:rec", "a}:meta", "{em:a:user:b}", "{em:a:user:b}:rec", "em", "em:namespaces", "em:work", "em:partitions:a", "namespaces", "work",
	"partitions", "meta", "rec", "s", "s:", "s:a:st", "a:s:b:log", "sess", "?", "a?", "[a-z]", "[^a]", "\\", "\"", "'", "a b", "a/b", "/", "..", ".", "-", "_", "+", "(a", "[a", "-inf",
	"(1", "0", "1e5", "nil", "null", "é", "e\u0301", "用户", "🎈", "a\u200b", "a\u2028b", "\u202ea", "＊", "Ａ", "K", "select 0", "a;FLUSHALL", "${a}", "<a>", "a=b&c", "a,b", "a|b", "~", "`a`", "@a", "#a",
	strings.Repeat("x", backends.MaxScopePart), strings.Repeat("x", backends.MaxScopePart-1), strings.Repeat("}", backends.MaxScopePart), strings.Repeat("用", backends.MaxScopePart/3),
}

// illegalNames are refused before anything is sent; the empty one only where it is
// the name of no session.
var illegalNames = []string{"", " ", " a", "a ", "a\n", "a\nb", "a\r\nDEL x", "a*", "*", "a\x00b", "\x00", "\x7f", "\u0085", "\xff", "a\xc3", strings.Repeat("x", backends.MaxScopePart+1)}

// hostileIDs may be anything in UTF-8.
var hostileIDs = append([]string{"*", "a*", "\x00", "a\x00", "a\x00b", "\n", "a\nb", "a\r\nDEL x", " ", " a", "k:a", "n:a", "1 {}", "\x7f", strings.Repeat("y", store.MaxID)}, hostileNames...)

var kinds = []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace}

var special = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// percent escapes each byte outside [A-Za-z0-9_.-] as %XX, as the package comment says.
func percent(part string) string {
	return special.ReplaceAllStringFunc(part, func(c string) string { return "%" + strings.ReplaceAll(fmt.Sprintf("% X", c), " ", "%") })
}

// permit is which keys the commands of one call may name.
type permit struct {
	tag       string // every key of the partition begins with it; "*": anything is permitted
	session   string // its keys of sessions begin so
	namespace string
	local     string // how the list of the namespace names the partition
}

func permitFor(p backends.Partition, session string) permit {
	local := percent(string(p.Kind)) + ":" + percent(p.ID)
	tag := "{em:" + percent(p.Namespace) + ":" + local + "}:"
	return permit{tag, tag + "s:" + session, percent(p.Namespace), local}
}

// held is what a partition holds.
type held struct {
	records  map[string]bool            // false: deleted
	sessions map[string]map[string]bool // their messages
	blobs    map[[2]string]bool         // by session and name
}

// Random calls under hostile names do what they are to do, and touch no key outside
// their partition; also when the answer to every fifth command or so is lost, to those
// to the registry too.
func TestHostileNamesStayInTheirPartition(t *testing.T) {
	testkit.SlowUnderRace(t)
	for name, setup := range map[string]struct {
		names []string // of scopes and sessions; fewer meet more often
		cases int
		lossy bool
	}{
		"all answered":     {hostileNames, testkit.Several(1500, 12_000), false},
		"answers are lost": {hostileNames[:6], testkit.Several(500, 3_000), true},
	} {
		t.Run(name, func(t *testing.T) {
			server, ctx, rnd := testredis.Need(t).Start(t), t.Context(), rand.New(rand.NewPCG(1, 2))
			require := require.New(t)
			c := server.Client(t)
			var network testredis.Network
			behind := redis.NewClient(&redis.Options{Addr: server.Addr, Dialer: network.Dial, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 2 * time.Millisecond})
			t.Cleanup(func() { _ = behind.Close() })
			s := newStore(t, behind, &redisstore.Config{Retry: 10 * time.Second})

			now, commands := permit{tag: "*"}, 0
			check := func(c redis.Cmder) {
				var words []string
				for _, word := range c.Args() {
					words = append(words, fmt.Sprint(word))
				}
				name, last, keys := words[0], words[len(words)-1], words[1:min(2, len(words))]
				switch name {
				case "multi", "exec", "ping", "script", "hello", "client":
					return
				case "eval", "evalsha": // a script reaches no other key: the tests on clusters fail otherwise
					n, err := strconv.Atoi(words[2])
					require.NoError(err)
					keys = words[3 : 3+n]
				case "del", "unlink", "exists":
					keys = words[1:]
				}
				for _, key := range keys {
					ok := strings.HasPrefix(key, now.tag)
					switch {
					case now.tag == "*":
						ok = true
					case strings.HasPrefix(key, now.tag+"s:"):
						ok = strings.HasPrefix(key, now.session)
					case key == "em:namespaces":
						ok = name == "zadd" && last == now.namespace
					case key == "em:partitions:"+now.namespace, key == "em:written:"+now.namespace:
						ok = last == now.local
					case key == "em:work":
						ok = last == now.namespace+":"+now.local
					}
					require.True(ok, "%.300v, permitted were %.300q", c, now)
				}
			}
			behind.AddHook(testredis.Hook(func(cmds []redis.Cmder, send func() error) error {
				for _, c := range cmds {
					commands++
					check(c)
				}
				return send()
			}))

			model := map[backends.Partition]*held{}
			pick := func(from []string) string {
				if rnd.IntN(8) > 0 {
					return from[rnd.IntN(len(from))]
				}
				b := make([]byte, 1+rnd.IntN(6))
				for i := range b {
					b[i] = "ab:{}%7Ds"[rnd.IntN(9)]
				}
				return string(b)
			}
			var p backends.Partition
			var m *held
			var id, session string
			content := func(id string) string { return fmt.Sprintf("%s %q", p, id) }
			drop := func() {
				want := store.DropCount{Records: len(m.records), Sessions: len(m.sessions), Blobs: len(m.blobs)}
				for _, messages := range m.sessions {
					want.Messages += len(messages)
				}
				got, err := s.Drop(ctx, p)
				require.NoError(err)
				if !setup.lossy { // what was dropped before an answer was lost is not counted
					require.Equal(want, got, "%s", p)
				}
				delete(model, p)
			}
			present := func(r []store.Record, want ...string) {
				var got []string
				for i := range r {
					require.Equal(content(r[i].ID), r[i].Text)
					require.Equal(content(r[i].ID), string(r[i].Vector))
					got = append(got, r[i].ID)
				}
				require.ElementsMatch(slices.DeleteFunc(want, func(id string) bool { return !m.records[id] }), got)
			}
			onRecords := []func(){
				func() {
					r := &store.Record{Memory: backends.Memory{ID: id, Text: content(id)}, Vector: []byte(content(id))}
					_, err := s.Apply(ctx, p, &store.Batch{Key: pick(hostileNames) + fmt.Sprint(rnd.Uint64()), Mutations: []store.Mutation{store.Put(r)}})
					require.NoError(err)
					m.records[id] = true
				},
				func() {
					_, err := s.Apply(ctx, p, batch(store.Delete(id)))
					require.NoError(err)
					if m.records[id] {
						m.records[id] = false
					}
				},
				func() {
					got, err := s.Get(ctx, p, id)
					require.NoError(err)
					present(got, id)
				},
				func() {
					set, err := s.Changes(ctx, p, "")
					require.NoError(err)
					present(set.Records, slices.Collect(maps.Keys(m.records))...)
				},
				func() {
					events, err := s.History(ctx, p, id)
					require.NoError(err)
					_, met := m.records[id]
					require.Equal(met, len(events) > 0)
				},
			}
			onSession := []func(){
				func() {
					_, err := s.Append(ctx, p, session, messages(id))
					require.NoError(err)
					if m.sessions[session] == nil {
						m.sessions[session] = map[string]bool{}
					}
					m.sessions[session][id] = true
				},
				func() {
					entries, err := s.Read(ctx, p, session, store.Range{})
					require.NoError(err)
					require.Len(entries, len(m.sessions[session]))
					for _, e := range entries {
						require.True(m.sessions[session][e.ID])
					}
				},
				func() {
					_, err := s.Update(ctx, p, &store.SessionUpdate{Session: session, Summary: pointer(content(session))})
					if m.sessions[session] == nil {
						require.ErrorIs(err, backends.ErrNotFound)
					} else {
						require.NoError(err)
					}
				},
				func() {
					require.NoError(s.PutBlob(ctx, p, session, id, []byte(content(id))))
					m.blobs[[2]string{session, id}] = true
				},
				func() {
					data, err := s.GetBlob(ctx, p, session, id)
					if !m.blobs[[2]string{session, id}] {
						require.ErrorIs(err, backends.ErrNotFound)
						return
					}
					require.NoError(err)
					require.Equal(content(id), string(data))
				},
				func() {
					require.NoError(s.PutBlob(ctx, p, session, id, nil))
					delete(m.blobs, [2]string{session, id})
				},
				func() {
					prefix := string([]rune(id)[:rnd.IntN(2)])
					page, err := s.ListBlobs(ctx, p, session, prefix, store.Page{Limit: 1000})
					require.NoError(err)
					var want []store.BlobInfo
					for b := range m.blobs {
						if b[0] == session && strings.HasPrefix(b[1], prefix) {
							want = append(want, store.BlobInfo{Name: b[1], Size: int64(len(content(b[1])))})
						}
					}
					slices.SortFunc(want, func(a, b store.BlobInfo) int { return strings.Compare(a.Name, b.Name) })
					require.Equal(fmt.Sprint(want), fmt.Sprint(page.Blobs))
				},
				func() {
					require.NoError(s.Delete(ctx, p, session))
					delete(m.sessions, session)
					maps.DeleteFunc(m.blobs, func(b [2]string, _ bool) bool { return b[0] == session })
				},
			}
			onPartition := []func(){
				drop,
				func() {
					page, err := s.List(ctx, store.SessionQuery{Partition: &p, Page: store.Page{Limit: 1000}})
					require.NoError(err)
					require.Len(page.Sessions, len(m.sessions))
					for _, found := range page.Sessions {
						require.Contains(m.sessions, found.ID)
						require.Equal(p, found.Partition)
					}
				},
			}
			refused := func() {
				bad := illegalNames[1+rnd.IntN(len(illegalNames)-1)]
				for _, names := range [][3]string{{bad, "a", "a"}, {"a", bad, "a"}, {"a", "a", bad}, {"", "a", "a"}, {"a", "", "a"}} {
					q := backends.Partition{Namespace: names[0], Kind: backends.PartitionUser, ID: names[1]}
					_, appended := s.Append(ctx, q, names[2], messages("a"))
					_, updated := s.Update(ctx, q, &store.SessionUpdate{Session: names[2]})
					for _, err := range []error{appended, updated, s.Delete(ctx, q, names[2]), s.PutBlob(ctx, q, names[2], "a", []byte("a"))} {
						require.ErrorIs(err, backends.ErrInvalid)
					}
				}
			}
			listAll := func() {
				var got, want []backends.Partition
				for cursor, more := "", true; more; {
					page, err := s.Partitions(ctx, p.Namespace, store.Page{Limit: 7, Cursor: cursor})
					require.NoError(err)
					got, cursor, more = append(got, page.Partitions...), page.Next, page.Next != ""
				}
				for q, m := range model {
					if q.Namespace == p.Namespace && len(m.records)+len(m.sessions)+len(m.blobs) > 0 {
						want = append(want, q)
					}
				}
				require.ElementsMatch(want, got)
				_, err := s.List(ctx, store.SessionQuery{Pending: rnd.IntN(2) == 0, Page: store.Page{Limit: 10}})
				require.NoError(err)
			}

			for range setup.cases {
				if setup.lossy && rnd.IntN(3) == 0 {
					network.LoseReplies(1 + rnd.IntN(2))
				}
				p = backends.Partition{Namespace: pick(setup.names[:len(setup.names)/2]), Kind: kinds[rnd.IntN(3)], ID: pick(setup.names)}
				if m = model[p]; m == nil {
					m = &held{map[string]bool{}, map[string]map[string]bool{}, map[[2]string]bool{}}
					model[p] = m
				}
				if id, session = pick(hostileIDs), pick(setup.names); rnd.IntN(10) == 0 {
					session = ""
				}
				switch kind := rnd.IntN(100); {
				case kind < 4:
					now = permit{tag: "nothing"}
					refused()
				case kind < 40:
					now = permitFor(p, "-")
					onRecords[rnd.IntN(len(onRecords))]()
				case kind < 85:
					now = permitFor(p, percent(session)+":")
					onSession[rnd.IntN(len(onSession))]()
				case kind < 97:
					now = permitFor(p, "")
					onPartition[rnd.IntN(len(onPartition))]()
				default:
					now = permit{tag: "*"}
					listAll()
				}
			}
			network.LoseReplies(0)
			now = permit{tag: "*"}
			if !setup.lossy {
				require.Greater(commands, 5*setup.cases)
			} else {
				require.Greater(network.Cuts(), setup.cases/10)
			}
			some := 100
			for p, m = range model {
				if some--; some > 0 {
					drift, err := s.Check(ctx, p)
					require.NoError(err)
					require.Empty(drift)
				}
				drop()
			}
			for _, key := range c.Keys(ctx, "{*").Val() {
				require.True(strings.HasSuffix(key, ":lives"), "everything was dropped but %s", key)
			}
			t.Logf("%d cases, %d commands, %d answers lost", setup.cases, commands, network.Cuts())
		})
	}
}

// Two partitions share no key, nor do two sessions or prefixes; all keys of a partition
// are in one slot; and the registry's keys are of none.
func TestNoTwoShareAKey(t *testing.T) {
	c := clientOf(t, miniredis.RunT(t).Addr())
	s := newStore(t, c, nil)
	slot := func(key string) string { // what a Cluster chooses the slot of a key by
		_, rest, _ := strings.Cut(key, "{")
		tag, _, _ := strings.Cut(rest, "}")
		return tag
	}
	share := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
	}
	name := rapid.OneOf(rapid.SampledFrom(hostileNames), rapid.StringOfN(rapid.RuneFrom([]rune("ab:{}%7Ds.é")), 1, 6, -1))
	checkServer(t, func(t *rapid.T) {
		draw := func(label string) backends.Partition {
			return backends.Partition{Namespace: name.Draw(t, label+" namespace"), ID: name.Draw(t, label+" id"), Kind: rapid.SampledFrom(kinds).Draw(t, label+" kind")}
		}
		p, q := draw("one"), draw("other")
		if rapid.Bool().Draw(t, "the same") {
			q = p
		}
		session := rapid.OneOf(rapid.Just(""), name)
		x, y := session.Draw(t, "one session"), session.Draw(t, "other session")
		ofP, ofX, registry := s.KeysOf(p, x)
		ofQ, ofY, others := s.KeysOf(q, y)
		if p != q {
			require.False(t, share(append(ofP, ofX...), append(ofQ, ofY...)), "%v %v", p, q)
			require.NotEqual(t, redisstore.MemberOf(p), redisstore.MemberOf(q))
		}
		if p != q || x != y {
			require.False(t, share(ofX, ofY), "%v %q %v %q", p, x, q, y)
		}
		require.False(t, share(ofP, ofX))
		all := append(slices.Clone(ofP), ofX...)
		for _, key := range all {
			require.NotEmpty(t, slot(key))
			require.Equal(t, slot(all[0]), slot(key))
		}
		require.False(t, share(all, registry))
		if p.Namespace != q.Namespace {
			require.False(t, share(registry[1:2], others[1:2]))
		}
		back, err := redisstore.ParseMember(redisstore.MemberOf(p))
		require.NoError(t, err)
		require.Equal(t, p, back)
	})
}

// What a drop leaves ends by itself, names nobody else, and is written by a full server, too.
func TestWhatADropLeaves(t *testing.T) {
	server, clock := testredis.Need(t).Start(t), backends.SystemClock()
	client, ctx := server.Client(t), t.Context()
	s := newStore(t, client, &redisstore.Config{Clock: func() time.Time { return clock }})
	shared := backends.Partition{Namespace: "n", Kind: backends.PartitionWorkspace, ID: "w"}
	begin(t, s, shared)
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	for _, name := range []string{"ann", "bob"} {
		_, err := s.Drop(ctx, user(name))
		require.NoError(t, err)
		require.NoError(t, s.Fence(ctx, shared, user(name)))
		clock = clock.Add(store.KeepEpochs / 2)
	}
	for _, p := range []backends.Partition{ann, shared} {
		left := client.PTTL(ctx, keyOf(p, "lives")).Val()
		require.InDelta(t, store.KeepEpochs.Hours(), left.Hours(), 1, p)
	}
	lives := client.HGetAll(ctx, keyOf(shared, "lives")).Val()
	require.Len(t, lives, 2)
	require.NotRegexp(t, "ann|bob", lives)
	clock = clock.Add(time.Minute)
	_, err := s.Drop(ctx, user("eve"))
	require.NoError(t, err)
	require.NoError(t, s.Fence(ctx, shared, user("eve")))
	require.Len(t, client.HGetAll(ctx, keyOf(shared, "lives")).Val(), 2, "the epoch of ann has ended")
}
