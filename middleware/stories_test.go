// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/middleware/stories"
)

// The least shares of the stories whose notes are right.
const (
	leastWithModel    = 0.95
	leastWithoutModel = 0.85
)

// The stories of each file are told to memory on SQLite, and the first ones to an imitation
// of Redis, too.
func TestStories(t *testing.T) {
	testkit.SlowUnderRace(t)
	files, err := filepath.Glob("stories/testdata/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 7)
	files = slices.Insert(files, 0, "testdata/stories.txt")
	for _, arm := range []struct {
		name    string
		noModel bool
		least   float64
		failing []string
	}{{"with a model", false, leastWithModel, failWithModel}, {"without a model", true, leastWithoutModel, failWithoutModel}} {
		t.Run(arm.name, func(t *testing.T) {
			right, of := 0.0, 0.0
			for _, file := range files {
				r, n := tell(t, toldToSQLite, arm.noModel, arm.failing, file)
				right, of = right+r, of+n
			}
			t.Logf("%.0f of %.0f stories, %.1f %%", right, of, 100*right/of)
			assert.GreaterOrEqual(t, right, arm.least*of)
			tell(t, toldToRedis, arm.noModel, arm.failing, files[0])
		})
	}
}

// failWithModel and failWithoutModel name the stories whose note is wrong, by their file. A story
// that comes right has to leave the list.
var failWithModel = []string{
	"needs: The cheaper one", "needs: 再找找其他的",
	"smalltalk: How are you",
	"stories: Small talk",
}

var failWithoutModel = []string{
	"forget: Leaving the job", "forget: The canary word", "forget: The ex", "forget: The home address", "forget: 前男友",
	"forget: 存款数字", "forget: 忘掉住址", "forget: 忘掉辞职的事", "forget: 暗号换了",
	"needs: The cheaper one",
	"smalltalk: A pizza place and a diagnosis", "smalltalk: How are you", "smalltalk: Someone else's secret",
	"smalltalk: 别人的秘密", "smalltalk: 请假邮件",
	"stories: A wrong number corrected", "stories: Asked before", "stories: Small talk", "stories: Sorry, I meant Tuesday",
	"stories: The book that the assistant suggested", "stories: 助手推荐的餐厅", "stories: 说错了，是周二",
}

// openStory opens an empty store that goes by the clock of a story.
type openStory func(t *testing.T, s *stories.Story) store.Store

func toldToSQLite(t *testing.T, s *stories.Story) store.Store {
	return testkit.SQLite(t, func(c *sqlitestore.Config) { c.Clock = s.Now })
}

func toldToRedis(t *testing.T, s *stories.Story) store.Store {
	return testkit.Redis(t, nil, func(c *redisstore.Config) { c.Clock = s.Now })
}

// tell tells the stories of a file. The notes of all of them have to be right but of those that
// fail, and these have to leave the list when they come right. It returns how many are right,
// and how many there are.
func tell(t *testing.T, open openStory, noModel bool, failing []string, file string) (right, of float64) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	all, err := stories.Parse(strings.NewReader(string(text)))
	require.NoError(t, err, file)
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			notes := wrongNotes(t, open, s, noModel)
			if len(notes) == 0 {
				right++
			}
			name := strings.TrimSuffix(filepath.Base(file), ".txt") + ": " + s.Name
			require.Equal(t, slices.Contains(failing, name), len(notes) > 0, "the list of the stories that fail has %q", name)
		})
	}
	t.Logf("%s: %.0f of %d stories", filepath.Base(file), right, len(all))
	return right, float64(len(all))
}

// wrongNotes tells a story, and returns the notes that lack or have what they should not.
func wrongNotes(t *testing.T, open openStory, s *stories.Story, noModel bool) []stories.Note {
	s.NoModel = noModel
	failed := &testkit.Failures{}
	notes, err := s.Run(t.Context(), memoryOf(t, s, open(t, s), failed))
	require.NoError(t, err)
	if err := failed.Err(); err != nil { // what a pasted text wants is reported as skipped, and a wish that nobody understands
		require.Regexp(t, "asks to remember it|no model says what they mean", err.Error())
	}
	notes = slices.DeleteFunc(notes, func(n stories.Note) bool { return len(n.Wrong) == 0 })
	for _, n := range notes {
		t.Logf("line %d: %s\n%s\n%s", n.Line, n.Question, strings.Join(n.Wrong, "\n"), n.Text)
	}
	return notes
}

// memoryOf makes memory as users do, for a story.
func memoryOf(t *testing.T, s *stories.Story, db store.Store, failed *testkit.Failures) *middleware.MemoryMiddleware {
	cfg := &mem0.Config{Store: db, Clock: s.Now, Location: s.Now().Location()}
	if !s.NoModel {
		cfg.Model = s.Model()
	}
	b, err := mem0.New(t.Context(), cfg)
	require.NoError(t, err)
	return open(t, &middleware.Config{Backend: b, Clock: s.Now, Location: s.Now().Location(), OnError: failed.Add})
}
