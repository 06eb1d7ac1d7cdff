// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures how well memories are found and how long everything takes, and prints
// tables in Markdown. README.md has the measured tables, and the command of each:
//
//	go run ./examples/bench MEASUREMENT [-data PATH] [-format NAME] [-redis URL] [-plots FOLDER]
//
// Some read public data sets from outside of this project, in one of several formats: README.md
// names their origins. Everything else is made up, the same in each run.
//
// A measurement writes to Redis under a prefix of its own and deletes it in the end. Still, give it
// a server of its own, with persistence off, and with 3 GB free for redis:
//
//	redis-server --port 7777 --save '' &
//	go run ./examples/bench redis -redis redis://localhost:7777
//
// The folder peers, a module of its own, lets other libraries hold and find the same messages.
// Clients that ask a server at once are in examples/einomem/load.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9/logging"

	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
)

// bench is what a measurement gets.
type bench struct {
	data   string // a file or folder from outside of this project
	format string // of the data
	url    string // of a Redis server of its own; empty: SQLite alone
	plots  string // a folder for plots; empty: plots are off
	reme   string // of a server of ReMe that asks the scripted model
	listen string // the address of that model
	out    io.Writer

	answers answersConfig
}

// open opens an empty store: on the server, if there is one.
func (b *bench) open(ctx context.Context) (*place.Opened, error) {
	if b.url != "" {
		return place.Redis(ctx, b.url)
	}
	return place.SQLite(ctx)
}

// draw writes a chart into the folder for plots, if there is one.
func (b *bench) draw(name string, c *trial.Chart) error {
	if b.plots == "" {
		return nil
	}
	return errors.Join(os.MkdirAll(b.plots, 0o755), os.WriteFile(filepath.Join(b.plots, name+".svg"), c.SVG(), 0o644))
}

var measurements = []struct {
	name, about string
	print       func(context.Context, *bench) error
}{
	{"retrieval", "-data PATH [-format NAME] [-redis URL] [-plots FOLDER]: how much of what answers a question is found, and shown in a note", printRetrieval},
	{"evidence", "-data PATH [-format NAME] [-plots FOLDER]: how much of what answers a question a note shows", printEvidenceAlone},
	{"notes", "-data PATH [-format NAME]: for what a reply is shown a note, and whether the answer is in it", printNotes},
	{"answers", "-data PATH [-format NAME] …: how many questions a model answers from what each memory knows; -help lists the flags", printAnswers},
	{"reme", "[-reme URL] [-listen ADDRESS]: what learning from work costs, beside a server of ReMe 0.2", printReMe},
	{"redis", "[-redis URL] [-plots FOLDER]: searches and writes in Redis, beside a SQLite file", printRedis},
}

func main() {
	logging.Disable() // go-redis logs connections that fail, and the error reports them, too
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0, 1 for a failure, 2 for an invalid command line.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	for _, m := range measurements {
		if len(args) == 0 || args[0] != m.name {
			continue
		}
		b := &bench{out: out}
		flags := flag.NewFlagSet(m.name, flag.ContinueOnError)
		flags.SetOutput(errs)
		flags.StringVar(&b.data, "data", "", "the `path` of data that are not part of this project")
		flags.StringVar(&b.format, "format", "locomo", "the `name` of the format of the data: "+strings.Join(trial.Formats(), ", "))
		flags.StringVar(&b.plots, "plots", "", "the `folder` to draw plots into, as SVG")
		flags.StringVar(&b.url, "redis", "", "the `URL` of a server without other users")
		flags.StringVar(&b.reme, "reme", "", "the `URL` of ReMe's server; its FLOW_LLM_BASE_URL and FLOW_EMBEDDING_BASE_URL are http://ADDRESS/v1")
		flags.StringVar(&b.listen, "listen", "127.0.0.1:7340", "the `address` of the scripted model")
		b.answers.register(flags)
		if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
			return 0
		} else if err != nil || flags.NArg() > 0 {
			return 2
		}
		fmt.Fprint(out, trial.Machine())
		if err := m.print(ctx, b); err != nil {
			fmt.Fprintf(errs, "%s: %v\n", m.name, err)
			return 1
		}
		return 0
	}
	fmt.Fprintln(errs, "usage: bench MEASUREMENT [flags], where MEASUREMENT is one of")
	for _, m := range measurements {
		fmt.Fprintf(errs, "  %-10s  %s\n", m.name, m.about)
	}
	return 2
}
