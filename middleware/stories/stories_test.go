// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package stories_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/middleware/stories"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run tells a story to memory.
func run(t *testing.T, told string, m func(*stories.Story) model.BaseChatModel) stories.Note {
	t.Helper()
	all, err := stories.Parse(strings.NewReader(told))
	require.NoError(t, err)
	require.Len(t, all, 1)
	all[0].NoModel = m == nil
	var learns model.BaseChatModel
	if m != nil {
		learns = m(all[0])
	}
	notes, err := tell(t.Context(), all[0], learns)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	return notes[0]
}

// Each want fails where the note is not as it says.
func TestWantsFail(t *testing.T) {
	const told = "## A cat\nuser: My cat is called Miso.\n  + The user's cat is called Miso.\nassistant: Cute!\n-- 3 days\nask: What's my cat's name?\n"
	for want, wrong := range map[string]bool{
		"says: Miso": false, "says: Kimchi": true, "says: Kimchi | Miso": false,
		"first: Miso": false, "first: Kimchi": true,
		"never: Miso": true, "never: Kimchi": false,
		"stale: is called Miso": true, "stale: is called Kimchi": false,
		"small: 10": true, "small: 400": false,
		"empty: yes": true,
	} {
		note := run(t, told+want+"\n", (*stories.Story).Model)
		if !wrong {
			require.Empty(t, note.Wrong, want)
			continue
		}
		require.Equal(t, []string{want}, note.Wrong)
		require.Equal(t, 6, note.Line)
		require.Equal(t, "What's my cat's name?", note.Question)
	}
	silent := run(t, "## Nothing known\nask: What's my cat's name?\nempty: yes\n", (*stories.Story).Model)
	require.Empty(t, silent.Wrong)
}

// What the scripted model learns is what the story says: a fact that was superseded is not
// shown as what holds, a retracted one is not, and a forgotten one is gone.
func TestScriptedModel(t *testing.T) {
	const cat = "## A cat\nuser: My cat is called Miso.\n  + The user's cat is called Miso.\nassistant: Cute!\n-- 3 days\n"
	for name, story := range map[string]string{
		"supersede": cat + "user: We renamed the cat, it's Kimchi now.\n  The user's cat is called Miso. => The user's cat is called Kimchi.\nassistant: OK.\n-- 1 day\nask: What is my cat called?\nsays: called Kimchi\nstale: is called Miso\n",
		"retract":   cat + "user: The cat ran away.\n  - The user's cat is called Miso.\nassistant: Oh no.\n-- 1 day\nask: What is my cat called?\nstale: is called Miso\n",
		"forget":    cat + "user: Please forget my cat's name.\n  ! Miso\nassistant: Done.\n-- 1 day\nask: What is my cat called?\nnever: Miso\n",
	} {
		require.Empty(t, run(t, story, (*stories.Story).Model).Wrong, name)
	}
	unknown := run(t, "## A cat\nuser: We renamed the cat.\n  The cat is called Miso. => The user's cat is called Kimchi.\nassistant: OK.\n-- 1 day\nask: What is my cat called?\nsays: Kimchi\nsays: Bello\n", (*stories.Story).Model)
	require.Equal(t, []string{"says: Bello", "(the scripted model was not shown: The cat is called Miso.)"}, unknown.Wrong)
}

// Without a model the words themselves are found, and nothing says what they replace.
func TestWithoutModel(t *testing.T) {
	note := run(t, moved, nil)
	require.Contains(t, note.Text, "I moved to Oslo last week (16 Nov to 22 Nov).")
	require.NotContains(t, note.Wrong, "stale: lives in Bergen")
}

// Time passes as the story says, with the hours of where the user lives.
func TestClock(t *testing.T) {
	all, err := stories.Parse(strings.NewReader("## Summer time\nclock: Sat 2026-03-28 09:00 Europe/Berlin\nuser: Hi.\n-- 1 day\nuser: Hi again.\n-- 30 minutes\nuser: And again.\nclock: Fri 2026-11-20 07:30 Europe/Berlin\nask: What day is it?\n"))
	require.NoError(t, err)
	require.Equal(t, "Europe/Berlin", all[0].Now().Location().String())
	var times []string
	note := func(context.Context, hooks.Note) {
		times = append(times, all[0].Now().Format("Mon 01-02 15:04 MST"))
	}
	db := testkit.SQLite(t)
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: b, Clock: all[0].Now, OnNote: note})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close(t.Context())) }()
	_, err = all[0].Run(t.Context(), mem)
	require.NoError(t, err)
	require.Equal(t, []string{"Sat 03-28 09:00 CET", "Sun 03-29 09:01 CEST", "Sun 03-29 09:32 CEST", "Fri 11-20 07:30 CET"}, times)
}

// An error names the line that is wrong.
func TestParseErrors(t *testing.T) {
	for story, want := range map[string]string{
		"## S\nuse: x\n":                                 "line 3: it stands below no message",
		"## S\nuser: x\nsays: y\n":                       "line 4: it is no line of a story, or stands below no ask",
		"## S\nask: x\nsay: y\n":                         "line 4: it is no line of a story",
		"## S\nask: x\nsmall: few\n":                     "line 4: it is no line",
		"## S\nassistant: x\n":                           "line 3: it answers no message",
		"## S\nuser: x\nassistant: y\nassistant: z\n":    "line 5: it answers no message",
		"## S\nuser: x\n  fact\n":                        "line 4: it is no line of a story",
		"## S\n\nclock: Fri 2026-11-21 07:30 Asia/Tokyo": "line 4: that day is a Saturday",
		"## S\nclock: Fri 2026-11-20 07:30 Asia/Nowhere": "line 3: unknown time zone",
		"## S\nclock: 2026-11-20 07:30":                  "line 3: unknown time zone",
		"## S\nask: x\n-- 3 moons\n":                     "line 4: it is no line of a story",
		"## S\nask: x\n-- 3 days\n  + y\n":               "line 5: it stands below no message",
	} {
		_, err := stories.Parse(strings.NewReader("A comment.\n" + story))
		require.ErrorContains(t, err, want, story)
	}
}

// What fails in learning is an error of the story, with the line.
func TestFailures(t *testing.T) {
	all, err := stories.Parse(strings.NewReader("## S\nuser: I live in Oslo.\nassistant: A fine city!\n"))
	require.NoError(t, err)
	_, err = tell(t.Context(), all[0], testkit.New(testkit.Fail(errors.New("no more credit"))))
	require.ErrorContains(t, err, "stories: S: line 2: ")
	require.ErrorIs(t, err, backends.ErrUnavailable)
}
