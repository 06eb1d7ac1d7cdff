// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// corpus is a pile of reports that no window holds, made up from a seed.
type corpus struct {
	reports   []string
	questions []question
}

// question is one that the reports answer, in one place.
type question struct {
	ask    string
	answer string // what an answer must contain
	where  int    // the report's number
}

var stations = strings.Fields(`Aldmoor Brackwater Corvid Dunmere Eskdale Farrow Gullane Harrow Inverlee Jarrow Kestrel Larkhill Marwick Norburn Orla Pendle
	Quarrel Ravensby Selkirk Thornby Ulverton Vallay Wexcombe Yarrow Zennor`)

var remarks = []string{
	"The %s was cleaned and the filters were changed.", "Pressure in the %s stayed within its limits all week.",
	"Two hours were spent on the %s before the rain came.", "The crew asks for spare parts for the %s by the end of the month.",
	"Nobody could say since when the %s had been noisy.", "Readings of the %s were taken at dawn and at dusk.",
	"The paint on the %s is to be renewed next spring.", "A visitor took photographs of the %s for the local paper.",
}

var things = strings.Fields("compressor turbine gauge intake outlet generator fence ladder crane boiler radio mast culvert sluice gate ventilator relay battery cable trench roof")

// newCorpus makes up n reports of about so many words each. One is a log in a
// single line, many times as long; one is Chinese.
func newCorpus(n, words int, seed uint64) *corpus {
	r := rand.New(rand.NewPCG(seed, seed))
	c := &corpus{}
	for i := range n {
		station, lines := stations[i%len(stations)], filler(r, words)
		report := fmt.Sprintf("Report %d of %d\nStation: %s\n", i+1, n, station)
		switch i {
		case n / 4:
			c.questions = append(c.questions, question{"Which pump at " + station + " station had a cracked valve?", "pump 31", i + 1})
			lines[len(lines)/2] = "The inspector found a cracked valve on pump 31 at " + station + " station."
		case n / 2:
			c.questions = append(c.questions, question{"柳溪站的阀门编号是多少？", "7391", i + 1})
			report = fmt.Sprintf("Report %d of %d\n柳溪站的情况良好。本周检查了所有管道。柳溪站的阀门编号是7391。天气晴朗，没有发现问题。\n", i+1, n)
		case 3 * n / 4:
			c.questions = append(c.questions, question{"What is the calibration code of the Halcyon run?", "QX-5517", i + 1})
			lines = filler(r, 12*words)
			half := len(lines) / 2
			report = fmt.Sprintf("Report %d of %d: ", i+1, n)
			lines = []string{strings.Join(lines[:half], " ") + " The calibration code of the Halcyon run is QX-5517. " + strings.Join(lines[half:], " ")}
		}
		c.reports = append(c.reports, report+strings.Join(lines, "\n"))
	}
	return c
}

// filler returns sentences of about so many words together.
func filler(r *rand.Rand, words int) []string {
	var out []string
	for n := 0; n < words; {
		s := fmt.Sprintf(remarks[r.IntN(len(remarks))], things[r.IntN(len(things))])
		n += strings.Count(s, " ") + 1
		out = append(out, s)
	}
	return out
}
