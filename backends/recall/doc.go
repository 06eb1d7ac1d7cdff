// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package recall ranks the memories of one partition for a query. Give a [Ranker] a
// store, and search:
//
//	ranker, err := recall.New(ctx, &recall.Config{Records: db})
//	found, err := ranker.Search(ctx, partition, &backends.SearchRequest{Query: "Which tea does Ann like?"})
//
// That is lexical search, and needs no model. With an Embedder and the name of its model
// in the [Config], vectors join in. A program that writes memories asks [Ranker.Embed] for
// their vectors and stores them with the records.
//
// # One partition in memory
//
// Memories belong to people, so a partition is small, some hundred to a hundred thousand
// memories, and exact search wins. A partition is read from the store as a whole when it
// is first asked for, once for all concurrent callers, and then follows the store: each
// search first asks for what changed ([store.Records] Changes) and so sees everything that
// was stored before it. Partitions leave memory, the least recently used first, when all
// together take more than MaxBytes. The ranking depends on what is stored and on nothing
// else, so it is the same on every store.
//
// Memories of kind [backends.KindCore] are kept apart: no search and no look-up returns
// one, and none has a part in what others score. [Ranker.All] lists them with the rest.
//
// # How hits are found
//
//  1. What may not be returned leaves: superseded and retracted memories, expired ones,
//     those of other kinds, those that the filter excludes. They take no place and set no
//     scale. With AsOf those stay that held at that time: from Valid (else Observed, else
//     Created) on, until Invalidated. With KnownAt those stay that were stored by then, and
//     what ended later counts as not ended.
//  2. Every memory that is left gets its lexical score and, where query and memory have
//     vectors, its cosine. Both are exact, but for the cosines of large partitions (see
//     Vectors): there is no list of candidates that one of them alone fills.
//  3. Six times the share that a memory has of the lexical score that the query could attain,
//     and 0.3 of each standard deviation that its cosine lies above the mean of the
//     partition, make the rank value: a good embedder leads where words find little, a weak one
//     does no harm, and one whose cosines are all alike counts like any other. To the cosine
//     come 0.4 of what the vectors before and after it in its session have above the mean. What
//     has no word and no cosine above the usual one is no hit. The best TopK are the hits, or a
//     pool of max(4·TopK, 60) that a [Reranker] orders anew. Ties go to the newer memory, then
//     to the lower id.
//
// # The lexical part
//
// The speaker of a memory, the month of what was said, WhenToUse and Text, and the query are
// cut into words (UAX #29), folded in width (NFKC) and case, rid of the stop words of their
// language and stemmed; scripts without spaces, Chinese above all, and Hangul become
// characters and pairs of neighbours. The words of WhenToUse count twice, and half
// where they are keywords of a fact ([backends.KindTraits]); the month counts half. "The user",
// which opens a fact, is left out. A memory D then scores, for each term t of the query Q,
//
//	idf(t) · f·(k1+1) / (f + k1·(1 - b + b·|D|/mean|D|))     f: how often t occurs in D
//	idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))               n of N memories hold t
//
// with k1 = 1.2 and b = 0.4. That is BM25 (Robertson and Zaragoza, The Probabilistic
// Relevance Framework: BM25 and Beyond, 2009) with the idf of Lucene's BM25Similarity, which
// is never negative. N, n and the mean are of everything that the partition holds, also of
// what this search may not return, so that a filter does not change a score. A term that
// occurs twice in the query counts twice. A term that no memory holds is replaced, at half
// its weight, by those that look like other forms of the word: "allergies" finds "allergic",
// which the stemmer keeps apart. By a short table of related words "live" finds "moved", too,
// at 0.4 of its weight, but no experience. The b of BM25 is 0.4 and not the usual 0.75, which is
// for documents: a message that says more is not longer for the same. N is at least 100. Function characters of Chinese
// and idle words of a question ("do you remember", "现在") do not count, where it has others.
//
// # Signals
//
// Most of what is said makes sense only beside what was said before it: an answer has few words of
// its question. So signals change lexical scores (signals.go, each with its weight). Who is named in
// the query and speaks counts more, what ends in a question less. Then each memory gets shares of
// what stands around it in its session, within an hour: of its neighbours, and of the question that
// it follows. Where an assistant answers at length, recognised by the lengths of what both sides
// say, its words count half, and an answer hands some of its score to its question; one of over 400
// characters gets and hands on nothing else: it repeats what it was asked. At last the session: BM25
// over sessions, in which each is a document, moves the hits of the session that the query is about
// to the front. What a search may not return hands nothing on. Parts.Signals says what each added.
//
// What states nothing counts little, in the order and in Score (statement.go; rules of English and
// Chinese): a quarter of what a user only asked, and of greetings and remarks; half of what an
// assistant acknowledges or tells users about themselves. It is found, behind its answer.
//
// A query that names a time ("yesterday", "in May 2023", 上周) is about what was said or happened
// then, by the Clock and its zone (dates.go; rules, no model): what is of it counts twice, what
// was said in the week after one and a half times. The time is also a term, which the memories of
// it hold, at a quarter of the weight of a word. The words that name the time count 0.3, as long as
// any memory is of it. A time finds nothing by itself, nor does the month of what was said: "the
// weather in March" is about weather. Only where the query says nothing else, as "What did I do
// yesterday?", all that is of the time is found.
//
// Feedback from the first hits was measured, and left out: with the other signals it costs half
// a point to two points of recall@5 on LoCoMo.
//
// # What Score means
//
// The order is by values that depend on the partition. Score is absolute,
// so that a Threshold means the same for every query:
//
//	Parts.Lexical = score / Σ idf(t)·(k1+1)     the share of what the query could attain
//	Parts.Vector  = max(0, cosine)
//	W             = Lexical + S
//	Score         = W + (1 - W) · max(0, Vector-c)/(1-c) / 2
//
// S is what the signals of a memory itself add, and half of what others hand to it; the session
// adds nothing.
//
// Where the cosines of related texts begin differs from embedder to embedder: at 0.2 with
// one, at 0.8 with another. So the first query of a process is embedded together with eight
// English and eight Chinese sentences that have nothing to do with one another, in one
// request. The mean of their cosines, for the language of the query, is the usual cosine;
// c is three standard deviations above it.
//
// The sum runs over the six rarest terms of the query, those that no memory holds included:
// a memory approaches it in which they occur without end. A memory of mean length that holds
// every term once scores 1/(k1+1), 0.45. Where memory or query have no
// vector, Score is Lexical + S. A reranker moves hits and leaves their Score as it is.
//
// # A model for queries, and one for the order
//
// A [Rewriter] says, before the search, which other words an answer may have, which questions a
// query consists of, and of which time it asks. The words of the user never lose by it: its keywords
// count half, and Score is a share of what the words of the user could attain. Each question is
// ranked by itself: half of what a memory is worth for the one that it answers best is added to what
// it is worth for the query, and Score is the highest. A [Reranker] orders the pool of hits. [Chat]
// is both, by a chat model:
//
//	chat, err := recall.NewChat(chatModel)
//	ranker, err := recall.New(ctx, &recall.Config{Records: db, Rewriter: chat, Reranker: chat})
//
// A search with NoModel asks neither, one with a Diversity puts back what says the same as a hit
// before it.
//
// # Weights
//
// Config.Weights change the order by something else than the query: [Recency], by MemoryBank's curve
// or Generative Agents' decay, and [Importance]. There are none by default. On LoCoMo recall@5 fell
// by 0.1 points with 30 percent of MemoryBank's curve and by 0.6 with the decay; importance by novelty
// added 1.6 (examples/bench has the table). Score stays as it is.
//
// # Vectors
//
// Vectors are normalised and stored as float32 or, at a quarter of the size, as int8 with
// one scale a vector; in memory they are float32, scanned with SIMD. Of more than 20,000
// vectors of at least 256 components (a multiple of 16) a partition keeps five bits a component
// in their place: a search estimates all cosines by them, and reads the vectors of those that
// may be among the best from the store, some dozens, so that what it returns has its exact
// cosine. Of the ten best of all it finds at least 0.995; where words and neighbours have a part
// in the order, at least 0.98, since the mean and the deviation of all cosines are estimates.
// The name of the model and the dimension are kept with the partition. Vectors of another model are never
// compared: until [Ranker.Reembed] or [Ranker.ReembedAll] was called words alone answer, and
// Degraded says why.
//
// # Deadlines
//
// The rewriter, the embedder and the reranker are never waited for longer than half of the time
// that is left to a search, nor than RewriteTimeout (2 s), EmbedTimeout (1 s) and RerankTimeout
// (2 s). An embedder that fails or takes longer leaves the lexical part, a rewriter the query
// and a reranker the order as it was. After two
// failures in a row a service is left alone for a second; then a call beside a search, which
// does not wait for it, probes it, and each probe that fails doubles the pause, up to a minute.
// Degraded says what happened, since when, and when the next probe is.
//
// [Ranker.Embed], and searches of work that learns ([WithVectors]), have two minutes for
// each 100 texts, and leave an embedder alone after five failures in a row: what learns
// repeats its work later.
//
// # Limits
//
// TopK is at most 1000. Of a query longer than 64 KiB the first and the last 32 count.
package recall
