// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Command walks counts the files that one warm step of memory runs through: a note for a
// question, a turn that becomes a fact, a trajectory that becomes a task memory. Its binary
// must be built for coverage:
//
//	go build -cover -covermode=atomic -coverpkg=./... -o walks ./internal/test/house/walks
//	./walks
//
// It ends with an error when a count is over its limit.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/einomem/einomem/internal/test/house"
	"github.com/einomem/einomem/middleware"
)

func main() {
	dir, err := os.MkdirTemp("", "walks")
	if err == nil {
		err = errors.Join(walks(dir), os.RemoveAll(dir))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func walks(dir string) error {
	ctx := middleware.WithScope(context.Background(), scope)
	talk, err := newConversation(ctx, filepath.Join(dir, "mem0.db"))
	if err != nil {
		return err
	}
	work, err := newExperience(ctx, filepath.Join(dir, "reme.db"))
	if err != nil {
		return err
	}
	var over []error
	for _, w := range []walk{
		{"files in a warm note", talk.note},
		{"files from a turn to a fact", talk.fact},
		{"files from a trajectory to task memory", work.lesson},
	} {
		files, err := w.files(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		n := house.Files(w.name, files)
		line, err := house.Judge(n)
		fmt.Fprintf(os.Stdout, "%s\n%s\n", line, strings.Join(n.Biggest, "\n"))
		over = append(over, err)
	}
	return errors.Join(over...)
}
