// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package cellar

// Way returns the shortest safe way in steps: north, east, south and west, with "key"
// where the key is reached and "door" where the door is next.
func (c *Cellar) Way() []string {
	out := c.path(c.start, c.key)
	out = append(out, "key")
	toDoor := c.path(c.key, c.door)
	out = append(out, toDoor[:len(toDoor)-1]...)
	out = append(out, "door", toDoor[len(toDoor)-1])
	return append(out, c.path(c.door, c.exit)...)
}

func (c *Cellar) path(from, to point) []string {
	var out []string
	for p := to; p != from; {
		for _, d := range directions {
			before := point{p.x - d.dx, p.y - d.dy}
			left := c.distance(from, before)
			if left >= 0 && left < c.distance(from, p) && (before != c.door || from == c.door) && !c.wallAt(before) {
				out = append([]string{d.name}, out...)
				p = before
				break
			}
		}
	}
	return out
}

// Colour returns the colour of the door as the lock wants it.
func (c *Cellar) Colour() string { return c.rules.Colour.Of(c.colour) }
