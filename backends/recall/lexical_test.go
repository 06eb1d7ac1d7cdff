// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// An index that followed every change answers exactly as one that is loaded anew, hit by
// hit and bit by bit, whatever the pages were; and look-ups find what reading everything
// finds.
func TestIncrementalIndexEqualsReloaded(t *testing.T) {
	change := func(t *rapid.T, s *memStore, r *Ranker) {
		batch := &store.Batch{}
		record := func() *store.Record {
			m := backends.Memory{ID: fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "id")), Text: drawText(t, "text")}
			m.Kind = rapid.SampledFrom([]backends.Kind{backends.KindFact, backends.KindEpisode}).Draw(t, "kind")
			if rapid.Bool().Draw(t, "dated") {
				m.Observed = start.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "hour")) * time.Hour)
			}
			rec := &store.Record{Memory: m}
			if rapid.Bool().Draw(t, "vector") {
				vectors, space, err := r.Embed(t.Context(), []string{m.Text + "x"})
				require.NoError(t, err)
				rec.Vector, batch.Embedding = vectors[0], space
			}
			return rec
		}
		for range rapid.IntRange(1, 4).Draw(t, "mutations") {
			id := fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "old"))
			switch rapid.SampledFrom([]string{"put", "put", "supersede", "retract", "delete"}).Draw(t, "op") {
			case "put":
				batch.Mutations = append(batch.Mutations, store.Put(record()))
			case "supersede":
				if r := record(); r.ID != id {
					batch.Mutations = append(batch.Mutations, store.Supersede(id, r))
				}
			case "retract":
				batch.Mutations = append(batch.Mutations, store.Retract(id, start))
			case "delete":
				batch.Mutations = append(batch.Mutations, store.Delete(id))
			}
		}
		_, err := s.Apply(t.Context(), ann, batch)
		require.NoError(t, err)
	}
	checkLookups := func(t *rapid.T, r *Ranker, all []*backends.Memory) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"fact true", "fact false", "episode true", "episode false", "t", "t", "n", "茶", "?"}), 0, 4).Draw(t, "keys")
		wanted := rapid.SliceOfN(rapid.StringMatching("[0-9]|1[0-3]"), 0, 4).Draw(t, "ids")
		byKey, byID := []string{}, []string{}
		for _, m := range all {
			if slices.ContainsFunc(r.config.Keys(m), func(k string) bool { return slices.Contains(keys, k) }) {
				byKey = append(byKey, m.ID)
			}
			if slices.Contains(wanted, m.ID) {
				byID = append(byID, m.ID)
			}
		}
		require.Equal(t, byKey, names(r.Lookup(t.Context(), ann, keys...)))
		require.Equal(t, byID, names(r.Get(t.Context(), ann, wanted...)))
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(rapid.Int64Range(1, 5).Draw(t, "page"))
		with := withEmbedder("hashed", hashed(8))
		grown := newRanker(t, s, with, byKindAndState)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.IntRange(0, 15).Draw(t, "drop") == 0 {
				_, err := s.Drop(t.Context(), ann)
				require.NoError(t, err)
			}
			change(t, s, grown)
			q := backends.SearchRequest{Query: drawText(t, "query"), TopK: rapid.IntRange(1, 15).Draw(t, "k"),
				IncludeSuperseded: rapid.Bool().Draw(t, "superseded")}
			reloaded := newRanker(t, s, with, byKindAndState)
			require.Equal(t, search(t, reloaded, ann, q), search(t, grown, ann, q))
			want, err := reloaded.All(t.Context(), ann)
			require.NoError(t, err)
			got, err := grown.All(t.Context(), ann)
			require.NoError(t, err)
			require.Equal(t, want, got)
			checkLookups(t, grown, want)
			a, b := grown.indexOf(ann), reloaded.indexOf(ann)
			require.Equal(t, []int{b.vectors, b.lexicon.memories, len(b.lexicon.vocabulary.numbers)}, []int{a.vectors, a.lexicon.memories, len(a.lexicon.vocabulary.numbers)})
			require.Equal(t, []int64{b.memories, b.lexicon.total, b.lexicon.postings}, []int64{a.memories, a.lexicon.total, a.lexicon.postings})
		}
	})
}

func TestRepeatedAndUnknownQueryTerms(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	apply(t, s, ann, fact("1", "tea"), fact("2", "dog"))
	score := func(q string) float64 { return search(t, r, ann, backends.SearchRequest{Query: q})[0].Score }
	require.InDelta(t, 1/2.2, score("tea"), 1e-12, "one term, once, in a text of mean length")
	require.InDelta(t, score("tea"), score("tea tea"), 1e-12)
	require.Less(t, score("tea unheard"), score("tea"), "what no memory holds could have been attained")
}

// Of two memories with the same words, the one comes first that is for the situation.
func TestTheSituationCountsMoreThanTheAdvice(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	task := func(id, when, text string, age int) store.Mutation {
		return put(backends.Memory{ID: id, Kind: backends.KindTask, WhenToUse: when, Text: text, Created: day(-age)})
	}
	apply(t, s, ann,
		task("for it", "rating songs", "check tokens", 2),
		task("mentions it", "check tokens", "rating songs", 1), // the newer, which ties would go to
		task("neither", "booking flights", "compare prices", 0))
	require.Equal(t, []string{"for it", "mentions it"}, find(t, r, "rating songs"))
}

// The text that is searched depends on the kind: a memory that becomes another is analysed
// anew.
func TestAMemoryOfAnotherKindIsAnalysedAnew(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	m := backends.Memory{ID: "1", Kind: backends.KindFact, Text: "tea", Observed: time.Date(2023, 5, 8, 0, 0, 0, 0, time.UTC)}
	apply(t, s, ann, put(m))
	require.Len(t, find(t, r, "May 2023"), 1)
	m.Kind = backends.KindTask
	apply(t, s, ann, put(m))
	require.Empty(t, find(t, r, "May 2023"))
	require.Len(t, find(t, r, "tea"), 1)
}

func TestIsVariant(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"allergi", "allerg", true},
		{"allergi", "allergen", true},
		{"marri", "marriag", true},
		{"teach", "teacher", true},
		{"contact", "contain", false}, // five of seven
		{"inter", "international", false},
		{"peanut", "peanutti", true},
		{"tea", "teas", false}, // too short to tell
		{"аллергия", "аллергик", true},
		{"花生", "花生过敏", false},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			v := newVocabulary()
			v.number(pair[0])
			require.Equal(t, c.want, len(v.variants([]string{pair[1]}, func(int32) bool { return true })) > 0, "%v", pair)
		}
	}
}

func TestVariants(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string // with the ids 0, 1, 2
		query string
		want  []string
		most  float64 // score
	}{
		{"stand for a word that nobody used", []string{"I am allergic to peanuts", "I live in Hangzhou"}, "Do I have any allergies?", []string{"0"}, 0.25},
		{"of an unlike word are none", []string{"I am allergic to peanuts", "I live in Hangzhou"}, "Do I have any alligators?", []string{}, 0},
		{"are not looked for where the word is known", []string{"allergic to peanuts", "her allergies are mild"}, "allergies", []string{"1"}, 0.5},
		{"count as one term, however many", []string{"allergic allergen allergenic", "tea", "dog"}, "allergies", []string{"0"}, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(100)
			for i, text := range c.texts {
				apply(t, s, ann, fact(fmt.Sprint(i), text))
			}
			hits := search(t, newRanker(t, s), ann, backends.SearchRequest{Query: c.query})
			require.Equal(t, c.want, ids(hits))
			for _, h := range hits {
				require.LessOrEqual(t, h.Score, c.most)
			}
		})
	}
}

// One partition, many languages: the memory that answers comes first.
func TestFindsInManyLanguages(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	apply(t, s, ann,
		fact("tea", "张伟每天早上喝绿茶"), fact("city", "张伟住在上海的浦东新区"), fact("job", "他在Google做software engineer的工作"),
		fact("dog", "The dogs were running through the gardens"), fact("book", "Анна читала новые книги"),
		fact("tokyo", "東京タワーの近くに住んでいます"), fact("seoul", "저는 서울에서 커피를 마셔요"), fact("thai", "ฉันชอบกินข้าวผัด"),
		fact("cafe", "Das Café liegt in der Kölner Straße"))
	for query, want := range map[string]string{
		"张伟喝什么茶?": "tea", "他住在哪个城市,上海吗": "city", "谁是 software engineers": "job",
		"Which dog runs in a garden?": "dog", "новая книга": "book", "東京のタワー": "tokyo", "서울 커피": "seoul",
		"กินข้าว": "thai", "KÖLNER STRASSE": "cafe", "ＧＯＯＧＬＥ": "job",
	} {
		require.Equal(t, want, find(t, r, query)[0], query)
	}
}

// What a query in Chinese, Japanese or Korean finds by words alone, and what it does not: nothing
// is converted between scripts.
func TestWhatMeetsInChineseJapaneseAndKorean(t *testing.T) {
	r := testReader(t)
	for _, c := range []struct {
		memory, query string
		meet          string // the terms that both have
	}{
		{"下周三去體檢", "体检", "体 检 体检"},
		{"住在台灣的高雄", "台湾高雄", "台 湾 台湾 高 雄 高雄"},
		{"住在ＴＯＫＹＯ", "tokyo", "tokyo"},
		{"ｺｰﾋｰが好き", "コーヒー", "コ ー コー ヒ ーヒ ヒー"},
		{"こーひー", "コーヒー", "ー"},
		{"東京都に住んでいる", "京都", "京 都 京都"}, // pairs do not know words
		{"東京に行った", "京都", "京"},
		{"서울에서 커피를 마셔요", "서울은 커피", "서 울 서울 커 피 커피"},
		{"会议在3月5日下午", "３月５日", "3 月 5 日"},
		{"会议在三月五日", "3月5日", "月 日"},
		{"买了iPhone15手机", "iPhone 15", ""}, // one word of letters and digits
		{"爱喝茶🍵", "喝茶", "喝 茶 喝茶"},
		{"喜欢《三体》", "三体", "三 体 三体"},
	} {
		t.Run(c.query+" for "+c.memory, func(t *testing.T) {
			held, meet := r.terms(c.memory), []string{}
			for _, term := range r.terms(c.query) {
				if slices.Contains(held, term) && !slices.Contains(meet, term) {
					meet = append(meet, term)
				}
			}
			require.Equal(t, c.meet, strings.Join(meet, " "))
		})
	}
}

func testReader(t require.TestingT) *reader {
	a, err := newAnalyzer()
	require.NoError(t, err)
	return newReader(a, newVocabulary())
}

// terms returns the terms of texts, in order.
func (r *reader) terms(texts ...string) []string {
	out := []string{}
	r.scan(texts...)
	for _, n := range r.sequence {
		out = append(out, r.vocabulary.terms[n])
	}
	return out
}

func TestTerms(t *testing.T) {
	r := testReader(t)
	for _, c := range []struct{ name, text, terms string }{
		{"porter", "Running relational ponies", "run relat poni"},
		{"stop words and contractions", "I'm not what you're; it's the cat", "cat"},
		{"possessive, either apostrophe", "Ann's cat, Bob’s dog", "ann cat bob dog"},
		{"accents are folded", "Café NAÏVE Dvořák Łódź Ølgod Œuvre Μάλαγα", "cafe naiv dvorak lodz olgod oeuvr μαλαγα"},
		{"accents of other scripts stay", "йод ёлка", "йод елк"},
		{"decomposed accents", "Cafe\u0301 'e\u0301te\u0301'", "cafe et"},
		{"width and ligatures", "ＡＢＣ１２３ ﬁne", "abc123 fine"},
		{"case folding beyond lower case", "STRASSE Straße", "strass strass"},
		{"parts of names", "user_id config.yaml hello.World a:b", "user id config yaml hello world b"},
		{"identifiers stay whole", "C# c++ F#, .NET ASP.NET BA249 iPhone15 138-0013-8000 4-3", "c# c++ f# .net asp net ba249 iphone15 13800138000 4 3"},
		{"spans of years are numbers", "2019-2020 8-5-2023", "2019 2020 8 5 2023"},
		{"numbers stay whole", "v1.2.3 10,000 3.14 2023-05-08 1'2", "v1.2.3 10,000 3.14 2023 05 08 1'2"},
		{"marks join only what they join", "1.a a.1 a,b 1;2 'x' -y-", "1 1 b 1;2 x y"},
		{"Catalan", "col·lecció · x", "col·leccio x"},
		{"Hebrew acronyms", "צה\"ל \"שלום\"", "צה\"ל שלום"},
		{"joiners inside of words", "می\u200cخواهم co\u00adop", "می\u200cخو co\u00adop"},
		{"digits of other scripts", "٣.٤ ३.४", "3.4 ३.४"},
		{"fractions are two numbers", "½", "1 2"},
		{"Han", "绿茶好", "绿 茶 绿茶 好 茶好"},
		{"Han beside Latin", "我在Google工作", "我 在 我在 googl 工 作 工作"},
		{"Han beside numbers", "3月5日，2026", "3 月 5 日 2026"},
		{"rare Han", "𠀀㐀", "𠀀 㐀 𠀀㐀"},
		{"white space and marks part neighbours", "绿 茶，茶\u3000好", "绿 茶 茶 好"},
		{"kana, half width", "ｱｲｽー", "ア イ アイ ス イス ー スー"},
		{"Han and kana", "東京タワー", "东 京 东京 タ 京タ ワ タワ ー ワー"},
		{"Hangul attached to Latin", "iPhone은 좋다", "iphon 은 좋 다 좋다"},
		{"simplified and traditional meet", "体检 體檢", "体 检 体检 体 检 体检"},
		{"compatibility characters", "\uf914 ㈱東京 ㌔", "乐 株 东 京 东京 キ ロ キロ"},
		{"repeated and zero signs", "時々 二〇二六", "时 々 时々 二 〇 二〇 二 〇二 六 二六"},
		{"Chinese quotes and marks", "《三体》“三体”、三体。", "三 体 三体 三 体 三体 三 体 三体"},
		{"Han between Latin and numbers", "C++程序a茶b AI助手 茶2杯", "c++ 程 序 程序 茶 b ai 助 手 助手 茶 2 杯"},
		{"full width beside Han", "Ｔシャツ ＰＣ９８ １２３円 ３月", "t シ ャ シャ ツ ャツ pc98 123 円 3 月"},
		{"emoji part neighbours", "喝茶😀咖啡👨\u200d👩\u200d👧家", "喝 茶 喝茶 咖 啡 咖啡 家"},
		{"variant of a character", "葛\U000E0100城 辻\ufe00", "葛 城 辻"},
		{"hiragana and katakana stay apart", "ねこ ネコ", "ね こ ねこ ネ コ ネコ"},
		{"voiced kana, half width", "ｶﾞﾊﾟ", "ガ パ ガパ"},
		{"voiced kana, decomposed", "か\u3099き", "が き がき"},
		{"small kana and okurigana", "買った 食べる", "买 っ 买っ た った 食 べ 食べ る べる"},
		{"names joined by a point", "東京・大阪 サン＝テ", "东 京 东京 大 阪 大阪 サ ン サン テ"},
		{"kana beside a model number", "iPhone15を買う", "iphone15 を 买 を买 う 买う"},
		{"Hangul with particles", "서울에서 서울", "서 울 서울 에 울에 서 에서 서 울 서울"},
		{"Hangul, decomposed", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "한 국 한국"},
		{"Hangul beside numbers and Latin", "가나123원 AI와", "가 나 가나 123 원 ai 와"},
		{"letters of Hangul", "ㅋㅋ", "ᄏ ᄏ ᄏᄏ"},
		{"Thai", "ไป", "ไ ป ไป"},
		{"Russian", "Книги и друзья", "книг друз"},
		{"Arabic", "الكتب", "كتب"},
		{"Devanagari as it is", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"nothing to index", " … 😀 -- ! ' \u0301", ""},
		{"overlong", strings.Repeat("1", 300), strings.Repeat("1", 256)},
		{"broken UTF-8", "caf\xff tea\xe4\xb8", "caf tea"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.terms, strings.Join(r.terms(c.text), " "))
			require.Equal(t, c.terms, strings.Join(r.terms(c.text), " "), "remembered")
		})
	}
}

// What the reader finds in one pass are the words of UAX #29, as a segmenter finds them in
// the folded text, cut at the marks that join names there.
func TestTermsAreThoseOfUAX29(t *testing.T) {
	r := testReader(t)
	segmented := func(text string) []string {
		out := []string{}
		var before string // the Han character before
		words := segment.NewWordSegmenterDirect([]byte(cases.Fold().String(norm.NFKC.String(text))))
		for words.Segment() {
			word := words.Text()
			if words.Type() == segment.Ideo {
				out = append(out, word)
				if before != "" {
					out = append(out, before+word)
				}
				before = word
				continue
			}
			before = ""
			if words.Type() == segment.None {
				continue
			}
			parts := strings.FieldsFunc(word, func(c rune) bool { return c == '_' || c == ':' })
			for _, part := range parts {
				if !strings.ContainsAny(part[:1], "0123456789") && strings.Trim(part, "0123456789.") != "" {
					parts = strings.Split(part, ".")
				} else {
					parts = []string{part}
				}
				for _, p := range parts {
					if term := r.analyzer.term(p); term != "" {
						out = append(out, term)
					}
				}
			}
		}
		return out
	}
	check := func(t require.TestingT, text string) {
		require.Equal(t, segmented(text), r.terms(text), "%q", text)
	}
	const sorts = "aS0',;_\"- \n\r@\x00茶"
	for _, x := range sorts { // every text of up to three characters of each sort
		for _, y := range sorts {
			for _, z := range sorts {
				for _, ends := range []string{"", "b", "1"} {
					check(t, ends+string(x)+string(y)+string(z)+ends)
				}
			}
		}
	}
	forms := []string{"cats", "Running", "42", "'s", "don't", "it'S", "1.2", "3,4;5", "x_1", "http://a/c?d=e", "user@example", "SEVENTEENCHARACTER",
		"é", "e\u0301", "’s", "—", "“", "ﬁ", "Ａ", "１", "ß", "Σ", "绿茶", "三", "，", "。", "《", "книги", "كتب", "नमस्ते", "😀", "\u3000", " ", "\n"}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(forms), 0, 24).Draw(t, "text"), " "))
	})
}

// Documents and queries meet by their terms, whatever the form of a text and whatever was
// read before it.
func TestTermsDoNotDependOnForm(t *testing.T) {
	a := testReader(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zé]{1,8}|[绿茶东京]{1,4}|[0-9]{1,3}|user_id|Ann's| ){0,12}`).Draw(t, "text")
		want := testReader(t)
		require.Equal(t, want.terms(text), a.terms(text))
		require.Equal(t, a.terms(text), a.terms("  "+strings.ToUpper(text)+" !"))
		counts := map[string]int32{}
		for _, term := range a.terms(text) {
			counts[term]++
		}
		b := a.read(text)
		require.Len(t, b.terms, len(counts))
		for _, c := range b.terms {
			require.Equal(t, counts[a.vocabulary.terms[c.term]], c.count)
		}
		require.Len(t, a.sequence, int(b.length))
	})
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "Ann's cats", "绿茶 green茶", "ｱｲｽ", "\xff\xfe", "a.b_c", "ๆ", "한국어 русский", "''s", "1.,2", "א\"א", "a\u200d"} {
		f.Add(s, "tea")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		r := testReader(t)
		one, two := r.terms(first), r.terms(second)
		for _, term := range one {
			if term == "" || !utf8.ValidString(term) || strings.ContainsAny(term, " \t\n") || len(term) > maxTerm {
				t.Fatalf("term %q of %q", term, first)
			}
		}
		for _, both := range [][]string{r.terms(first + " " + second), r.terms(first, second)} {
			if !slices.Equal(both, slices.Concat(one, two)) {
				t.Fatalf("terms %q of %q and %q", both, first, second)
			}
		}
	})
}

func TestIndexedText(t *testing.T) {
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.FixedZone("", 0))
	r := testReader(t)
	for _, c := range []struct {
		name   string
		m      backends.Memory
		want   string
		halves string // what counts half
	}{
		{"text alone", backends.Memory{Text: "tea"}, "tea", ""},
		{"all parts", backends.Memory{Text: "tea", WhenToUse: "thirsty", Observed: at, Origin: backends.Origin{Speaker: "Ann"}},
			"Ann thirsty thirsty tea", "May 2023"},
		{"in UTC", backends.Memory{Text: "tea", Observed: at.In(time.FixedZone("", 14*3600))}, "tea", "May 2023"},
		{"experience has no date", backends.Memory{Kind: backends.KindTask, Text: "tea", Observed: at}, "tea", ""},
		{"nor have tools", backends.Memory{Kind: backends.KindTool, Text: "tea", Observed: at}, "tea", ""},
		{"facts have", backends.Memory{Kind: backends.KindFact, Text: "tea", Observed: at}, "tea", "May 2023"},
		{"keywords of a fact", backends.Memory{Kind: backends.KindFact, Text: "tea", WhenToUse: "drink", Origin: backends.Origin{Speaker: "Ann"}}, "Ann tea", "drink"},
		{"Chinese", backends.Memory{Text: "绿茶", Observed: at}, "绿茶", "May 2023 5月"},
	} {
		t.Run(c.name, func(t *testing.T) {
			texts, halves := indexed(&c.m)
			require.Equal(t, r.terms(c.want), r.terms(texts...))
			require.Equal(t, r.terms(c.halves), r.terms(halves...))
		})
	}
}

// The numbers of terms that no memory holds any more are used for others.
func TestVocabularyReusesNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, model := newVocabulary(), map[string]int32{}
		word := rapid.SampledFrom([]string{"tea", "cats", "dog", "茶", "绿茶", "x1"})
		for range 40 {
			w := word.Draw(t, "word")
			if n, ok := model[w]; ok && rapid.Bool().Draw(t, "release") {
				v.release(n)
				v.release(n) // a second time does nothing
				delete(model, w)
				continue
			}
			model[w] = v.number(w)
			seen := map[int32]bool{}
			for w, n := range model {
				require.Equal(t, n, v.find(w))
				require.False(t, seen[n], "two terms with one number")
				seen[n] = true
			}
			require.LessOrEqual(t, v.size(), 6)
		}
	})
}

// A fact that says the word of a query comes before one that has it as a keyword, which is
// found, too, whether it is indexed or not learnt yet. Experience keeps its double weight.
func TestKeywordsOfAFactCountLessThanItsText(t *testing.T) {
	at := start.Add(time.Hour) // newer, so a tie would go to it
	says := backends.Memory{ID: "says", Kind: backends.KindFact, Text: "Ann's recipe is old", Observed: start}
	for _, kind := range []backends.Kind{backends.KindFact, backends.KindPersonal} {
		about := backends.Memory{ID: "about", Kind: kind, Text: "Ann eats lentils", WhenToUse: "recipe", Observed: at}
		twice := backends.Memory{ID: "twice", Kind: kind, Text: "Ann eats rice", WhenToUse: "recipe, recipe food", Observed: at}
		s := newStore(1)
		r := newRanker(t, s)
		apply(t, s, ann, put(says), put(about), put(twice))
		require.Equal(t, []string{"says", "twice", "about"}, find(t, r, "recipe"), kind)
		q := backends.SearchRequest{Query: "recipe", Beside: []backends.Memory{about}}
		s = newStore(1)
		apply(t, s, ann, put(says))
		require.Equal(t, []string{"says", "about"}, ids(search(t, newRanker(t, s), ann, q)), kind)
	}
	s := newStore(1)
	task := backends.Memory{ID: "task", Kind: backends.KindTask, Text: "Salt it", WhenToUse: "recipe"}
	apply(t, s, ann, put(says), put(task))
	require.Equal(t, []string{"task", "says"}, find(t, newRanker(t, s), "recipe"))
}
