// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package cellar

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// What ground can be like, besides plain and silent.
var (
	textures = []string{"mossy", "cracked", "sandy", "wet"}
	sounds   = []string{"humming", "ticking", "creaking"}
)

// Form is how the lock wants the colour.
type Form string

// The forms. None of them is how a task names the colour.
const (
	Capitals    Form = "capitals"    // BLUE
	Capitalised Form = "capitalised" // Blue
	Initial     Form = "initial"     // b
)

var forms = []Form{Capitals, Capitalised, Initial}

// Of returns a colour in the form.
func (f Form) Of(colour string) string {
	switch f {
	case Capitals:
		return strings.ToUpper(colour)
	case Capitalised:
		return strings.ToUpper(colour[:1]) + colour[1:]
	}
	return colour[:1]
}

// MaxRadius is the largest radius that the scanner takes.
const MaxRadius = 5

// Rules are what all cellars of a family have in common.
type Rules struct {
	Pit         string // ground that is like this gives way
	Colour      Form   // how the lock wants the colour
	Least, Most int    // the scanner times out for a radius that is smaller or larger
}

// String says what the rules are.
func (r Rules) String() string {
	return fmt.Sprintf("%s ground gives way, the lock wants %s, the scanner works for radius %d to %d", r.Pit, r.Colour, r.Least, r.Most)
}

// ranges are those in which scanners work.
var ranges = []struct{ least, most int }{{1, 2}, {4, MaxRadius}}

// DrawRules draws the rules of a family.
func DrawRules(seed uint64) Rules {
	r := rand.New(rand.NewPCG(seed, 0))
	pits := append(append([]string(nil), textures...), sounds...)
	scan := ranges[r.IntN(len(ranges))]
	return Rules{Pit: pits[r.IntN(len(pits))], Colour: forms[r.IntN(len(forms))], Least: scan.least, Most: scan.most}
}

// Other draws the rules of another family, in which nothing of r holds: other ground
// gives way, the lock wants another form, and no radius works in both.
func (r Rules) Other(seed uint64) Rules {
	for ; ; seed++ {
		o := DrawRules(seed)
		if o.Pit != r.Pit && o.Colour != r.Colour && (o.Least > r.Most || o.Most < r.Least) {
			return o
		}
	}
}
