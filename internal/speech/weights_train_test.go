// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// example is a message by its sentences.
type example struct {
	sentences [][]uint32
	is        float64 // 1, or 0
}

func examples(t *testing.T, file string) (out []example) {
	t.Helper()
	all, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	for line := range strings.Lines(string(all)) {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		e := example{is: map[string]float64{"+": 1}[mark]}
		for _, s := range cuesOf(text) {
			e.sentences = append(e.sentences, slices.Sorted(maps.Keys(s)))
		}
		if (mark == "+" || mark == "-") && len(e.sentences) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// EINOMEM_TRAIN=1 go test ./internal/speech -run Train writes the weights anew, by AdaGrad (Duchi et al.,
// JMLR 12, 2011). Of each message the sentence with the best score learns. What scores more than bar, in
// logits, is to count. Every cue gains lean, also one that the fit has not seen: else words about other
// things outweigh an order in a long sentence.
func TestTrain(t *testing.T) {
	if os.Getenv("EINOMEM_TRAIN") == "" {
		t.Skip("EINOMEM_TRAIN is not set")
	}
	fit := func(file string, all []example, decay, lean, bar float64) {
		const rate, epochs = 0.2, 40
		var weights, steps, mean [1 + hashed]float64
		order := rand.New(rand.NewPCG(1, 2))
		for epoch := range epochs {
			order.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, e := range all {
				var best []uint32
				most := math.Inf(-1)
				for _, s := range e.sentences {
					score := 0.0
					for _, cue := range s {
						score += weights[cue]
					}
					if score > most {
						best, most = s, score
					}
				}
				wrong := 1/(1+math.Exp(-most)) - e.is
				for _, cue := range best {
					slope := wrong
					if cue != biased {
						slope += decay * weights[cue]
					}
					steps[cue] += slope * slope
					weights[cue] -= rate * slope / math.Sqrt(steps[cue]+1e-8)
				}
			}
			for cue := range mean {
				if epoch >= epochs/2 { // the mean of the second half is steadier than the end
					mean[cue] += weights[cue] * 2 / epochs
				}
			}
		}
		for cue := range mean {
			mean[cue] += lean
		}
		mean[biased] -= bar + lean
		out := make([]byte, len(mean))
		for cue, w := range mean {
			out[cue] = byte(int8(math.Round(max(-127, min(127, 25*w)))))
		}
		require.NoError(t, os.WriteFile(file, out, 0o644))
	}
	fit("standing.bin", append(examples(t, "standing_train.txt"), slices.Repeat(examples(t, "standing_build.txt"), 6)...), 0.01, 0.015, 1.9)
	plain := slices.Concat(examples(t, "personal_train.txt"), examples(t, "standing_train.txt"))
	for i := range plain {
		plain[i].is = 0
	}
	fit("forget.bin", slices.Concat(plain, slices.Repeat(slices.Concat(examples(t, "forget_train.txt"), examples(t, "forget_build.txt")), 3)), 0.004, 0, -1.5)
	fit("personal.bin", append(examples(t, "personal_train.txt"), slices.Repeat(examples(t, "personal_build.txt"), 3)...), 0.003, 0, -0.25)
}
