// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/einomem/einomem/examples/internal/trial"
)

func TestEachSystemAddsAndIsSearched(t *testing.T) {
	chat, embed := made(trial.NewCorpus(60, 20, 96))
	for _, systems := range [][]system{byWords, byVectors} {
		var out bytes.Buffer
		if err := compare(t.Context(), &out, []trial.Conversation{chat, chat, chat}, systems, embed); err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSpace(out.String()), "\n")[2:]
		if len(rows) != len(systems) || strings.Count(rows[0], "(1)") != 3 {
			t.Errorf("not one row a system, compared with the first:\n%s", &out)
		}
		for i, s := range systems {
			if !strings.HasPrefix(rows[i], "| "+s.name+" | "+s.finds+" |") || !strings.HasSuffix(rows[i], ") |  |") {
				t.Errorf("times alone are known of %s: %s", s.name, rows[i])
			}
		}
	}
}

func TestEachSystemFindsWhatAnswersAQuestion(t *testing.T) {
	chat := trial.Conversation{ID: "fruits"}
	fruits := "apricots bananas cherries dates figs grapes kiwis lemons mangos nectarines oranges papayas"
	for i, fruit := range strings.Fields(fruits) {
		id, day := fmt.Sprint("D", i/4+1, ":", i%4+1), time.Date(2026, 3, 1+i/4, 9, 0, 0, 0, time.UTC)
		turn := trial.Turn{ID: id, Speaker: "Ann", Text: "I planted " + fruit + " yesterday", Session: fmt.Sprint(i / 4), Time: day}
		chat.Turns = append(chat.Turns, turn)
		chat.Questions = append(chat.Questions, trial.Question{Text: fruit, Evidence: []string{id}})
	}
	words := func(_ context.Context, text string) ([]float32, error) { // texts that share words are near
		v := make([]float32, 4093)
		for word := range strings.FieldsSeq(strings.Trim(text, "?")) {
			h := fnv.New32a()
			_, _ = h.Write([]byte(word))
			v[h.Sum32()%4093]++
		}
		return v, nil
	}
	for _, s := range slices.Concat(byWords, byVectors) {
		var m measured
		if err := m.ask(t.Context(), &s, &chat, words); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if len(m.found) != 12 || m.found.Mean(reciprocal) != 1 || m.found.Mean(at5) != 100 || m.found.Mean(at10) != 100 {
			t.Errorf("%s, %s: %+v, not the one message with the word first", s.name, s.finds, m)
		}
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	slow := &measured{times: [][3]float64{{10}, {20}, {300}}}
	quick := &measured{times: [][3]float64{{1}, {10}, {100}}}
	if got := slow.cell(quick, 0); got != "20 (3)" {
		t.Errorf("%s, not the medians of 10, 20, 300 and of 10, 2, 3", got)
	}
}

func TestOnlyWhatRanksHasARecall(t *testing.T) {
	chat, _ := made(trial.NewCorpus(20, 1, 8))
	chat.Questions[0] = trial.Question{Text: chat.Turns[0].Text, Evidence: []string{chat.Turns[0].ID}}
	var out bytes.Buffer
	if err := compare(t.Context(), &out, []trial.Conversation{chat, chat}, byWords, nil); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")[2:]
	for i, s := range byWords {
		if strings.HasSuffix(rows[i], "| 100.0 / 100.0, 1.000 |") == s.unranked {
			t.Errorf("%s does not rank: %v; %s", s.name, s.unranked, rows[i])
		}
	}
}

// BenchmarkBesideBleve times searches by words in turns with bleve's, and reports the medians and
// how many times as long einomem takes.
func BenchmarkBesideBleve(b *testing.B) {
	for _, n := range []int{700, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			chat, _ := made(trial.NewCorpus(n, 100, 16))
			var memories []*memory
			for _, s := range byWords[:2] {
				m, err := s.open(b.Context(), b.TempDir(), nil)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() {
					if err := m.close(); err != nil {
						b.Error(err)
					}
				})
				for i := range chat.Turns {
					if err := m.add(&chat.Turns[i]); err != nil {
						b.Fatal(err)
					}
				}
				memories = append(memories, m)
			}
			var took [2][]time.Duration
			for i := 0; b.Loop(); i++ {
				for n, m := range memories {
					begin := time.Now()
					if ids, err := m.find(chat.Questions[i%len(chat.Questions)].Text); err != nil || len(ids) == 0 {
						b.Fatal(ids, err)
					}
					took[n] = append(took[n], time.Since(begin))
				}
			}
			ours, theirs := trial.QuantilesOf(took[0]), trial.QuantilesOf(took[1])
			b.ReportMetric(ours.P50, "einomem-ms")
			b.ReportMetric(theirs.P50, "bleve-ms")
			b.ReportMetric(ours.P50/theirs.P50, "times")
		})
	}
}
