// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends/store"
)

// A stored vector is a byte for the encoding, four for the fingerprint of the embedding model's
// name, and the components of the normalised vector: float32, or a float32 scale and int8. Numbers
// are little-endian. The fingerprint tells a vector of a former model from the current ones, even
// where it was written during a re-embedding.
const (
	tagFloat32  = 1
	tagInt8     = 2
	vectorStart = 5
)

var (
	errStaleVector  = errors.New("vector of another embedding model")
	errBrokenVector = errors.New("vector that cannot be decoded")
)

// Decoder returns the function that decodes the stored vectors of a space, as Embed returned it. A
// damaged vector and one of another model are errors. It is safe for concurrent use.
func Decoder(space store.Embedding) func([]byte) ([]float32, error) {
	return func(encoded []byte) ([]float32, error) {
		v := make([]float32, space.Dim)
		return v, decodeVector(v, encoded, space.Model)
	}
}

func fingerprint(model string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(model))
	return h.Sum32()
}

// normalise returns v as float32 of length 1. NaN, infinities and the zero vector are errors, since
// they lack a direction.
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
	for _, x := range v { // scaled against overflow
		sum += (x / largest) * (x / largest)
	}
	length := math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / largest / length)
	}
	return out, nil
}

// encodeVector returns the stored form of a normalised vector, rounded to int8 or as it is.
func encodeVector(v []float32, rounded bool, model string) []byte {
	out := make([]byte, vectorStart, vectorStart+4+4*len(v))
	out[0] = tagFloat32
	binary.LittleEndian.PutUint32(out[1:], fingerprint(model))
	if !rounded {
		for _, x := range v {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
		return out
	}
	out[0] = tagInt8
	var largest float32
	for _, x := range v {
		largest = max(largest, x, -x)
	}
	scale := largest / 127
	out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
	for _, x := range v {
		out = append(out, byte(int8(math.RoundToEven(float64(x/scale)))))
	}
	return out
}

// decodeVector writes the components of a stored vector of a model to dst, which is as long as the
// space has dimensions. It returns errStaleVector for a vector of another model, errBrokenVector
// for a damaged one.
func decodeVector(dst []float32, encoded []byte, model string) error {
	if len(encoded) < vectorStart {
		return errBrokenVector
	}
	if binary.LittleEndian.Uint32(encoded[1:]) != fingerprint(model) {
		return errStaleVector
	}
	body := encoded[vectorStart:]
	switch {
	case encoded[0] == tagFloat32 && len(body) == 4*len(dst):
		return decodeFloat32(dst, body)
	case encoded[0] == tagInt8 && len(body) == 4+len(dst):
		return decodeInt8(dst, body)
	}
	return errBrokenVector
}

// decodeFloat32 refuses vectors far from length 1, and NaN.
func decodeFloat32(dst []float32, body []byte) error {
	out := dst
	for len(out) >= 4 && len(body) >= 16 { // a third less of a cold load than one by one
		a, b := binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[8:])
		out[0], out[1] = math.Float32frombits(uint32(a)), math.Float32frombits(uint32(a>>32))
		out[2], out[3] = math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b>>32))
		out, body = out[4:], body[16:]
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
	}
	if square := vek32.Dot(dst, dst); !(square < 2) {
		return errBrokenVector
	}
	return nil
}

// decodeInt8 restores the length 1 of a rounded vector, so that its products with others are
// cosines. The scale cancels out, and the sum of whole numbers is exact: the same vector on every
// machine.
func decodeInt8(dst []float32, body []byte) error {
	scale := math.Float32frombits(binary.LittleEndian.Uint32(body))
	square := 0
	for i, b := range body[4:] {
		x := int(int8(b))
		square += x * x
		dst[i] = float32(x)
	}
	if square == 0 || !(scale > 0) || math.IsInf(float64(scale), 0) {
		return errBrokenVector
	}
	vek32.MulNumber_Inplace(dst, float32(1/math.Sqrt(float64(square))))
	return nil
}

// Vectors keeps the vectors of texts for one piece of work, so that a text that is both searched
// with and stored is embedded once. It keeps all of them as long as the work lasts. The zero value
// is empty. It is safe for concurrent use.
type Vectors struct {
	Made   atomic.Int64 // how many vectors an embedder was asked for
	byText sync.Map     // of string and []float32, normalised
}

type vectorsKey struct{}

// WithVectors returns a context in which searches and [Ranker.Embed] take the vectors of v and add
// the ones that they make. It is for one ranker, because embedders have spaces of their own.
// Replies do not depend on such work, so its searches wait for the embedder as long as Embed does,
// instead of Config.EmbedTimeout.
func WithVectors(ctx context.Context, v *Vectors) context.Context {
	return context.WithValue(ctx, vectorsKey{}, v)
}

// learns reports whether a search belongs to work that learns.
func learns(ctx context.Context) bool { return ctx.Value(vectorsKey{}) != nil }

// vectorsOf returns the vectors of the work that ctx belongs to.
func vectorsOf(ctx context.Context) *Vectors {
	if v, ok := ctx.Value(vectorsKey{}).(*Vectors); ok {
		return v
	}
	return &Vectors{}
}

// unrelated are sentences about different things, in two languages. By their cosines an embedder
// shows how it rates unrelated texts.
var unrelated = [2][]string{
	{
		"The train leaves at nine.", "Water boils at one hundred degrees.", "The committee approved the budget.", "A triangle has three sides.",
		"The bridge was closed for repairs.", "Copper conducts electricity.", "The novel has twelve chapters.", "Rain is expected in the north.",
	},
	{
		"图书馆晚上八点关门。", "三角形有三条边。", "铜可以导电。", "这座桥正在维修。",
		"委员会批准了预算。", "水在一百度沸腾。", "这本小说有十二章。", "预计北方有雨。",
	},
}

// scale says what cosines mean, for an embedder and a language.
type scale struct {
	usual   float64 // of two unrelated texts
	related float64 // two texts with this cosine or more are related
}

// above returns the share of the way from a value to 1 that a cosine covers: 0 up to the value.
func above(value, cosine float64) float64 { return max(0, (cosine-value)/(1-value)) }

// scales holds the scales of an embedder, one for each language of the unrelated sentences.
type scales [len(unrelated)]scale

// highest bounds the cosines of a scale: equal texts are related for every embedder.
const highest = 0.99

// newScales makes the scales of the vectors of these sentences, one language after the other. The
// usual cosine is the mean of their cosines. Texts are related from three standard deviations above
// it.
func newScales(vectors [][]float32) *scales {
	var s scales
	for i := range s {
		n, sum, squares := 0.0, 0.0, 0.0
		for j := range unrelated[i] {
			for _, other := range vectors[:j] {
				c := float64(vek32.Dot(vectors[j], other))
				n, sum, squares = n+1, sum+c, squares+c*c
			}
		}
		mean := sum / n
		deviation := math.Sqrt(max(0, squares/n-mean*mean))
		s[i] = scale{max(0, min(highest, mean)), max(0, min(highest, mean+3*deviation))}
		vectors = vectors[len(unrelated[i]):]
	}
	return &s
}

// embedScaled sets the vectors of a query and of its parts by a Rewriter, and their scale. The
// first query of a process asks for the scales in the same request. If an embedder is too slow
// for so many texts, it is asked for the scales beside the searches, with the timeout of storing.
func (r *Ranker) embedScaled(ctx context.Context, s *service, q *query) error {
	known, texts := r.scales.Load(), []string(nil)
	for _, question := range q.questions {
		texts = append(texts, question.text)
	}
	n := len(texts)
	if known == nil {
		texts = slices.Concat(texts, unrelated[0], unrelated[1])
	}
	vectors, err := r.vectors(ctx, s, texts)
	switch {
	case err == nil && known == nil:
		known = newScales(vectors[n:])
		r.scales.Store(known)
	case errors.Is(err, context.DeadlineExceeded) && known == nil && r.scaling.CompareAndSwap(false, true):
		closed := r.life.Go(ctx, "embedder", func(ctx context.Context) error {
			defer r.scaling.Store(false)
			if vectors, err := r.vectors(ctx, r.storing, texts[n:]); err == nil {
				r.scales.Store(newScales(vectors))
			}
			return nil // the breaker knows how it ended
		})
		if closed != nil {
			return closed
		}
	}
	if err != nil {
		return err
	}
	for i, question := range q.questions {
		question.vector, question.scale = vectors[i], known.of(question.text)
	}
	return nil
}

// of returns the scale for the language of a query.
func (s *scales) of(query string) scale {
	if hasHan(query) {
		return s[1]
	}
	return s[0]
}
