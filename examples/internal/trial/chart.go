// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
)

// Chart is lines over an axis of numbers. X runs evenly over the places of the points, like a
// logarithm over sizes that double.
type Chart struct {
	Title, X, Y string
	Lines       []Line
}

// Line is points in the order of their X.
type Line struct {
	Name   string
	Points [][2]float64 // X, Y
}

// The plane in the picture, in pixels, and how many marks the axis Y has above 0.
const left, right, chartTop, chartEnd, chartSteps = 70, 700, 50, 330, 5

// lineColours also differ for readers who confuse red and green (Okabe and Ito 2008).
var lineColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// Add appends a point to a line, and makes the line for its first point.
func (c *Chart) Add(line string, x, y float64) {
	at := slices.IndexFunc(c.Lines, func(l Line) bool { return l.Name == line })
	if at < 0 {
		at, c.Lines = len(c.Lines), append(c.Lines, Line{Name: line})
	}
	c.Lines[at].Points = append(c.Lines[at].Points, [2]float64{x, y})
}

// SVG returns the chart as a picture.
func (c *Chart) SVG() []byte {
	var out bytes.Buffer
	text := func(x, y int, anchor, said string) {
		fmt.Fprintf(&out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, html.EscapeString(said))
	}
	out.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 420" font-family="sans-serif" font-size="13">
<rect width="720" height="420" fill="white"/>
`)
	text((left+right)/2, 28, "middle", c.Title)
	text(left, chartTop-16, "middle", c.Y)
	text((left+right)/2, chartEnd+40, "middle", c.X)
	step := c.step()
	for i := range chartSteps + 1 {
		y := c.y(float64(i) * step)
		fmt.Fprintf(&out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>\n", left, y, right, y)
		text(left-8, y+4, "end", number(float64(i)*step))
	}
	for _, x := range c.places() {
		text(c.x(x), chartEnd+20, "middle", number(x))
	}
	for i, l := range c.Lines {
		colour := lineColours[i%len(lineColours)]
		fmt.Fprintf(&out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour)
		for _, p := range l.Points {
			fmt.Fprintf(&out, "%d,%d ", c.x(p[0]), c.y(p[1]))
		}
		fmt.Fprintln(&out, "\"/>")
		x, y := left+i%3*220, chartEnd+62+i/3*20
		fmt.Fprintf(&out, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"4\" fill=\"%s\"/>\n", x, y-6, colour)
		text(x+20, y, "start", l.Name)
	}
	fmt.Fprintln(&out, "</svg>")
	return out.Bytes()
}

// places returns the X of all points, each once, in order.
func (c *Chart) places() []float64 {
	var out []float64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			out = append(out, p[0])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *Chart) x(value float64) int {
	places := c.places()
	return left + 20 + slices.Index(places, value)*(right-left-40)/max(1, len(places)-1)
}

func (c *Chart) y(value float64) int {
	return chartEnd - int(math.Round(value/c.step()/chartSteps*(chartEnd-chartTop)))
}

// step returns the distance of two marks of the axis Y, which begins with 0: one digit and
// zeros, so that all points have room.
func (c *Chart) step() float64 {
	top := math.SmallestNonzeroFloat32
	for _, l := range c.Lines {
		for _, p := range l.Points {
			top = max(top, p[1])
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(top/chartSteps)))
	return math.Ceil(top/chartSteps/power) * power
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
