// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/porter"
	"github.com/blevesearch/snowballstem/russian"
)

// language says how words of one script are stopped and stemmed. The language is
// told by the script alone: a question is too short to guess by, and a wrong
// guess on one side only would part words that belong together. So Latin text is
// stemmed as English (Porter 1980) and Cyrillic as Russian; scripts without an
// entry keep their words as they are.
type language struct {
	script *unicode.RangeTable
	stop   map[string]bool
	stem   func(*snowballstem.Env) bool
}

// stemmed returns the stem of a folded word.
func (l *language) stemmed(word string) string {
	env := snowballstem.NewEnv(word)
	l.stem(env)
	if s := env.Current(); s != "" {
		return s
	}
	return word
}

func loadLanguages() ([]language, error) {
	languages := []language{
		{script: unicode.Latin, stem: porter.Stem},
		{script: unicode.Cyrillic, stem: russian.Stem},
		{script: unicode.Arabic, stem: arabic.Stem},
	}
	for i, words := range [][]byte{en.EnglishStopWords, ru.RussianStopWords, ar.ArabicStopWords} {
		stop := analysis.NewTokenMap()
		if err := stop.LoadBytes(words); err != nil {
			return nil, fmt.Errorf("reading a stop list: %w", err)
		}
		languages[i].stop = stop
	}
	return languages, nil
}
