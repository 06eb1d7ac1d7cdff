// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// ops is a store with a partition that holds one of everything, and the server's
// own view of it.
type ops struct {
	testing.TB
	*redisstore.Store
	ctx context.Context
	raw redis.UniversalClient
	p   backends.Partition
	now *time.Time
	tag string
}

// newOps fills the partition of a user on a prefix of its own.
func newOps(t testing.TB, open func(testing.TB) redis.UniversalClient) *ops {
	t.Helper()
	o := emptyOps(t, open)
	o.fill()
	return o
}

func emptyOps(t testing.TB, open func(testing.TB) redis.UniversalClient) *ops {
	t.Helper()
	now := backends.SystemClock()
	prefix := "t" + strings.ReplaceAll(backends.NewID(), "-", "")
	raw := open(t)
	return &ops{TB: t, ctx: t.Context(), raw: raw, now: &now, tag: "{" + prefix + ":n:user:ann}",
		Store: newStore(t, raw, &redisstore.Config{Prefix: prefix, Clock: func() time.Time { return now }}),
		p:     backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "ann"}}
}

func opsFact(id, text string) *store.Record {
	return &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text, Metadata: map[string]any{"n": 1.5}}, Vector: []byte{0, 1, 0xff, byte(len(id))}}
}

func spoke(id string, tokens int) store.Entry {
	return store.Entry{Message: backends.Message{ID: id, Turn: "t-" + id, Message: schema.UserMessage("I said " + id)}, Tokens: tokens}
}

func (o *ops) fill() {
	o.Helper()
	o.apply(&store.Batch{Key: "turn-1", Embedding: &store.Embedding{Model: "m", Dim: 4}, Mutations: []store.Mutation{
		store.Put(opsFact("a", "lives in Beijing")), store.Put(opsFact("b", "likes tea")), store.Put(opsFact("gone", "x"))}})
	o.apply(&store.Batch{Mutations: []store.Mutation{store.Supersede("a", opsFact("c", "lives in Shanghai")), store.Delete("gone")}})
	o.append("s", 0, spoke("m1", 3), spoke("m2", 4), spoke("m3", 5))
	o.append("ttl", time.Hour, spoke("m1", 1))
	o.append("", 0, spoke("m1", 1))
	for _, session := range []string{"s", "ttl", "no session"} {
		require.NoError(o, o.PutBlob(o.ctx, o.p, session, "blob", []byte("\x00bytes\xff")))
	}
	learnt := int64(2)
	o.apply(&store.Batch{Key: "turn-2", Mutations: []store.Mutation{store.Increment("b", "n", 1)}, Session: &store.SessionUpdate{Session: "s", Watermark: &learnt, Title: text("Moving <house> 🎈")}})
	all := int64(1)
	_, err := o.Update(o.ctx, o.p, &store.SessionUpdate{Session: "", Watermark: &all})
	require.NoError(o, err)
}

func (o *ops) apply(b *store.Batch) {
	o.Helper()
	_, err := o.Apply(o.ctx, o.p, b)
	require.NoError(o, err)
}

func (o *ops) append(session string, ttl time.Duration, entries ...store.Entry) {
	o.Helper()
	_, err := o.Append(o.ctx, o.p, session, &store.Append{Entries: entries, TTL: ttl, Scope: backends.Scope{UserID: "ann"}})
	require.NoError(o, err)
}

func (o *ops) do(args ...any) any {
	o.Helper()
	v, err := o.raw.Do(o.ctx, args...).Result()
	if err != redis.Nil { //nolint:errorlint // it is returned bare
		require.NoError(o, err, "%v", args)
	}
	return v
}

func (o *ops) verify() *redisstore.Report {
	o.Helper()
	r, err := o.Verify(o.ctx, o.p)
	require.NoError(o, err)
	require.Zero(o, r.Fixed)
	return r
}

func (o *ops) repair() *redisstore.Report {
	o.Helper()
	r, err := o.Repair(o.ctx, o.p)
	require.NoError(o, err)
	return r
}

// sound says that nothing is wrong.
func (o *ops) sound() {
	o.Helper()
	r := o.verify()
	require.Empty(o, r.Problems)
	require.Zero(o, r.Total)
	require.True(o, r.OK())
}

func spoken(r *redisstore.Report) string {
	var out []string
	for _, p := range r.Problems {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

// All operations, on every kind of server. One test, so that each is started once.
func TestOperations(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		for _, c := range []struct {
			name string
			test func(*testing.T, func(testing.TB) redis.UniversalClient)
		}{
			{"a sound partition", soundPartition},
			{"damages", everyDamage},
			{"export and import", exportAndImport},
			{"import from another server", importFromAnotherServer},
			{"export while it changes", exportOfAPartitionThatChanges},
			{"import into what holds something", importNeedsAnEmptyPartition},
			{"import while somebody writes", importWhileSomebodyWrites},
			{"import of much", importOfMuch},
			{"health of what is stored", healthOfWhatIsStored},
			{"health of drift", healthOfDrift},
			{"a busy partition", busyPartition},
			{"repair among writers", repairAmongWriters},
			{"registry", registry},
			{"erasure", erasure},
			{"blobs end with their session", blobsEnd},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, open) })
		}
	})
}

func soundPartition(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := newOps(t, open)
	r := o.verify()
	require.Empty(t, spoken(r))
	require.Equal(t, redisstore.Looked{Records: 3, Vectors: 3, Deleted: 1, Histories: 4, Keys: 4, Sessions: 3, Messages: 5, Blobs: 3}, r.Looked)
	require.Zero(t, r.Leftovers)
	before := o.dump()
	r = o.repair()
	require.Zero(t, r.Total)
	require.Equal(t, before, o.dump(), "a repair changes nothing")
}

// dump is every key of the store's prefix with its content.
func (o *ops) dump() map[string]any {
	o.Helper()
	out := map[string]any{}
	for _, key := range o.allKeys(strings.Split(o.tag[1:], ":")[0]) {
		var v any
		var err error
		switch o.raw.Type(o.ctx, key).Val() {
		case "hash":
			v, err = o.raw.HGetAll(o.ctx, key).Result()
		case "zset":
			v, err = o.raw.ZRangeWithScores(o.ctx, key, 0, -1).Result()
		case "set":
			var members []string
			members, err = o.raw.SMembers(o.ctx, key).Result()
			set := map[string]bool{}
			for _, m := range members {
				set[m] = true
			}
			v = set
		case "list":
			v, err = o.raw.LRange(o.ctx, key, 0, -1).Result()
		default:
			continue
		}
		require.NoError(o, err)
		out[key] = v
	}
	return out
}

// allKeys returns the keys on all masters that contain a text.
func (o *ops) allKeys(part string) []string {
	o.Helper()
	var out []string
	node := func(ctx context.Context, c redis.Cmdable) error {
		iter := c.Scan(ctx, 0, "*", 1000).Iterator()
		for iter.Next(ctx) {
			if strings.Contains(iter.Val(), part) {
				out = append(out, iter.Val())
			}
		}
		return iter.Err()
	}
	if c, ok := o.raw.(*redis.ClusterClient); ok {
		nodes := make(chan *redis.Client, 16)
		require.NoError(o, c.ForEachMaster(o.ctx, func(_ context.Context, n *redis.Client) error { nodes <- n; return nil }))
		close(nodes)
		for n := range nodes {
			require.NoError(o, node(o.ctx, n))
		}
		return out
	}
	require.NoError(o, node(o.ctx, o.raw))
	return out
}

// damage is one thing done to a key by hand.
type damage struct {
	name  string
	do    [][]any // commands; T: is the partition's tag
	says  string  // of what Verify finds
	left  string  // what Repair cannot do anything about; empty: it repairs all
	moves bool    // readers must hear of it: the version rises
}

var damages = []damage{
	{"a record without a place", [][]any{{"ZREM", "T:chg", "b"}}, `T:chg "b": the record is missing`, "", true},
	{"a record with another version", [][]any{{"ZADD", "T:chg", "1", "b"}}, `T:chg "b": the record has version 3, here 1`, "", true},
	{"a record that counts as deleted", [][]any{{"ZADD", "T:del", "3", "b"}}, `T:del "b": the record exists`, "", true},
	{"a record from the future", [][]any{{"HSET", "T:rec", "b", `99 {"id":"b","kind":"fact","text":"likes tea","scope":{}}`}}, `T:rec "b": the record has version 99, the partition 3`, "", true},
	{"a record that is gone", [][]any{{"HDEL", "T:rec", "b"}}, `T:chg "b": the record of version 3 does not exist`, "", true},
	{"all records gone", [][]any{{"DEL", "T:rec"}}, `T:vec "a": it is the vector of a record that does not exist`, "", true},
	{"a record that is no JSON", [][]any{{"HSET", "T:rec", "b", "3 {"}}, `T:rec "b": it cannot be read`, `T:rec "b": it cannot be read`, false},
	{"a record without a version", [][]any{{"HSET", "T:rec", "b", "{}"}}, `T:rec "b": it cannot be read`, `T:rec "b": it cannot be read`, false},
	{"a record under another id", [][]any{{"HSET", "T:rec", "b", `3 {"id":"x","kind":"fact","text":"","scope":{}}`}}, `it is the memory "x"`, `it is the memory "x"`, false},
	{"a vector too many", [][]any{{"HSET", "T:vec", "x", "123"}}, `T:vec "x": it is the vector of a record that does not exist`, "", false},
	{"a history lost", [][]any{{"HDEL", "T:his", "b"}}, `T:his "b": the record has no history`, "has no history", false},
	{"a history that is no JSON", [][]any{{"HSET", "T:his", "b", "1 {\n"}}, `T:his "b": it cannot be read after 0 events`, "cannot be read after 0 events", false},
	{"a history of another", [][]any{{"HSET", "T:his", "b", `1 {"memory_id":"x","type":"added","time":"2026-01-01T00:00:00Z","version":0}` + "\n"}}, `event 1 is of the memory "x"`, `event 1 is of`, false},
	{"a history from the future", [][]any{{"HSET", "T:his", "b", `50 {"memory_id":"b","type":"added","time":"2026-01-01T00:00:00Z","version":0}` + "\n"}}, `T:his "b": it has version 50, the partition 3`, "", true},
	{"a successor without its predecessor", [][]any{{"HSET", "T:rec", "b", `3 {"id":"b","kind":"fact","text":"","scope":{},"supersedes":"c"}`}}, `it is the successor of "c", which knows nothing of it`, "knows nothing", false},
	{"superseded by nothing", [][]any{{"HSET", "T:rec", "b", `3 {"id":"b","kind":"fact","text":"","scope":{},"superseded_by":"never"}`}}, `superseded by "never", which neither exists nor ever did`, "neither exists", false},
	{"no life", [][]any{{"HDEL", "T:meta", "inc"}}, "T:meta: the life of the partition (inc) is missing", "", false},
	{"no meta", [][]any{{"DEL", "T:meta"}}, "T:meta: the version (ver) is <nil>, but there are changes of version 3", "", true},
	{"no meta, no tips", [][]any{{"DEL", "T:meta", "T:tips"}}, "T:meta: the counter born is <nil>", "", true},
	{"a version that fell", [][]any{{"HSET", "T:meta", "ver", "1"}}, "T:meta: the version (ver) is 1, but", "", true},
	{"a version that is no number", [][]any{{"HSET", "T:meta", "ver", "x"}}, "T:meta: the version (ver) is x, but", "", true},
	{"no tips", [][]any{{"DEL", "T:tips"}}, "T:tips: it has 0 nonces for version 3", "", true},
	{"a tip that is none", [][]any{{"RPUSH", "T:tips", "?"}}, `T:tips: it has 4 nonces for version 3, the last is "?"`, "", true},
	{"a floor too high", [][]any{{"HSET", "T:meta", "floor", "9"}}, "T:meta: the version up to which tombstones were cut (floor) is 9", "", true},
	{"no embedding", [][]any{{"HSET", "T:meta", "space", "{"}}, "T:meta: the embedding (space) cannot be read", "the embedding (space) cannot be read", false},
	{"counters that fell", [][]any{{"HSET", "T:meta", "moved", "1", "born", "1"}}, "T:meta: the counter moved is 1", "", false},
	{"a key that stays", [][]any{{"ZREM", "T:idemt", "k:turn-1"}}, `T:idemt "k:turn-1": it is not said when`, "", false},
	{"a key to forget that is none", [][]any{{"ZADD", "T:idemt", "5", "k:x"}}, `T:idemt "k:x": the key does not exist`, "", false},
	{"a key that is no JSON", [][]any{{"HSET", "T:idem", "k:turn-1", "1 n {"}}, `T:idem "k:turn-1": it cannot be read`, "it cannot be read", false},
	{"a key from the future", [][]any{{"HSET", "T:idem", "k:turn-1", "70 nnn []"}}, `T:idem "k:turn-1": it has version 70`, "", true},
	{"a session in no list", [][]any{{"ZREM", "T:sess", "s"}}, `T:sess "s": the session is missing`, "", false},
	{"a session that no drop finds", [][]any{{"ZREM", "T:born", "s"}}, `T:born "s": the session is missing`, "", false},
	{"blobs in another's place", [][]any{{"ZADD", "T:born", "1", "no session"}}, `T:born "s": the session has the number 1 of "no session" too`, "", false},
	{"a session without a number", [][]any{{"ZADD", "T:born", "0", "s"}}, `T:born "s": the session has the number 0: no list has it`, "", false},
	{"a session with half a number", [][]any{{"ZADD", "T:born", "1.5", "s"}}, `T:born "s": the session has the number 1.5: no list has it`, "", false},
	{"a session not pending", [][]any{{"ZREM", "T:pend", "s"}}, `T:pend "s": the session is missing: its messages from 3 to 3`, "", false},
	{"a session pending since another time", [][]any{{"ZADD", "T:pend", "1", "s"}}, `T:pend "s": the session last changed at 4, here at 1`, "", false},
	{"a session pending for nothing", [][]any{{"ZADD", "T:pend", "1", ""}}, `T:pend: all messages of the session were learnt from`, "", false},
	{"a state that is no JSON", [][]any{{"HSET", "T:s:s:st", "state", "{"}}, `T:s:s:st "s": it cannot be read`, "it cannot be read", false},
	{"no state", [][]any{{"DEL", "T:s:s:st"}}, `T:s:s:st "s": the state is missing of a session with 3 messages`, "the state is missing", false},
	{"messages lost at the end", [][]any{{"LTRIM", "T:s:s:log", "0", "0"}}, `T:s:s:log "s": it has 1 messages, the session counts 3`, "", false},
	{"all messages lost", [][]any{{"DEL", "T:s:s:log"}}, `T:s:s:ids "s": there is no message with the id "m2"`, "", false},
	{"a message too many", [][]any{{"HSET", "T:s:s:st", "seq", "2"}}, `T:s:s:st "s": it counts 2 messages (seq), the log has 3`, "", false},
	{"learnt from what is not", [][]any{{"HSET", "T:s:s:st", "watermark", "7"}}, `it was learnt from up to message 7 (watermark) of 3`, "", false},
	{"tokens that do not add up", [][]any{{"HSET", "T:s:s:st", "tokens", "7"}}, `it says 7 tokens, its messages have 12`, "", false},
	{"an id that could come again", [][]any{{"SREM", "T:s:s:ids", "m2"}}, `T:s:s:ids "s": the id "m2" of message 2 is missing`, "", false},
	{"no ids", [][]any{{"DEL", "T:s:s:ids"}}, `T:s:s:ids "s": the id "m3" of message 3 is missing`, "", false},
	{"an id without a message", [][]any{{"SADD", "T:s:s:ids", "m9"}}, `T:s:s:ids "s": there is no message with the id "m9"`, "", false},
	{"a message twice", [][]any{{"RPUSH", "T:s:s:log", `{"id":"m1","turn":"t","time":"2026-01-01T00:00:00Z","role":"user","content":""}`}}, `message 4 has the id "m1" of an earlier one`, "it is doubled", false},
	{"a message that is no JSON", [][]any{{"LSET", "T:s:s:log", "1", "{"}}, `T:s:s:log "s": message 2 cannot be read`, "message 2 cannot be read", false},
	{"a session that never ends", [][]any{{"PERSIST", "T:s:ttl:log"}}, `T:s:ttl:log "ttl": it has no time to live`, "", false},
	{"a session that ends by itself", [][]any{{"PEXPIRE", "T:s:s:log", "1000000"}}, `T:s:s:log "s": it has a time to live`, "", false},
	{"two ends of a session", [][]any{{"HSET", "T:s:ttl:st", "exp", "1900000000000000"}}, `T:s:ttl:st "ttl": its end for scripts (exp) is "1900000000000000"`, "", false},
	{"an end for scripts only", [][]any{{"HSET", "T:s:s:st", "exp", "1900000000000000"}}, `its end for scripts (exp) is "1900000000000000", for readers (expires) ""`, "", false},
	{"blobs that no drop finds", [][]any{{"ZREM", "T:born", "no session"}, {"ZADD", "T:pend", "1", "no session"}}, `T:born "no session": the session has blobs, and is missing`, "", false},
	{"a key of somebody else", [][]any{{"DEL", "T:chg"}, {"SET", "T:chg", "x"}}, "T:chg: it is a string, not a zset", "it is a string", false},
	{"a session's key of somebody else", [][]any{{"DEL", "T:s:s:ids"}, {"SET", "T:s:s:ids", "x"}}, `T:s:s:* "s": it is a string, not a set`, "it is a string", false},
	{"not in the registry", [][]any{{"DEL", "P:partitions:n", "P:namespaces"}}, `P:partitions:n "user:ann": the partition exists, and is missing here`, "", false},
	{"not in the list of work", [][]any{{"DEL", "P:work"}}, `P:work "n:user:ann": the partition exists, and is missing here`, "", false},
}

func (o *ops) damage(commands [][]any) {
	o.Helper()
	for _, command := range commands {
		if command[0] == "DEL" { // of several slots
			for _, key := range command[1:] {
				o.do("DEL", o.named(key))
			}
			continue
		}
		args := []any{command[0], o.named(command[1])}
		o.do(append(args, command[2:]...)...)
	}
}

func (o *ops) named(key any) string {
	prefix, _, _ := strings.Cut(o.tag[1:], ":")
	return strings.Replace(strings.Replace(fmt.Sprint(key), "T:", o.tag+":", 1), "P:", prefix+":", 1)
}

func everyDamage(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			o := newOps(t, open)
			seen := o.follow("")
			o.damage(d.do)
			found := o.verify()
			require.Contains(t, spoken(found), o.named(d.says))
			require.NotZero(t, found.Total)
			version := o.raw.HGet(o.ctx, o.tag+":meta", "ver").Val()
			repaired := o.repair()
			if d.left != "" {
				require.False(t, repaired.OK())
				require.Contains(t, spoken(o.verify()), o.named(d.left))
				return
			}
			require.True(t, repaired.OK(), spoken(repaired))
			require.Contains(t, spoken(repaired), o.named(d.says))
			o.sound()
			if d.moves {
				require.NotEqual(t, version, o.raw.HGet(o.ctx, o.tag+":meta", "ver").Val(), "readers hear of it")
			} else {
				require.Equal(t, version, o.raw.HGet(o.ctx, o.tag+":meta", "ver").Val())
			}
			require.Equal(t, o.follow("").records, seen.catchUp(o).records, "a reader of before sees what a new one sees")
			o.works()
		})
	}
}

// reader is an index that follows the changes of the partition.
type reader struct {
	cursor  string
	records map[string]string
}

func (o *ops) follow(cursor string) *reader {
	o.Helper()
	r := &reader{cursor: cursor, records: map[string]string{}}
	return r.catchUp(o)
}

func (r *reader) catchUp(o *ops) *reader {
	o.Helper()
	for more := true; more; {
		c, err := o.Changes(o.ctx, o.p, r.cursor)
		require.NoError(o, err)
		if c.Reset {
			r.records = map[string]string{}
		}
		for _, rec := range c.Records {
			r.records[rec.ID] = fmt.Sprintf("%s@%d %x", rec.Text, rec.Version, rec.Vector)
		}
		for _, id := range c.Removed {
			delete(r.records, id)
		}
		r.cursor, more = c.Cursor, c.More
	}
	return r
}

// works says that the partition can be written and read.
func (o *ops) works() {
	o.Helper()
	o.apply(&store.Batch{Key: "after", Mutations: []store.Mutation{store.Put(opsFact("new", "after the repair"))}})
	before, err := o.Session(o.ctx, o.p, "s")
	if err == nil {
		o.append("s", 0, spoke("after", 1))
		after, err := o.Read(o.ctx, o.p, "s", store.Range{After: before.LastSeq})
		require.NoError(o, err)
		require.Len(o, after, 1)
		require.Equal(o, "after", after[0].ID)
	}
	require.Contains(o, o.follow("").records, "new")
	o.sound()
	_, err = o.List(o.ctx, store.SessionQuery{Partition: &o.p})
	require.NoError(o, err)
}
