// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// stored returns an encoded vector of n components with another body.
func stored(t testing.TB, e recall.Encoding, n int, body func(i int) uint32) []byte {
	t.Helper()
	one := make([]float64, n)
	one[0] = 1
	data, err := recall.EncodeVector(one, e, "m")
	require.NoError(t, err)
	width := 4
	if e == recall.Int8 {
		width = 1
	}
	at := len(data) - n*width
	for i := range n {
		if width == 1 {
			data[at+i] = byte(body(i))
		} else {
			binary.LittleEndian.PutUint32(data[at+4*i:], body(i))
		}
	}
	return data
}

// Rounded vectors come back at length 1, by whole numbers alone: the same on every
// machine, however its vector unit adds.
func TestInt8IsExact(t *testing.T) {
	check := func(t require.TestingT, data []byte, numbers []int8) {
		sum := int64(0)
		for _, x := range numbers {
			sum += int64(x) * int64(x)
		}
		v, err := recall.DecodeVector(data, store.Embedding{Model: "m", Dim: len(numbers)})
		if sum == 0 {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		f := float32(1 / math.Sqrt(float64(sum)))
		for i, x := range numbers {
			require.Equal(t, float32(x)*f, v[i])
		}
	}
	for _, all := range []int8{1, 127, -127, -128} { // as large as the sums can get
		numbers := make([]int8, 3072)
		for i := range numbers {
			numbers[i] = all
		}
		check(t, stored(t, recall.Int8, len(numbers), func(int) uint32 { return uint32(uint8(all)) }), numbers)
	}
	rapid.Check(t, func(rt *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Int8(), 1, 40).Draw(rt, "numbers")
		for n := rapid.IntRange(0, 8).Draw(rt, "doublings"); n > 0 && len(numbers) < 2100; n-- {
			numbers = append(numbers, numbers...)
		}
		check(rt, stored(t, recall.Int8, len(numbers), func(i int) uint32 { return uint32(uint8(numbers[i])) }), numbers)
	})
}

func TestInt8WithoutScale(t *testing.T) {
	for _, scale := range []float32{0, -1, float32(math.NaN()), float32(math.Inf(1))} {
		data := stored(t, recall.Int8, 3, func(int) uint32 { return 1 })
		binary.LittleEndian.PutUint32(data[len(data)-7:], math.Float32bits(scale))
		_, err := recall.DecodeVector(data, store.Embedding{Model: "m", Dim: 3})
		require.Error(t, err, "%v", scale)
	}
}

// One component that cannot be one is found, wherever it stands.
func TestFloat32OutOfRange(t *testing.T) {
	for dim := 1; dim <= 11; dim++ {
		for at := range dim {
			for _, c := range []struct {
				x  float32
				ok bool
			}{{2, true}, {-2, true}, {0, true}, {float32(math.Copysign(0, -1)), true}, {math.SmallestNonzeroFloat32, true},
				{math.Nextafter32(2, 3), false}, {math.Nextafter32(-2, -3), false}, {math.MaxFloat32, false},
				{float32(math.Inf(1)), false}, {float32(math.Inf(-1)), false}, {float32(math.NaN()), false}} {
				data := stored(t, recall.Float32, dim, func(i int) uint32 {
					if i == at {
						return math.Float32bits(c.x)
					}
					return math.Float32bits(float32(i) / 16)
				})
				v, err := recall.DecodeVector(data, store.Embedding{Model: "m", Dim: dim})
				require.Equal(t, c.ok, err == nil, "%v at %d of %d", c.x, at, dim)
				for i := range v {
					if i != at && c.ok {
						require.Equal(t, float32(i)/16, v[i])
					}
				}
			}
		}
	}
}
