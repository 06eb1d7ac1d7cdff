// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package stories_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/middleware/stories"
)

const moved = `
## She moved
clock: Fri 2026-11-20 07:30 Europe/Oslo
user: I live in Bergen.
  + The user lives in Bergen. [standing] [about: home, city]
assistant: Rainy, but beautiful.
-- 9 days
user: I moved to Oslo last week.
  The user lives in Bergen. => The user lives in Oslo. [standing] [about: home, city]
assistant: A big step!
-- 2 weeks
ask: Where do I live now?
first: Oslo
stale: lives in Bergen
small: 200
`

// A story is told to memory, which must show what the story says. A program with a model of
// its own gives that to mem0.Config: what it learns is tested, too.
func Example() {
	ctx := context.Background()
	all, err := stories.Parse(strings.NewReader(moved))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, story := range all {
		notes, err := tell(ctx, story, story.Model())
		fmt.Println(story.Name, err)
		for _, note := range notes {
			fmt.Println(note.Question, note.Wrong)
		}
	}
	// Output:
	// She moved <nil>
	// Where do I live now? []
}

// tell tells a story to memory as a program configures it.
func tell(ctx context.Context, story *stories.Story, m model.BaseChatModel) (notes []stories.Note, err error) {
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, &sqlitestore.Config{Clock: story.Now})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	backend, err := mem0.New(ctx, &mem0.Config{Store: db, Model: m, Clock: story.Now})
	if err != nil {
		return nil, err
	}
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend, Clock: story.Now})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	return story.Run(ctx, mem)
}
