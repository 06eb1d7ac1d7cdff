// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote puts memory that a team already runs behind [backends.Backend], so that the
// middleware works with it. It knows a mem0 server or the mem0 platform, a ReMe 0.2 server,
// redis/agent-memory-server, another einomem, and any Eino indexer and retriever.
//
//	backend, err := remote.NewMem0(&remote.Config{BaseURL: "http://localhost:8000", APIKey: key})
//	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend, Sessions: log})
//
// The log of turns stays with the program, in the store of the middleware's Sessions, such as
// sqlitestore.Open returns. The server learns from it in the background. Its answers are the
// memories, and they are never cached. Wrap a backend in [backends.Traced] to see its calls in
// traces.
//
//	                     mem0                     ReMe 0.2                   agent-memory-server      Vectors
//	learns               facts, at once; on the   personal memory; task      later, within a minute   no: what was said
//	                     platform later           memory is searched alone                            is stored as it is
//	Verbatim             yes                      ErrInvalid                 yes                      always
//	a repeated Add       is learnt from again     is learnt from again       replaces the same        replaces the same
//	                                                                         session                  documents
//	who learnt it        kept                     not kept                   not kept                 kept
//
// [NewEinomem] asks a server of package toolkit/server/rest, and does all that its backend does: it is a
// [backends.Manager], too. Use the other servers' own means to change and delete their memories.
//
// A server may drop the agent that learnt a memory: then filters leave out the condition
// agent_id. A search with AsOf or KnownAt is ErrInvalid. Words that wait for learning are ranked
// here. The order, and Score as far as it is between 0 and 1, are the server's.
//
// # Servers that learn later
//
// The mem0 platform and agent-memory-server take a turn and learn from it later. Then the response
// of Add is Queued, and the log keeps the turn as pending: searches find its words there. The log
// repeats the call until the server has learnt, with pauses that grow. A repeat asks the server how
// far it is. What agent-memory-server has had for ten minutes counts as learnt. A process that
// starts anew gives a queued turn to the platform again.
//
// An agent's note, Author [backends.AuthorAgent], goes to agent-memory-server and to the platform
// as a memory of its own, without the model. They store it a moment after the answer. A note that a
// mem0 server's model makes nothing of is stored as it is.
// ReMe has no way to store a text as it is, so such a note gets no item there.
//
// # Isolation
//
// The servers let each client read and change everything, and some have holes in their
// filters. So each call names its partition, and each row of an answer is compared with it,
// exactly. Rows of others are left out, and Config.OnError gets an error without their text.
//
// A partition has a name of its own on the server: user_id (for an agent's own data, agent_id) of
// mem0, workspace_id of ReMe, user_id of agent-memory-server, in the scope's namespace. In the
// namespace "default" the name is the user's id, if the id is plain: at most 64 lower-case ASCII
// letters, digits and the marks . _ @ + -, with a letter or digit first. Else it is "_einomem-" and
// a UUID that follows from namespace, kind and id: some servers and stores confuse names that
// differ in case or have a comma. Set Config.Name for existing data under other names.
//
// # Failure
//
// Config.Timeout and the context bound each call; a call for the server's model has ten times
// the Timeout. Safe requests are repeated, with growing, jittered waits and after their
// Retry-After. A request that makes a model learn is repeated only if the server refused it with
// status 429. Errors wrap
//
//   - ErrUnavailable: the server is out of reach, exceeds its time, or answers with something
//     else than it should: 5xx, HTML, JSON that is cut, more than 16 MiB, a redirect, which is
//     never followed; a flow of ReMe that failed, which the server keeps to itself.
//   - ErrUnavailable and ErrDenied: 401 and 403. The log keeps the turns until the key is right.
//   - ErrInvalid: 400, 413, 422, and requests beyond the server's abilities.
//   - ErrNotFound: another einomem does not know a memory, or its owner.
//
// Errors leave out the key and the words of users.
//
// A server that fails a search is left alone for a second, and ever longer, up to a minute. So it
// costs one reply its time, once. Meanwhile searches and additions fail at once, with the cause.
// Once a pause is over, one search asks the server again.
//
// A server that learnt while its answer got lost is asked to learn again. Another einomem then
// knows the request by its IdempotencyKey; agent-memory-server and vectors replace the stored
// data. The servers mem0 and ReMe lack such a key: they compare new lessons with known ones
// themselves, and may store them twice.
//
// # Vectors
//
// [NewVectors] stores each text as a document whose metadata has the partition, [PartitionKey],
// and the memory as JSON, [MemoryKey]: keep both fields, and filter by the first, as with
// eino-ext's Redis retriever:
//
//	Filter: func(p backends.Partition) []retriever.Option {
//		query := "@einomem_partition:{" + regexp.MustCompile(`[^0-9A-Za-z]`).ReplaceAllString(p.String(), `\$0`) + "}"
//		return []retriever.Option{retriever.WrapImplSpecificOptFn(func(o *redis.ImplOptions) { o.FilterQuery = query })}
//	}
//
// There the field is a tag of an index that is sensitive to case: else Ann's memories take the
// places of ann's. Its DocumentConverter has to set the score, 1 less the distance. The module
// redistest beside this package has the whole program, which runs on a real server.
//
// The ids of documents are UUIDs that follow from partition and text.
package remote
