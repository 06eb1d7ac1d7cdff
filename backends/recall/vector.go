// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"

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
	return decodeFrom(dst, data, fingerprint(e.Model))
}

// decodeFrom is decodeVector with the fingerprint of the model.
func decodeFrom(dst []float32, data []byte, model uint32) error {
	if len(data) < vectorStart {
		return errBrokenVector
	}
	if binary.LittleEndian.Uint32(data[1:]) != model {
		return errStaleVector
	}
	body := data[vectorStart:]
	switch {
	case data[0] == tagFloat32 && len(body) == 4*len(dst):
		return decodeFloat32(dst, body)
	case data[0] == tagInt8 && len(body) == 4+len(dst):
		return decodeInt8(dst, body)
	}
	return errBrokenVector
}

// decodeFloat32 refuses components above 2, and what is no number. A vector whose
// square is as small as it should be has none of them.
func decodeFloat32(dst []float32, body []byte) error {
	out := dst
	for len(out) >= 4 && len(body) >= 16 {
		a, b := binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[8:])
		out[0], out[1] = math.Float32frombits(uint32(a)), math.Float32frombits(uint32(a>>32))
		out[2], out[3] = math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b>>32))
		out, body = out[4:], body[16:]
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
	}
	if vek32.Dot(dst, dst) < 2 {
		return nil
	}
	for _, x := range dst {
		if x != x || x > 2 || x < -2 {
			return errBrokenVector
		}
	}
	return nil
}

// decodeInt8 brings the rounded vector back to length 1, so that its products
// with others are cosines. The scale takes no part in that.
func decodeInt8(dst []float32, body []byte) error {
	scale := math.Float32frombits(binary.LittleEndian.Uint32(body))
	expand(dst, body[4:])
	sum := squares(dst)
	if sum == 0 || !(scale > 0) || math.IsInf(float64(scale), 0) {
		return errBrokenVector
	}
	vek32.MulNumber_Inplace(dst, float32(1/math.Sqrt(sum)))
	return nil
}

// expand writes int8 numbers to dst, which is as long. A table is faster than the
// processor's conversion, and four at a time than one.
func expand(dst []float32, numbers []byte) {
	for len(dst) >= 4 && len(numbers) >= 4 {
		dst[0], dst[1] = wholeNumbers[numbers[0]], wholeNumbers[numbers[1]]
		dst[2], dst[3] = wholeNumbers[numbers[2]], wholeNumbers[numbers[3]]
		dst, numbers = dst[4:], numbers[4:]
	}
	for i, b := range numbers {
		dst[i] = wholeNumbers[b]
	}
}

// wholeNumbers are the int8 numbers, by their bits.
var wholeNumbers = func() (table [256]float32) {
	for b := range table {
		table[b] = float32(int8(b))
	}
	return table
}()

// squares returns the sum of the squares of int8 numbers. It is exact, and so the
// same on every machine: float32 holds all whole numbers up to the sum of 1024.
func squares(v []float32) (sum float64) {
	for some := range slices.Chunk(v, 1024) {
		sum += float64(vek32.Dot(some, some))
	}
	return sum
}

// Decoder returns the function that reads the stored vectors of a space, as Embed
// returned it. A vector of another model, and one that cannot be read, is an error.
// It is safe for concurrent use.
func Decoder(space store.Embedding) func([]byte) ([]float32, error) {
	return func(encoded []byte) ([]float32, error) {
		v := make([]float32, space.Dim)
		return v, decodeVector(v, encoded, space)
	}
}
