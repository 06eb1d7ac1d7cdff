// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package recall ranks the memories of one partition for a query. Give a [Ranker] a
// store, and search:
//
//	ranker, err := recall.New(ctx, &recall.Config{Records: db})
//	found, err := ranker.Search(ctx, partition, &backends.SearchRequest{Query: "Which tea does Ann like?"})
//
// That is lexical search, which works without a model. With an Embedder and the name of its model
// in the [Config], vectors join in. A program that writes memories asks [Ranker.Embed] for their
// vectors and stores them with the records.
//
// # One partition in memory
//
// Memories belong to people, so a partition is small, some hundred to a hundred thousand memories,
// and exact search wins. The first call for a partition reads it from the store as a whole, once
// for all concurrent callers. From then on the partition follows the store: each search first asks
// for the changes ([store.Records] Changes), and so sees everything that the store took before the
// search. When all partitions together take more than MaxBytes, the least recently used ones leave
// memory. The ranking depends on stored data alone, so it is the same on every store.
//
// Memories of kind [backends.KindCore] stand apart: searches and look-ups skip them, and they have
// no part in the scores of others. [Ranker.All] lists them with the rest.
//
// # How hits are found
//
//  1. Eligibility comes first: superseded and retracted memories leave, expired ones, other
//     kinds, and memories that the filter excludes. They take no place and set no scale.
//     With AsOf the memories stay that held at that time: from Valid (else Observed, else
//     Created) on, until Invalidated. With KnownAt the memories stay that the store had by
//     then, and whatever ended later counts as current.
//  2. Every remaining memory gets its lexical score and, where query and memory have
//     vectors, its cosine. Both are exact, except for the cosines of large partitions (see
//     Vectors). All of them compete: neither part fills a list of candidates alone.
//  3. The rank value is six times the share that a memory has of the attainable lexical
//     score of the query. Beside vectors the share counts by its square over 0.4. To it come 0.3
//     of each standard deviation by which the cosine exceeds the mean of the memories in the
//     script of the query. So a good embedder leads where words find little, a weak one does
//     little harm, and one with narrow cosines counts like any other. To the cosine come 0.4 of
//     the excess of the vectors before and after it in its session. A hit has a word of the
//     query or a cosine above the usual one. The best TopK are the hits, or a pool of
//     max(4·TopK, 60) that a [Reranker] orders anew. Ties go to the newer memory, then to the
//     lower id.
//
// # The lexical part
//
// The ranker reads the speaker of a memory, the month in which it was said, WhenToUse and Text. It
// cuts them and the query into words (UAX #29) and folds width (NFKC), case and the accents of
// Latin and Greek letters. Then it drops the stop words of their language and stems the rest.
// Scripts without spaces, Chinese above all, and Hangul become characters and pairs of neighbours;
// traditional characters count as simplified ones. Names with a sign ("C#", ".NET"), identifiers
// ("BA249") and long numbers ("138-0013-8000") are terms as a whole. Their parts stand beside them,
// and so does a word with its accents: they count half, and the attainable score leaves them out.
// The words of WhenToUse count twice, and half where they are keywords of a fact
// ([backends.KindTraits]); the month counts half. The opening "The user" of a fact is left out. A
// memory D then scores, for each term t of the query Q,
//
//	idf(t) · f·(k1+1) / (f + k1·(1 - b + b·|D|/mean|D|))     f: how often t occurs in D
//	idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))               n of N memories hold t
//
// with k1 = 1.2 and b = 0.4, or 0.9 where an assistant answers at length. That is BM25 (Robertson
// and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009) with the idf of
// Lucene's BM25Similarity, which is always positive. N, n and the mean cover the whole partition, also memories that this search excludes,
// so that a filter leaves scores as they are. A term that occurs twice in the query counts twice.
// Likely other forms of a word replace a term that the partition lacks, at half its weight:
// "allergies" finds "allergic", which the stemmer keeps apart. Where there are none, a word of six
// letters or more finds the rare words that differ by one typing error ("necklase"). Of the words
// that one conversation of LoCoMo has and another lacks, 2.2 % find a word there so. By a short
// table of related words "live" also finds "moved", at 0.4 of its weight, except in experience. The
// usual b of 0.75 is for documents; here it is 0.4, because a longer message usually says more. N
// is at least 100. Function characters of Chinese and idle words of a question ("do you remember",
// "现在") count only where it has no others.
//
// # Signals
//
// Most sentences of a conversation make sense only beside the sentences before them: an answer has
// few words of its question. So signals change lexical scores (signals.go, each with its weight). A
// speaker whom the query names counts more, a memory that ends in a question less. Then each memory
// gets shares of its surroundings in the session, within an hour: of its neighbours, and of the
// question that it follows. Some assistants answer at length, which the ranker recognises by the
// lengths of both sides. There b is 0.9, their words count a quarter unless the query asks for the
// assistant's own words, and an answer hands half of its score to its question. An answer of over
// 400 characters takes part in no other exchange, because it repeats the question. Then comes the
// session: BM25 over sessions as documents moves the hits of the
// best session to the front. Behind the tenth hit, what others say than the one whom the query
// names stands at three times its rank, so that a list has room for all of the named one's words.
// Memories that a search excludes spread no score. Parts.Signals says how much each signal added.
//
// At last come factors (factors.go), which raise or lower the value that a memory has by words and
// all of the above. A message gains by content (many words, and rare ones), by words that hardly
// any other memory has, by telling of its author rather than of the other, and by names. A question
// for a time or for a number raises what tells one. They move hits alone and leave Score as it is.
// They were chosen on chats of two people, on the same chats cut into short messages, on diaries and
// on facts about relatives, in English and Chinese, and are off where an assistant answers at length.
//
// Memories that state nothing count little, in the order and in Score (talk.go; rules of
// English and Chinese). A mere question of a user, a greeting and a remark count a quarter. An
// assistant's acknowledgement, or its words to users about themselves, counts half. Such memories
// are found, behind their answer.
//
// A query that names a time ("yesterday", "in May 2023", 上周) asks for that time. The Clock and its
// zone decide; dates.go works by rules alone. Memories of the time count twice, and memories of the
// week after one and a half times. The time is also a term, which its memories hold, at a quarter
// of the weight of a word. The words that name the time count 0.3, as long as any memory is of it.
// A time or a month only raises memories that other words found: "the weather in March" is about
// weather. A query for a time alone, such as "What did I do yesterday?", finds all memories of the
// time.
//
// Feedback from the first hits was measured and left out: beside the other signals it costs half a
// point to two points of recall@5 on LoCoMo.
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
// S is the sum of the memory's own signals and half of the scores that others hand to it. The
// session leaves Score as it is.
//
// Related texts begin at different cosines from embedder to embedder: at 0.2 with one, at 0.8 with
// another. So the first query of a process goes to the embedder together with eight English and
// eight Chinese sentences about different things, in one request. The mean of their cosines, for
// the language of the query, is the usual cosine; c is three standard deviations above it.
//
// The sum runs over the six rarest terms of the query, unknown ones included: a memory approaches
// it in which they occur without end. A memory of mean length that holds every term once scores
// 1/(k1+1), 0.45. If the memory or the query lacks a vector, Score is Lexical + S. A reranker
// moves hits and leaves their Score as it is.
//
// # A model for queries, and one for the order
//
// A [Rewriter] says, before the search, which other words an answer may have, which questions a
// query consists of, and which time it asks about. The words of the user keep their weight:
// keywords of the Rewriter count half, and Score is a share of the score that the user's words
// could attain. The ranker ranks each question by itself. It adds to a memory's value for the query
// half of its value for the question that it answers best; Score is the highest of all. A
// [Reranker] orders the pool of hits. Chat of package model is both, by a chat model:
//
//	chat, err := model.NewChat(chatModel)
//	ranker, err := recall.New(ctx, &recall.Config{Records: db, Rewriter: chat, Reranker: chat})
//
// A search with NoModel skips both. A search with a Diversity puts a hit back that repeats one
// before it.
//
// # Weights
//
// Config.Weights change the order by other reasons than the query: [Recency], by MemoryBank's curve
// or Generative Agents' decay, and [Importance]. The default is none. On LoCoMo recall@5 fell by
// 0.1 points with 30 percent of MemoryBank's curve and by 0.6 with the decay; importance by novelty
// added 1.6 (examples/bench has the table). Score stays as it is.
//
// # Vectors
//
// Vectors are normalised and stored as float32 or, at a quarter of the size, as int8 with one scale
// a vector; in memory they are float32, scanned with SIMD. With more than 20,000 vectors of at
// least 256 components (a multiple of 16) a partition keeps codes instead, with five bits a
// component. A search estimates all cosines by the codes. Then it reads the vectors of the likely
// best from the store, some dozens, so that hits have exact cosines. It finds at least 0.995 of the
// ten best of all; where words and neighbours have a part in the order, at least 0.98, since the
// mean and the deviation of all cosines are estimates. The partition keeps the name of the model
// and the dimension. Vectors of different models are never compared: until a call of
// [Ranker.Reembed] or [Ranker.ReembedAll] words alone answer, and Degraded says why.
//
// # Deadlines
//
// A search waits for the rewriter, the embedder and the reranker for at most half of its remaining
// time. The other limits are EmbedTimeout (1 s) and, for the other two, ModelTimeout (2 s). An
// embedder that fails or takes longer leaves the lexical part, a rewriter the query and a reranker
// the order as it was. After two failures in a row a service rests for a second. Then a call beside
// a search probes it, while the search goes on; each failed probe doubles the pause, up to a
// minute. Degraded says what happened, since when, and when the next probe is.
//
// [Ranker.Embed], and searches of work that learns ([WithVectors]), have two minutes for each 100
// texts. They let an embedder rest after five failures in a row: such work is repeated later.
//
// # Limits
//
// TopK is at most 1000. Of a query longer than 64 KiB the first and the last 32 count.
package recall
