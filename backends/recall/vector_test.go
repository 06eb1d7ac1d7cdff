// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

func TestVectorsKeepTheirDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e200, 1e200), 1, 40).Draw(t, "vector")
		encoding := rapid.SampledFrom([]recall.Encoding{recall.Float32, recall.Int8}).Draw(t, "encoding")
		data, err := recall.EncodeVector(v, encoding, "m")
		largest := 0.0
		for _, x := range v {
			largest = max(largest, math.Abs(x))
		}
		if largest == 0 {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		got, err := recall.DecodeVector(data, store.Embedding{Model: "m", Dim: len(v)})
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
	f, err := recall.EncodeVector(v, recall.Float32, "m")
	require.NoError(t, err)
	require.Len(t, f, 5+4*1536)
	i, err := recall.EncodeVector(v, recall.Int8, "m")
	require.NoError(t, err)
	require.Len(t, i, 5+4+1536)
	got, err := recall.DecodeVector(f, store.Embedding{Model: "m", Dim: 1536})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{0.6, 0.8, 0}, got[:3], 1e-6)
}

func TestVectorsWithoutDirection(t *testing.T) {
	for _, v := range [][]float64{{0, 0}, {1, math.NaN()}, {math.Inf(1), 0}, {math.Inf(-1)}, {}} {
		_, err := recall.EncodeVector(v, recall.Float32, "m")
		require.Error(t, err, "%v", v)
	}
}

func TestVectorOfAnotherModelOrShapeIsRefused(t *testing.T) {
	for _, e := range []recall.Encoding{recall.Float32, recall.Int8} {
		data, err := recall.EncodeVector([]float64{1, 2, 3}, e, "m")
		require.NoError(t, err)
		for _, space := range []store.Embedding{{Model: "n", Dim: 3}, {Model: "m", Dim: 2}, {Model: "m", Dim: 4}} {
			_, err := recall.DecodeVector(data, space)
			require.Error(t, err, "%v", space)
		}
		for n := range data {
			_, err := recall.DecodeVector(data[:n], store.Embedding{Model: "m", Dim: 3})
			require.Error(t, err, "cut to %d bytes", n)
		}
	}
}

func FuzzDecodeVector(f *testing.F) {
	for _, e := range []recall.Encoding{recall.Float32, recall.Int8} {
		data, err := recall.EncodeVector([]float64{1, -2, 3}, e, "m")
		require.NoError(f, err)
		f.Add(data, 3)
	}
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, data []byte, dim int) {
		dim = 1 + (dim&0xff+0x100)&0xff
		v, err := recall.DecodeVector(data, store.Embedding{Model: "m", Dim: dim})
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
