// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package recall ranks the memories of one partition for a query. Give a [Ranker]
// a store, and search:
//
//	ranker, err := recall.New(ctx, &recall.Config{Records: db})
//	found, err := ranker.Search(ctx, partition, &backends.SearchRequest{Query: "Which tea does Ann like?"})
//
// That is lexical search, and needs no model. With an Embedder and the name of its
// model in the [Config], vectors join in. Whoever writes memories asks
// [Ranker.Embed] for their vectors and stores them with the records.
//
// # One partition in memory
//
// Memories belong to people, so a partition is small, some hundred to a hundred
// thousand memories, and exact search wins. A partition is read from the store as
// a whole when it is first asked for, once however many ask, and then follows the
// store: each search first asks for what changed ([store.Records] Changes) and so
// sees everything that was stored before it. Partitions leave memory, those used
// longest ago first, when all together take more than MaxBytes. The ranking
// depends on what is stored and on nothing else, so it is the same on every store.
//
// Memories of kind [backends.KindCore] are kept apart: no search and no look-up
// returns one, and none has a part in what others score. [Ranker.CoreBlocks] lists
// them.
//
// # How hits are found
//
//  1. What may not be returned leaves: superseded and retracted memories, expired
//     ones, those of other kinds, those that the filter turns away. They take no
//     place and set no scale. With AsOf those stay that held at that time: from
//     Valid (else Observed, else Created) on, until Invalidated.
//  2. Every memory that is left gets its lexical score and, where query and memory
//     have vectors, its cosine. Both are exact: there is no list of candidates
//     that one of them alone fills.
//  3. The parts are fused into one order ([Fusion]), multiplied by recency,
//     quality and role where that is configured, and cut to the best TopK, or to a
//     pool of max(4·TopK, 60) that a [Reranker] orders anew. Ties go to the newer
//     memory, then to the lower id.
//
// # The lexical part
//
// [IndexText] of a memory and the query are cut into words (UAX #29), folded in
// width (NFKC) and case, rid of the stop words of their language and stemmed;
// scripts without spaces, Chinese above all, and Hangul become characters and
// pairs of neighbours. The words of WhenToUse count twice. A memory D then scores,
// for each term t of the query Q,
//
//	idf(t) · f·(k1+1) / (f + k1·(1 - b + b·|D|/mean|D|))     f: how often t stands in D
//	idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))               n of N memories hold t
//
// which is BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework:
// BM25 and Beyond, 2009) with the idf of Lucene's BM25Similarity, which is never
// negative. N, n and the mean are of everything that the partition holds, also of
// what this search may not return, so that a filter does not change a score. A
// term that stands twice in the query counts twice. A term that no memory holds
// stands, at half its weight, for those that look like other forms of the word:
// "allergies" finds "allergic", which the stemmer keeps apart.
//
// # What Score means
//
// The order is by values that are relative to the best hit of the query. Score is
// absolute, so that a Threshold means the same for every query:
//
//	Parts.Lexical = score / Σ idf(t)·(k1+1)     the share of what the query could attain
//	Parts.Vector  = max(0, cosine)
//	Score         = (wl·Lexical + wv·Vector) / (wl + wv)
//
// The sum runs over all terms of the query, those that no memory holds included:
// it is what a memory would approach in which every term stood without end. A
// memory of mean length that holds every term once scores 1/(k1+1), 0.45 with the
// default. Where memory or query have no vector, Score is Lexical alone. Recency,
// quality, role and a reranker move hits and leave their Score as it is.
//
// # Vectors
//
// Vectors are brought to length 1 and stored as float32 or, at a quarter of the
// size, as int8 with one scale a vector; in memory they are float32 in long
// stretches, scanned with SIMD. The name of the model and the dimension are kept
// with the partition. Vectors of another model are never compared: the search
// fails with ErrDimension until [Ranker.Reembed] was called. When the embedder
// fails, the search answers from the lexical part and says so in Degraded.
//
// # Large partitions
//
// The vectors of 100,000 memories take hundreds of megabytes. Where the store has
// the ability [store.Near] (redisstore has it on Redis 8), a partition of at least
// Config.Large memories is read without its vectors. Words, filters, expiry, what was
// superseded: all of that stays in process, as everywhere. For the vectors the store
// is asked for the nearest neighbours, and these together with the best by words are
// scored by the vectors that are stored with them, exactly. So parts, Score and
// Threshold mean what they mean for every partition.
//
// How near the neighbours are tells how near all others can be at most, and so
// which of them might still be among the best. Those are scored, too; where they are
// many, more neighbours are asked for first. If the store finds the nearest, the hits
// and their order are thus those of a loaded partition. What remains approximate:
//
//   - An index that is walked or rounds misses neighbours. A memory that it misses is
//     found only if its words are good enough. It is asked to compare with
//     everything when it returns fewer than there are.
//   - A search that has read 8192 vectors, and has enough hits, is content with the
//     most promising (Stats counts these as Cut). It takes words that half of the
//     memories hold to come to that.
//   - A memory that changes while the store is asked may be scored by one version's
//     words and the other's vector.
//   - A stored vector that cannot be read is ErrDimension when it is met.
//
// What may be returned never depends on the neighbours: none is returned that the
// request excludes, and the search goes on until it has TopK hits or has seen all.
// Where a filter leaves few, all of their vectors are read, and no neighbours are
// asked for. The store does not look at memories that are superseded or retracted:
// with IncludeSuperseded or AsOf the vectors of those that may be returned are read
// for each search, 2048 at a time, which is exact and slow if they are many.
//
// A store that answers ErrUnavailable twice, though it can count, or
// [errors.ErrUnsupported] once, has no such ability, or not yet: its index may be
// under way. The partition is then loaded, and the store is asked again after five
// minutes, off the path of searches. When the store fails in another way, the search
// answers by words alone and says so in Degraded. A partition that grows to
// Config.Large gives its vectors up once the store has found a neighbour in it; one
// that shrinks below half of it is loaded. [Stats] tell how searches were answered.
//
// # Scoring as mem0 does
//
// With [Mem0Compatible] the candidates are the max(4·TopK, 60) memories of the
// highest cosine; those with a cosine below the threshold leave. The others get
//
//	Score = min(1, (cosine + keyword + boost) / possible)
//
// keyword is 1/(1 + e^(-s·(BM25 - m))) for the best max(4·TopK, 60) lexical matches,
// with (m, s) = (5, 0.7), (7, 0.6), (9, 0.5), (10, 0.5), (12, 0.5) for queries of up
// to 3, 6, 9, 15 and more terms. boost is the highest, over the first eight names
// in the query and the names in the memory, of similarity·0.5/(1 + 0.001·(n-1)²),
// where n memories bear the name. possible is 1, plus 1 if any memory has a
// keyword score, plus 0.5 if any has a boost. TopK is 20 and Threshold 0.1 unless
// set; a negative Threshold turns it off. Parts hold cosine, keyword and boost (as
// Signals). Two things differ from mem0: names are found by their form
// (capitals, quotes, identifiers, 《》) instead of by a language model, and the
// similarity of two names is Dice's coefficient of their terms, with the same
// lower bound of 0.5, instead of a cosine. Since possible depends on the query,
// these scores cannot be compared between queries; prefer [Absolute].
//
// # Limits
//
// TopK is at most 1000. Of a query longer than 64 KiB the first and the last 32
// count; of one with more than 1024 distinct terms the 1024 of the highest idf.
package recall
