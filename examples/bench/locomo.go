// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

func printLocomo(ctx context.Context, b *bench) error {
	total, err := locomo(ctx, b.data)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "| %s\n|---|---|---|\n| %s", scoresHeader, total)
	return nil
}

// locomo stores one memory for each turn, one partition for each conversation of a file,
// asks every question as it stands, and counts which of the turns that answer it are found.
func locomo(ctx context.Context, path string) (total *scores, err error) {
	conversations, err := loadConversations(path)
	if err != nil {
		return nil, err
	}
	db, err := sqliteFile().open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.remove()) }()
	ranker, err := recall.New(ctx, &recall.Config{Records: db})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ranker.Close()) }()
	total = &scores{}
	for _, c := range conversations {
		p := backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: c.id}
		batch := &store.Batch{}
		for _, t := range c.turns {
			batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: backends.Memory{
				ID: t.id, Kind: backends.KindEpisode, Text: t.text, Observed: t.time,
				Origin: backends.Origin{Session: t.session, Turn: t.id, Speaker: t.speaker},
			}}))
		}
		if _, err := db.Apply(ctx, p, batch); err != nil {
			return nil, err
		}
		for _, q := range c.questions {
			resp, err := ranker.Search(ctx, p, &backends.SearchRequest{Query: q.text, TopK: depths[len(depths)-1]})
			if err != nil {
				return nil, err
			}
			total.add(idsOf(resp.Hits), q.evidence)
		}
	}
	return total, nil
}

// conversation is a long chat with questions about it.
type conversation struct {
	id        string
	turns     []turn
	questions []question
}

// turn is one message of a conversation.
type turn struct {
	id, session, speaker, text string
	time                       time.Time // of its session; zero when unknown
}

// question is asked about a conversation. Evidence are the ids of the turns that
// answer it.
type question struct {
	text     string
	evidence []string
}

// loadConversations reads a file in LoCoMo's format. Questions without evidence that
// exists are left out. Answers are not read: retrieval does not need them.
func loadConversations(path string) ([]conversation, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var raw []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		Questions    []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
		} `json:"qa"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var out []conversation
	for _, r := range raw {
		c := conversation{id: r.ID}
		if c.turns, err = loadTurns(r.Conversation); err != nil {
			return nil, fmt.Errorf("reading %s: conversation %s: %w", path, r.ID, err)
		}
		for _, q := range r.Questions {
			if evidence := repairEvidence(q.Evidence, c.turns); len(evidence) > 0 {
				c.questions = append(c.questions, question{q.Question, evidence})
			}
		}
		out = append(out, c)
	}
	return out, nil
}

var sessionKey = regexp.MustCompile(`^session_(\d+)$`)

// dateLayout is how the file writes "1:56 pm on 8 May, 2023".
const dateLayout = "3:04 pm on 2 January, 2006"

// loadTurns returns the turns of all sessions that are there, in the order of their
// numbers: a date may stand without its session.
func loadTurns(conversation map[string]json.RawMessage) ([]turn, error) {
	var names []string
	for key := range conversation {
		if sessionKey.MatchString(key) {
			names = append(names, key)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var out []turn
	for _, name := range names {
		var raw []struct {
			Speaker string `json:"speaker"`
			ID      string `json:"dia_id"`
			Text    string `json:"text"`
		}
		if err := json.Unmarshal(conversation[name], &raw); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var at time.Time
		if date, ok := conversation[name+"_date_time"]; ok {
			var s string
			err := json.Unmarshal(date, &s)
			if err == nil {
				at, err = time.Parse(dateLayout, s)
			}
			if err != nil {
				return nil, fmt.Errorf("%s_date_time: %w", name, err)
			}
		}
		for _, t := range raw {
			out = append(out, turn{id: t.ID, session: name, speaker: t.Speaker, text: t.Text, time: at})
		}
	}
	return out, nil
}

var turnID = regexp.MustCompile(`D:?(\d+):(\d+)`)

// repairEvidence returns the ids of turns that exist, each once. In the file several
// stand in one text ("D8:6; D9:17"), some with a colon too many ("D:11:26") or a leading
// zero ("D30:05").
func repairEvidence(evidence []string, turns []turn) []string {
	var out []string
	for _, e := range evidence {
		for _, m := range turnID.FindAllStringSubmatch(e, -1) {
			session, _ := strconv.Atoi(m[1])
			number, _ := strconv.Atoi(m[2])
			id := fmt.Sprintf("D%d:%d", session, number)
			if !slices.Contains(out, id) && slices.ContainsFunc(turns, func(t turn) bool { return t.id == id }) {
				out = append(out, id)
			}
		}
	}
	return out
}

// depths are the numbers of first results among which is counted; no more are asked for.
var depths = [...]int{1, 5, 10, 25, 50}

// scoresHeader is the part of a table's head above what [scores] prints.
const scoresHeader = "queries | recall@1 / 5 / 10 / 25 / 50 % | MRR |"

// scores are sums over queries.
type scores struct {
	queries int
	recall  [len(depths)]float64 // share of what answers a query among the first
	mrr     float64              // 1 / rank of the first that answers
}

// add counts what one query found, best first, of what answers it.
func (s *scores) add(found, evidence []string) {
	s.queries++
	answers := func(id string) bool { return slices.Contains(evidence, id) }
	for i, k := range depths {
		for _, id := range found[:min(k, len(found))] {
			if answers(id) {
				s.recall[i] += 1 / float64(len(evidence))
			}
		}
	}
	if i := slices.IndexFunc(found, answers); i >= 0 {
		s.mrr += 1 / float64(i+1)
	}
}

// at returns recall among the first k, a mean over queries in percent.
func (s *scores) at(k int) float64 {
	return 100 * s.recall[slices.Index(depths[:], k)] / float64(max(1, s.queries))
}

// String is the end of a row.
func (s *scores) String() string {
	var at []string
	for _, k := range depths {
		at = append(at, fmt.Sprintf("%.1f", s.at(k)))
	}
	return fmt.Sprintf("%d | %s | %.3f |\n", s.queries, strings.Join(at, " / "), s.mrr/float64(max(1, s.queries)))
}

func idsOf(hits []backends.Hit) []string {
	out := make([]string, len(hits))
	for i := range hits {
		out[i] = hits[i].ID
	}
	return out
}
