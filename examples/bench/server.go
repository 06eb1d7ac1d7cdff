// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/access"
	"github.com/einomem/einomem/toolkit/rest"
)

// serverConfig says how many clients ask a server, and for how long.
type serverConfig struct {
	clients, slow int
	time          time.Duration
}

func (c *serverConfig) register(flags *flag.FlagSet) {
	flags.IntVar(&c.clients, "clients", 200, "server: how many clients ask at once")
	flags.IntVar(&c.slow, "slow", 200, "server: how many more send a byte a second")
	flags.DurationVar(&c.time, "for", time.Minute, "server: for how `long`")
}

// printServer measures toolkit/rest on loopback: each client is a person with 100 memories, and
// makes a search, eight times out of ten, an add or a list after the other. Clients and server
// share the machine.
func printServer(ctx context.Context, b *bench) error {
	stores, err := places(ctx, b.url)
	if err != nil {
		return err
	}
	trial.Head(b.out, "store", "clients", "slow clients", "requests/s", "p50 ms", "p99 ms", "searches p99 ms", "errors")
	for _, p := range stores {
		for _, slow := range []int{0, b.server.slow} {
			if err := b.serve(ctx, p, slow); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

// serve measures one store, and prints its row.
func (b *bench) serve(ctx context.Context, p place, slow int) (err error) {
	at, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.remove()) }()
	backend, err := mem0.New(ctx, &mem0.Config{Store: at})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	guard, err := access.New(&access.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	handler, err := rest.New(&rest.Config{Memory: mem, Store: at, Guard: guard})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close(ctx)) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(listener) })
	defer func() { err = errors.Join(err, srv.Close()); served.Wait() }()

	url := "http://" + listener.Addr().String()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: b.server.clients, MaxConnsPerHost: 0}}
	defer client.CloseIdleConnections()
	ending, stop := context.WithCancel(ctx)
	defer stop()
	var trickling sync.WaitGroup
	for range slow {
		trickling.Go(func() { trickle(ending, listener.Addr().String()) })
	}
	var all, searches []time.Duration
	var failed int
	var first error
	var mu sync.Mutex
	var work sync.WaitGroup
	ready := make(chan struct{})
	var filling sync.WaitGroup
	for n := range b.server.clients {
		filling.Add(1)
		work.Go(func() {
			person := fmt.Sprintf("person-%d", n)
			err := ask(ctx, client, url+"/api/v1/add", addBody(person, 0, 100))
			filling.Done()
			<-ready
			for i, end := 0, time.Now().Add(b.server.time); time.Now().Before(end) && ctx.Err() == nil; i++ {
				began := time.Now()
				switch i % 10 {
				case 4:
					err = errors.Join(err, ask(ctx, client, url+"/api/v1/add", addBody(person, 100+i, 1)))
				case 9:
					err = errors.Join(err, ask(ctx, client, url+"/api/v1/list", map[string]any{"scope": scopeOf(person), "limit": 20}))
				default:
					err = errors.Join(err, ask(ctx, client, url+"/api/v1/search", map[string]any{"scope": scopeOf(person), "query": sentence(i), "top_k": 5}))
				}
				took := time.Since(began)
				mu.Lock()
				all = append(all, took)
				if i%5 != 4 {
					searches = append(searches, took)
				}
				if err != nil {
					failed++
					first = errors.Join(first, err)
				}
				mu.Unlock()
				err = nil
			}
		})
	}
	filling.Wait()
	close(ready)
	work.Wait()
	stop()
	trickling.Wait()
	q := trial.QuantilesOf(all)
	number := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	trial.Row(b.out, p.name, b.server.clients, slow, number(float64(len(all))/b.server.time.Seconds()), number(q.P50), number(q.P99),
		number(trial.QuantilesOf(searches).P99), failed)
	if failed > 0 {
		return fmt.Errorf("%d requests failed: %.300s", failed, first.Error())
	}
	return nil
}

func scopeOf(person string) map[string]any { return map[string]any{"user_id": person} }

func addBody(person string, from, n int) map[string]any {
	messages := make([]map[string]any, n)
	for i := range messages {
		messages[i] = map[string]any{"role": "user", "content": sentence(from + i)}
	}
	return map[string]any{"scope": scopeOf(person), "verbatim": true, "messages": messages}
}

// sentence is the nth of many sentences.
func sentence(n int) string {
	things := []string{"kayak", "piano", "garden", "marathon", "recipe", "telescope", "novel", "workshop", "aquarium", "bicycle"}
	places := []string{"Hangzhou", "Lisbon", "Oslo", "Suzhou", "Porto", "Kyoto", "Turin"}
	return fmt.Sprintf("I took my %s number %d to %s.", things[n%len(things)], n, places[n%len(places)])
}

func ask(ctx context.Context, c *http.Client, url string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", res.StatusCode, answer)
	}
	return err
}

// trickle sends a request at a byte a second, until ctx ends.
func trickle(ctx context.Context, addr string) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	text := "POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
	_, err = io.WriteString(conn, text)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
			_, err = io.WriteString(conn, " ")
		}
	}
}
