// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// scene is a part of the tour: command lines that run at once, each as a process
// of its own.
type scene struct {
	title    string
	commands [][]string
}

// scenes returns the tour of two users, whom nobody else on the server has.
func scenes(ann, bob string) []scene {
	return []scene{
		{"Ann talks to two processes at once", [][]string{
			{"-user", ann, "-session", "phone", "-say", "I moved to Hangzhou in March and I am allergic to peanuts."},
			{"-user", ann, "-session", "desk", "-say", "我的狗叫旺财。"},
		}},
		{"Two others, at once again, know what both were told", [][]string{
			{"-user", ann, "-session", "car", "-say", "What am I allergic to?"},
			{"-user", ann, "-session", "watch", "-say", "我的狗叫什么名字？"},
		}},
		{"Bob, who has told nothing, asks the same", [][]string{
			{"-user", bob, "-say", "What am I allergic to?"},
		}},
		{"Both are forgotten", [][]string{
			{"-user", ann, "-forget"},
			{"-user", bob, "-forget"},
		}},
	}
}

// tour plays the scenes, and forgets the users even if it cannot play to the end.
func tour(ctx context.Context, r *request, stdout, stderr io.Writer) error {
	server, err := redisstore.Open(ctx, r.url, nil) // a server that cannot be used is told once
	if err != nil {
		return err
	}
	if err := server.Close(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	id := backends.NewID()
	id = "-" + id[len(id)-6:]
	all := scenes("ann"+id, "bob"+id)
	p := &player{program: program, always: []string{"-redis", r.url, "-mode", string(r.Mode)}, stderr: stderr}
	for _, s := range all {
		if err := p.play(ctx, s, stdout); err != nil {
			_ = p.play(context.WithoutCancel(ctx), all[len(all)-1], io.Discard) // the first error is the one that matters
			return err
		}
	}
	return nil
}

// player runs the program.
type player struct {
	program string
	always  []string // arguments of each command that are not worth showing

	mu     sync.Mutex
	stderr io.Writer // of the first process that succeeds: the others say the same
}

// play runs the commands of the scene at once, and prints them in order.
func (p *player) play(ctx context.Context, s scene, stdout io.Writer) error {
	fmt.Fprintf(stdout, "== %s\n\n", s.title)
	answers, errs := make([][]byte, len(s.commands)), make([]error, len(s.commands))
	var running sync.WaitGroup
	for i, args := range s.commands {
		running.Go(func() { answers[i], errs[i] = p.start(ctx, args) })
	}
	running.Wait()
	for i, args := range s.commands {
		if errs[i] != nil {
			return errs[i]
		}
		fmt.Fprintf(stdout, "$ redis %s\n%s\n", quoted(args), answers[i])
	}
	return nil
}

// start runs one command and returns what it printed.
func (p *player) start(ctx context.Context, args []string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, p.program, append(p.always[:len(p.always):len(p.always)], args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", quoted(args), err, bytes.TrimSpace(stderr.Bytes()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = io.Copy(p.stderr, &stderr)
	p.stderr = io.Discard
	return out, err
}

// quoted returns a command line as a shell takes it.
func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = a; strings.ContainsAny(a, " ？。") {
			out[i] = `"` + a + `"`
		}
	}
	return strings.Join(out, " ")
}
