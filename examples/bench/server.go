// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/rest"
)

// printServer measures toolkit/rest on loopback. Each client is a person with 100 memories. By
// backends/remote it makes searches, eight times out of ten, and otherwise an add or a list in
// turn. Then it does the same beside as many more clients that send a byte a second. Clients and
// server share the machine. A failed request ends it.
func printServer(ctx context.Context, b *bench) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the server logs each write
	stores, err := places(ctx, b.url)
	if err != nil {
		return err
	}
	trial.Head(b.out, "store", "clients", "slow clients", "requests/s", "p50 ms", "p99 ms")
	for _, p := range stores {
		for _, slow := range []int{0, b.clients} {
			err := withBackend(ctx, p.open, func(at *opened, backend backends.Backend) error {
				took, err := b.serve(ctx, at, backend, slow)
				q, perSecond := trial.QuantilesOf(took), float64(len(took))/b.time.Seconds()
				trial.Row(b.out, p.name, b.clients, slow, fmt.Sprintf("%.1f | %.1f | %.1f", perSecond, q.P50, q.P99))
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

// serve serves a backend while clients ask, and returns how long their requests took.
func (b *bench) serve(ctx context.Context, at *opened, backend backends.Backend, slow int) (took []time.Duration, err error) {
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	handler, err := rest.New(&rest.Config{Memory: mem, Store: at})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, handler.Close(ctx)) }()
	srv := httptest.NewServer(handler)
	defer srv.Close()
	ending, stop := context.WithCancel(ctx)
	defer stop()
	for range slow {
		go trickle(ending, srv.Listener.Addr().String())
	}
	return b.ask(ctx, srv.URL)
}

// ask lets all clients add their memories, then make requests, and returns their times.
func (b *bench) ask(ctx context.Context, url string) ([]time.Duration, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: b.clients}
	client, err := remote.NewEinomem(&remote.Config{BaseURL: url, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1})
	if err != nil {
		return nil, err
	}
	add := func(ctx context.Context, of backends.Scope, from, n int) error {
		request := &backends.AddRequest{Scope: of, Verbatim: true}
		for i := range n {
			request.Messages = append(request.Messages, backends.Message{Message: schema.UserMessage(sentence(from + i))})
		}
		_, err := client.Add(ctx, request)
		return err
	}
	took := make([][]time.Duration, b.clients)
	var filling sync.WaitGroup
	filling.Add(b.clients)
	working, ctx := errgroup.WithContext(ctx)
	for n := range b.clients {
		working.Go(func() error {
			of := backends.Scope{UserID: fmt.Sprintf("person-%d", n)}
			err := add(ctx, of, 0, 100)
			filling.Done()
			filling.Wait()
			for i, end := 0, time.Now().Add(b.time); err == nil && time.Now().Before(end); i++ {
				began := time.Now()
				switch i % 10 {
				case 4:
					err = add(ctx, of, 100+i, 1)
				case 9:
					_, err = client.List(ctx, &backends.ListRequest{Scope: of, Limit: 20})
				default:
					_, err = client.Search(ctx, &backends.SearchRequest{Scope: of, Query: sentence(i), TopK: 5})
				}
				took[n] = append(took[n], time.Since(began))
			}
			return err
		})
	}
	err = working.Wait()
	return slices.Concat(took...), err
}

// sentence is the nth of many sentences.
func sentence(n int) string {
	things := []string{"kayak", "piano", "garden", "marathon", "recipe", "telescope", "novel", "workshop", "aquarium", "bicycle"}
	places := []string{"Hangzhou", "Lisbon", "Oslo", "Suzhou", "Porto", "Kyoto", "Turin"}
	return fmt.Sprintf("I took my %s number %d to %s.", things[n%len(things)], n, places[n%len(places)])
}

// trickle sends a request at a byte a second, until ctx ends.
func trickle(ctx context.Context, addr string) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	text := "POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
	for err == nil {
		_, err = fmt.Fprint(conn, text)
		text = " "
		time.Sleep(time.Second)
	}
}
