// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/einomem/einomem/backends/store"
)

// A stored vector is a byte for the encoding, four for the fingerprint of the
// embedding model's name, and the components of the normalised vector: float32,
// or a float32 scale and int8. Numbers are little-endian. With the fingerprint a
// vector of a former model is never taken for one of the current, even when
// somebody wrote it while the partition was re-embedded.
const (
	tagFloat32  = 1
	tagInt8     = 2
	vectorStart = 5
)

var (
	errStaleVector  = errors.New("vector of another embedding model")
	errBrokenVector = errors.New("vector that cannot be read")
)

func fingerprint(model string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(model))
	return h.Sum32()
}

// normalise returns v as float32 of length 1. NaN, infinities and the zero
// vector have no direction: they are an error.
func normalise(v []float64) ([]float32, error) {
	var largest float64
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("component %d is %v", i, x)
		}
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return nil, errors.New("zero vector")
	}
	var sum float64
	for _, x := range v { // scaled, so that nothing overflows
		sum += (x / largest) * (x / largest)
	}
	length := math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / largest / length)
	}
	return out, nil
}

// encodeVector returns the stored form of a normalised vector.
func encodeVector(v []float32, e Encoding, model string) []byte {
	if e == Int8 {
		return encodeInt8(v, model)
	}
	out := make([]byte, vectorStart, vectorStart+4*len(v))
	out[0] = tagFloat32
	binary.LittleEndian.PutUint32(out[1:], fingerprint(model))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func encodeInt8(v []float32, model string) []byte {
	var largest float32
	for _, x := range v {
		largest = max(largest, x, -x)
	}
	scale := largest / 127
	out := make([]byte, vectorStart, vectorStart+4+len(v))
	out[0] = tagInt8
	binary.LittleEndian.PutUint32(out[1:], fingerprint(model))
	out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
	for _, x := range v {
		out = append(out, byte(int8(math.RoundToEven(float64(x/scale)))))
	}
	return out
}

// decodeVector writes the components of a stored vector to dst, which is as long
// as e says.
func decodeVector(dst []float32, data []byte, e store.Embedding) error {
	if len(data) < vectorStart {
		return errBrokenVector
	}
	if binary.LittleEndian.Uint32(data[1:]) != fingerprint(e.Model) {
		return errStaleVector
	}
	body := data[vectorStart:]
	switch {
	case data[0] == tagFloat32 && len(body) == 4*len(dst):
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
		}
	case data[0] == tagInt8 && len(body) == 4+len(dst):
		scale := math.Float32frombits(binary.LittleEndian.Uint32(body))
		for i, b := range body[4:] {
			dst[i] = float32(int8(b)) * scale
		}
		rescale(dst)
	default:
		return errBrokenVector
	}
	for _, x := range dst {
		if x != x || x > 2 || x < -2 {
			return errBrokenVector
		}
	}
	return nil
}

// rescale brings a rounded vector back to length 1, so that its products with
// others are cosines.
func rescale(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return
	}
	f := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= f
	}
}
