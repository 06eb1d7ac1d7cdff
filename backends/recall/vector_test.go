// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/viterin/vek/vek32"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// encoded normalises and encodes a vector of the model "m".
func encoded(t require.TestingT, v []float64, rounded bool) []byte {
	n, err := normalise(v)
	require.NoError(t, err)
	return encodeVector(n, rounded, "m")
}

// decoded decodes a vector of the model "m".
func decoded(data []byte, dim int) ([]float32, error) {
	return Decoder(store.Embedding{Model: "m", Dim: dim})(data)
}

func TestVectorsKeepTheirDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e200, 1e200), 1, 40).Draw(t, "vector")
		largest := 0.0
		for _, x := range v {
			largest = max(largest, math.Abs(x))
		}
		if largest == 0 {
			return
		}
		got, err := decoded(encoded(t, v, rapid.Bool().Draw(t, "int8")), len(v))
		require.NoError(t, err)
		var dot, length, own float64
		for i, x := range v {
			x /= largest
			dot, own, length = dot+x*float64(got[i]), own+x*x, length+float64(got[i])*float64(got[i])
		}
		require.InDelta(t, 1, length, 1e-5)
		require.InDelta(t, 1, dot/math.Sqrt(own), 2e-3)
	})
}

func TestVectorSizes(t *testing.T) {
	v := make([]float64, 1536)
	v[0], v[1] = 3, 4
	require.Len(t, encoded(t, v, true), 5+4+1536)
	data := encoded(t, v, false)
	require.Len(t, data, 5+4*1536)
	got, err := decoded(data, 1536)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{0.6, 0.8, 0}, got[:3], 1e-6)
}

func TestVectorsWithoutDirection(t *testing.T) {
	for _, v := range [][]float64{{0, 0}, {1, math.NaN()}, {math.Inf(1), 0}, {math.Inf(-1)}, {}} {
		_, err := normalise(v)
		require.Error(t, err, "%v", v)
	}
}

func TestVectorOfAnotherModelOrShapeIsRefused(t *testing.T) {
	for _, rounded := range []bool{false, true} {
		data := encoded(t, []float64{1, 2, 3}, rounded)
		for _, space := range []store.Embedding{{Model: "n", Dim: 3}, {Model: "m", Dim: 2}, {Model: "m", Dim: 4}} {
			_, err := Decoder(space)(data)
			require.Error(t, err, "%v", space)
		}
		for n := range data {
			_, err := decoded(data[:n], 3)
			require.Error(t, err, "truncated to %d bytes", n)
		}
	}
}

// Rounded vectors come back at length 1, by whole numbers alone: the same on every machine,
// however its vector unit adds.
func TestInt8IsExact(t *testing.T) {
	check := func(t require.TestingT, numbers []int8) {
		one := make([]float64, len(numbers))
		one[0] = 1
		data := encoded(t, one, true)
		sum := int64(0)
		for i, x := range numbers {
			data[len(data)-len(numbers)+i] = byte(x)
			sum += int64(x) * int64(x)
		}
		v, err := decoded(data, len(numbers))
		if sum == 0 {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		f := float32(1 / math.Sqrt(float64(sum)))
		for i, x := range numbers {
			require.InDelta(t, float32(x)*f, v[i], 0)
		}
	}
	for _, all := range []int8{1, 127, -127, -128} { // as large as the sums can get
		check(t, slices.Repeat([]int8{all}, 3072))
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, slices.Repeat(rapid.SliceOfN(rapid.Int8(), 1, 40).Draw(t, "numbers"), rapid.IntRange(1, 50).Draw(t, "repeats")))
	})
}

func TestInt8WithoutScaleIsBroken(t *testing.T) {
	for _, scale := range []float32{0, -1, float32(math.NaN()), float32(math.Inf(1))} {
		data := encoded(t, []float64{1, 1, 1}, true)
		binary.LittleEndian.PutUint32(data[len(data)-7:], math.Float32bits(scale))
		_, err := decoded(data, 3)
		require.ErrorIs(t, err, errBrokenVector, "%v", scale)
	}
}

// One component that cannot be one is found, wherever it is.
func TestFloat32OutOfRangeIsBroken(t *testing.T) {
	inf := float32(math.Inf(1))
	for dim := 1; dim <= 11; dim++ {
		for at := range dim {
			for x, ok := range map[float32]bool{1: true, -1: true, 0: true, math.SmallestNonzeroFloat32: true,
				1.5: false, -1.5: false, math.MaxFloat32: false, inf: false, -inf: false, float32(math.NaN()): false} {
				data := encoded(t, slices.Repeat([]float64{1}, dim), false)
				binary.LittleEndian.PutUint32(data[5+4*at:], math.Float32bits(x))
				v, err := decoded(data, dim)
				require.Equal(t, ok, err == nil, "%v at %d of %d", x, at, dim)
				if ok {
					require.InDelta(t, x, v[at], 0)
				}
			}
		}
	}
}

func FuzzDecodeVector(f *testing.F) {
	for _, rounded := range []bool{false, true} {
		f.Add(encoded(f, []float64{1, -2, 3}, rounded), 3)
	}
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, data []byte, dim int) {
		v, err := decoded(data, 1+(dim&0xff+0x100)&0xff)
		if err != nil {
			return
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.Abs(float64(x)) > 2 {
				t.Fatalf("component %v", x)
			}
		}
	})
}

// Of the ten nearest by float32 nearly all are among the ten nearest by int8. With -v it
// logs the share for the shapes that embeddings come in: without any order, which is the
// worst for rounding since all are nearly as far, in wide clusters and in narrow ones.
func TestInt8FindsTheSameNeighbours(t *testing.T) {
	testkit.SlowUnderRace(t)
	const dim, memories, queries = 1536, 2000, 50
	rnd := rand.New(rand.NewPCG(5, 6))
	normal := func(length float64) []float64 {
		v := make([]float64, dim)
		for i := range v {
			v[i] = length * rnd.NormFloat64()
		}
		return v
	}
	nearest := func(rows [][]float32, query []float32) []string {
		best := topK{size: 10}
		for i, row := range rows {
			d := doc{memory: &backends.Memory{ID: strconv.Itoa(i)}}
			best.offer(ranked{candidate: candidate{doc: &d}, value: float64(vek32.Dot(query, row))})
		}
		var ids []string
		for _, r := range best.best() {
			ids = append(ids, r.doc.memory.ID)
		}
		return ids
	}
	for _, shape := range []struct {
		centres int
		spread  float64 // from a centre, in lengths of the centre
	}{{1, 1e6}, {100, 1}, {100, 0.3}, {100, 0.1}} {
		var centres [][]float64
		for range shape.centres {
			centres = append(centres, normal(1))
		}
		draw := func() []float64 {
			v := normal(shape.spread)
			for i, x := range centres[rnd.IntN(len(centres))] {
				v[i] += x
			}
			return v
		}
		var exact, rounded [][]float32
		for range memories {
			v := draw()
			for asInt8, rows := range map[bool]*[][]float32{false: &exact, true: &rounded} {
				row, err := decoded(encoded(t, v, asInt8), dim)
				require.NoError(t, err)
				*rows = append(*rows, row)
			}
		}
		found := 0
		for range queries {
			query, err := normalise(draw())
			require.NoError(t, err)
			near := nearest(exact, query)
			for _, slot := range nearest(rounded, query) {
				if slices.Contains(near, slot) {
					found++
				}
			}
		}
		share := float64(found) / (10 * queries)
		t.Logf("%+v: recall@10 %.3f", shape, share)
		require.Greater(t, share, 0.9, "%+v", shape)
	}
}
