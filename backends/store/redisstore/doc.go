// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package redisstore keeps memories and conversations in Redis: for many
// processes, on many machines, on one server, behind Sentinel, or on a Cluster.
//
// Give [New] a client of go-redis, or [Open] a URL:
//
//	s, err := redisstore.Open(ctx, "redis://localhost:6379/0", nil)
//	if err != nil {
//		return err // with everything that the server lacks
//	}
//	defer s.Close()
//
// It needs the core commands of Redis 6.2 or later, and runs on Valkey and on
// managed servers without modules. Scripts must be allowed: every write is one.
//
// # What a write survives
//
// A call that returned is in the server's memory; the rest is up to the server. The write
// survives a crash of the server if the append-only file is synced for every write
// ("appendfsync always"). With the usual "everysec" up to a second can be lost. It
// survives the loss of a master if a replica had it. Replication is asynchronous, so a
// failover can lose the newest writes, unless Config.Replicas makes each write wait for
// replicas. Even then consensus is missing: Redis may promote a replica that did not
// confirm. A reader that has seen writes which a failover lost starts over by itself (see
// "Versions" below).
//
// The server must keep all keys: with "allkeys-*" it evicts memories when it is full, and
// New warns. Use "noeviction" and a limit on memory: a full server then refuses whole
// writes with ErrUnavailable, and all data stays.
//
// A server may be killed while it writes a transaction to its file. It then cuts off only the
// last command, and carries out the rest at its second restart, with later writes
// (valkey-io/valkey#4342). Half a write and its repeat make the whole write, since the values
// that scripts write are independent of earlier ones. A write without a repeat may stay by
// half. A batch may have its histories without its records, or its records without the entry
// that makes a repeat replay. BGREWRITEAOF after a restart removes such a rest.
//
// The first list of all pending sessions after a restart or a failover looks at the
// partitions in the work queue. It logs damage, and mends the lists of their sessions.
//
// # Costs
//
// Searching costs the server one short script, and a load the transfer of the partition.
// A batch is one script, and the server waits for it. Keep batches to some thousand
// mutations (50,000 take seconds; a batch of more than about 100,000 is refused). A
// memory's history is written whole with each change of its text: count frequent changes
// in Metadata, by Increment. A page of ListBlobs reads the names of all blobs of the
// session, and leaves their data.
//
// # Maintenance
//
// A partition that lost a key, by an eviction or half a backup, must not pass for a smaller
// one. Calls that need the key return ErrUnavailable, name it, and say whether [Store.Reindex]
// rebuilds it. A listing of all partitions logs it and goes on. The key em:written shows the
// loss of all keys of a partition, as by the loss of a node of a Cluster. A session that is
// lost before its end reads as ended. A server that lost everything looks like a new one.
//
// [Store.Check] reports after a loss or a restore whether the lists and counters of a
// partition agree with its records and sessions. [Store.Reindex] rebuilds them. [Store.Drop]
// erases a partition, and returns the counts.
//
// # Permissions
//
// A user of its own needs these rules, where em is Config.Prefix, and +set +wait for
// Config.Replicas. New names the missing ones, before a script meets them in the middle
// of its work.
//
//	~em:* ~{em:*
//	+ping +info +multi +exec
//	+eval +evalsha +script|load
//	+exists +del +unlink +persist +pexpire +pttl
//	+hget +hmget +hgetall +hkeys +hstrlen +hset +hsetnx +hdel +hlen +hexists
//	+zadd +zrem +zcard +zcount +zscore +zrange +zrangebyscore +zrangebylex +zremrangebyscore
//	+scard +llen +lindex +lrange
//
// A Cluster needs +cluster and +command too, Deleted +hscan, Check and
// Reindex +scan +hscan +zscan.
//
// # Keys
//
// All keys of a partition share one hash tag, so that each script works on one
// slot of a Cluster. T is that tag: {em:<namespace>:<kind>:<id>}, where em is
// Config.Prefix and every byte of a part outside [A-Za-z0-9_.-] is written as
// %XX: no part can reach into another.
//
//	T:meta          HASH  inc: a random number for this epoch of the partition; ver: its
//	                      version; space: the embedding as JSON; floor: the version up to which
//	                      tombstones were cut; born: counts sessions; listed, waiting: since
//	                      when it is in em:partitions and em:work; records, sessions: a 1 for each
//	                      of T:rec to T:tip, and of T:pend to T:has, that there is, else a 0
//	T:rec           HASH  memory id → "<version> <memory as JSON>"
//	T:vec           HASH  memory id → its encoded vector
//	T:chg           ZSET  memory id by the version at which it last changed
//	T:del           ZSET  deleted id by version, the newest 10,000
//	T:his           HASH  memory id → lines of "<version> <event as JSON>"
//	T:idem          HASH  what makes a batch idempotent: k:<key> or n:<nonce> →
//	                      "<version> <nonce> <results as JSON>"
//	T:idemt         ZSET  the fields of T:idem by when they may be forgotten, in microseconds
//	T:tip           HASH  the nonces of the last 1,000 versions or some more: version / 32 →
//	                      "<version>=<nonce> " for each of these 32
//	T:lives         HASH  epochs of partitions that were dropped of late, each as "<nonce> <its end
//	                      in microseconds>": its own epoch under "", and the epochs of others
//	                      whose words it has under a hash of their names. It outlasts a Drop
//	T:wait          STRING that ends at once: with Config.Replicas, what replicas confirm
//	T:born          ZSET  session id by its number, in the order of creation
//	T:pend          ZSET  the same, of sessions with messages to learn from
//	T:has           HASH  session id → s for its T:s:<id>:st, or t if that ends; b for its blobs
//	T:s:<id>:st     HASH  a session: ver, seq, tokens, watermark, updated, expires, exp, upd, and
//	                      state: everything else as JSON. Its messages: number → JSON, and
//	                      i:<message id> → number. Numbers above seq are half-written messages
//	T:s:<id>:blobs  HASH  name → bytes
//
// Earlier builds had T:tips, a list of nonces, T:sess, T:s:<id>:log, a list of messages, and
// T:s:<id>:ids, a set of their ids. They are read as they are. The next write to the partition
// or the session moves them, and leaves out messages that half a write left there twice.
//
// Keys outside the partitions have slots of their own:
//
//	em:store            HASH  id: of the storage, chosen once; running: the run_id of the servers
//	                          whose partitions were looked at after their start
//	em:namespaces       ZSET  the namespaces
//	em:partitions:<ns>  ZSET  <kind>:<id> of the partitions of a namespace
//	em:written:<ns>     ZSET  <kind>:<id> of partitions that were written, until they are dropped
//	em:work             ZSET  <ns>:<kind>:<id> of partitions with messages to learn from
//
// To look at the memories of the user ann:
//
//	redis-cli HGETALL '{em:default:user:ann}:rec'
//	redis-cli HGETALL '{em:default:user:ann}:s:chat-1:st'
//
// # Versions
//
// The process plans a batch (package plan) on the state that it has read. One script
// commits it, and refuses if that state has changed meanwhile; the batch is then planned
// again. The script raises the partition's version and writes the version's nonce to
// T:tip. A cursor of Changes holds the version and a nonce that the reader has seen. If
// the server has lost the nonce, by a failover or after 1,000 batches, the reader gets a
// Reset and reads the partition anew.
//
// A call that failed for a transient reason (a failover, a slot that moves, a connection
// that broke) is repeated for up to Config.Retry. A repeat is harmless: appends know
// their message ids, batches their key or a nonce.
//
// A registry entry is written before the data that it points to, so listings find all data.
// It is written once more after, since another process may have dropped the partition in
// between. A process that removes an entry looks afterwards whether the partition is back.
// The next write to the partition a minute later makes a lost entry again. For em:work, the
// listing of pending sessions does so, too.
package redisstore
