// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
)

// printReMe lets einomem, and a server of ReMe 0.2 if there is one, learn from the same made-up work
// with the same scripted model, and prints the calls and the tokens of its prompts.
func printReMe(ctx context.Context, b *bench) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", b.listen)
	if err != nil {
		return err
	}
	model := &scripted{}
	server := &http.Server{Handler: model, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	url := "http://" + listener.Addr().String() + "/v1"
	fmt.Fprintf(b.out, "the scripted model: %s\n\n", url)
	trial.Head(b.out, "work", "ReMe: calls", "prompt tokens", "einomem: calls", "prompt tokens", "of ReMe's")
	for _, w := range works() {
		var theirs [2]int
		if b.reme != "" {
			model.reset()
			if err := w.atReMe(ctx, b.reme, model); err != nil {
				return fmt.Errorf("%s: ReMe: %w", w.name, err)
			}
			theirs = model.spent()
		}
		model.reset()
		if err := w.atEinomem(ctx, url); err != nil {
			return fmt.Errorf("%s: einomem: %w", w.name, err)
		}
		ours := model.spent()
		share := "-"
		if theirs[1] > 0 {
			share = fmt.Sprintf("%.2f ×", float64(ours[1])/float64(theirs[1]))
		}
		trial.Row(b.out, w.name, theirs[0], theirs[1], ours[0], ours[1], share)
	}
	return nil
}

// work is what both learn from: each request has the attempts at one task, as ReMe's cookbook sends
// them, or the calls of one tool.
type work struct {
	name  string
	tasks [][]task.Trajectory
	tools [][]tool.Call
	rules bool // einomem's rules judge, and ReMe's judge is not counted
}

// works returns the made-up work, the same in each run.
func works() []work {
	r := rand.New(rand.NewPCG(7, 11))
	var out []work
	for _, size := range []struct {
		name           string
		rounds, result int // of calls, and the words of a result
	}{{"short", 3, 25}, {"middling", 6, 80}, {"long", 12, 250}} {
		w := work{name: "8 tasks, two " + size.name + " attempts at each"}
		alone := work{name: "8 tasks, one " + size.name + " attempt at each"}
		for i := range 8 {
			id := fmt.Sprintf("%s-%d", size.name, i)
			good, bad := attempts(r, id, size.rounds, size.result)
			w.tasks = append(w.tasks, []task.Trajectory{good, bad})
			alone.tasks = append(alone.tasks, []task.Trajectory{[]task.Trajectory{good, bad}[i%2]})
		}
		out = append(out, alone, w)
	}
	for _, words := range []int{20, 80, 400} {
		w := work{name: fmt.Sprintf("3 tools, 20 calls of each with results of %d words", words)}
		for i := range 3 {
			w.tools = append(w.tools, callsOf(r, fmt.Sprintf("%s_%s", sentence(r, 1), []string{"search", "lookup", "fetch"}[i]), words))
		}
		alone := w
		alone.name, alone.rules = w.name+": the guidelines alone", true
		out = append(out, w, alone)
	}
	return out
}

// attempts returns two attempts at a task that part after the first call: one succeeds.
func attempts(r *rand.Rand, id string, rounds, result int) (good, bad task.Trajectory) {
	begin := []*schema.Message{
		schema.SystemMessage("You are an agent with tools."), schema.UserMessage("Please " + sentence(r, 25) + "."),
	}
	half := append(begin, steps(r, id, 0, 1, result)...)
	end := func(from int) []*schema.Message {
		return append(steps(r, id, from, rounds-1, result), schema.AssistantMessage(sentence(r, 20)+".", nil))
	}
	good = task.Trajectory{TaskID: id, Score: 1, Messages: append(half[:len(half):len(half)], end(100)...)}
	bad = task.Trajectory{TaskID: id, Messages: append(half[:len(half):len(half)], end(200)...)}
	return good, bad
}

// steps returns rounds of a thought with a call, and its result.
func steps(r *rand.Rand, id string, from, rounds, result int) []*schema.Message {
	var out []*schema.Message
	for i := range rounds {
		call := schema.ToolCall{ID: fmt.Sprintf("%s-%d", id, from+i), Type: "function", Function: schema.FunctionCall{
			Name: "find_" + sentence(r, 1), Arguments: fmt.Sprintf(`{"query": %q, "limit": %d, "sort": "price"}`, sentence(r, 4), r.IntN(50)),
		}}
		out = append(out, schema.AssistantMessage("First I "+sentence(r, 14)+".", []schema.ToolCall{call}),
			schema.ToolMessage(fmt.Sprintf(`{"status": "ok", "text": %q}`, sentence(r, result)), call.ID))
	}
	return out
}

// callsOf returns 20 calls of a tool; four fail, and two find nothing.
func callsOf(r *rand.Rand, name string, words int) []tool.Call {
	out := make([]tool.Call, 20)
	for i := range out {
		c := tool.Call{
			Tool: name, Input: map[string]any{"query": sentence(r, 6), "max_results": r.IntN(20)}, Output: sentence(r, words) + ".",
			Tokens: 50 + r.IntN(400), Took: time.Duration(200+r.IntN(2000)) * time.Millisecond,
		}
		switch i {
		case 3, 8, 12, 17:
			c.Failed, c.Output = true, "Error: invalid argument max_results: it must be from 1 to 10"
		case 5, 15:
			c.Output = "No results found for this query."
		}
		out[i] = c
	}
	return out
}

var vocabulary = strings.Fields(`account address airport amount answer article balance basket battery booking branch budget calendar cancel
	carrier charge check choose compare complaint confirm contract country coupon courier create currency customer deadline decline delivery
	deposit device discount document email error evening export failure flight folder freight garden gate history holiday hotel import invoice
	journey keyboard language ledger letter library limit list machine manager market measure meeting message method minute mistake month
	morning network notice number offer office order package page parcel password payment period permit phone plan platform player policy
	price printer product profile project promise question queue quote reason receipt record refund region reminder rental repair report
	request reserve result return review route safety sample schedule season second secret section seller service session setting shipment
	signal silver simple size station status storage store street summary supplier support surface survey system table target tariff ticket
	timer title token total traffic train transfer travel trial update upgrade vendor version visit voucher warehouse weather website week`)

func sentence(r *rand.Rand, words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(out, " ")
}

// atEinomem lets a new backend learn.
func (w *work) atEinomem(ctx context.Context, url string) (err error) {
	model, err := openai.NewChatModel(ctx, &openai.Config{BaseURL: url, Model: "scripted"})
	if err != nil {
		return err
	}
	opened, err := place.SQLite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Remove()) }()
	c := &reme.Config{Store: opened.Store, Model: model}
	if w.rules {
		c.Tools.Judge = "rules"
	}
	backend, err := reme.New(ctx, c)
	if err != nil {
		return err
	}
	scope := backends.Scope{Workspace: "bench"}
	for _, attempts := range w.tasks {
		learnt, failed := backend.Task().Summarize(ctx, &task.SummaryRequest{Scope: scope, Trajectories: attempts})
		if failed == nil && len(learnt.Memories) == 0 {
			failed = errors.New("nothing was learnt")
		}
		err = errors.Join(err, failed)
	}
	for _, made := range w.tools {
		_, failed := backend.Tools().Record(ctx, &tool.RecordRequest{Scope: scope, Calls: made})
		err = errors.Join(err, failed)
	}
	if len(w.tools) > 0 {
		_, failed := backend.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: scope})
		err = errors.Join(err, failed)
	}
	return errors.Join(err, backend.Close(ctx))
}

// atReMe lets a server of ReMe learn, in a workspace that is deleted first.
func (w *work) atReMe(ctx context.Context, url string, model *scripted) error {
	const workspace = "einomem_bench"
	post := func(flow string, body map[string]any) error {
		body["workspace_id"] = workspace
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(url, "/")+"/"+flow, bytes.NewReader(raw))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s: %.300s", flow, resp.Status, answer)
		}
		return err
	}
	err := post("vector_store", map[string]any{"action": "delete"})
	for _, attempts := range w.tasks {
		err = errors.Join(err, post("summary_task_memory", map[string]any{"trajectories": attempts}))
	}
	var names []string
	for _, made := range w.tools {
		names = append(names, made[0].Tool)
		err = errors.Join(err, post("add_tool_call_result", map[string]any{"tool_call_results": made}))
	}
	if w.rules {
		model.reset()
	}
	if len(names) > 0 {
		err = errors.Join(err, post("summary_tool_memory", map[string]any{"tool_names": strings.Join(names, ",")}))
	}
	return err
}
