// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Load measures the server's REST endpoints on loopback, and prints a table in Markdown:
//
//	cd examples/einomem && go run ./load [-redis URL] [-clients N] [-for TIME]
//
// Each client is a person with 100 memories. By backends/remote it makes searches, eight times out
// of ten, and otherwise an add or a list in turn. Then it does the same beside as many more clients
// that send a byte a second. Clients and server share the machine. A failed request ends it.
//
// It writes to Redis under a prefix of its own and deletes it in the end. Still, give it a server
// of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// load is how a server is asked.
type load struct {
	url     string // of a Redis server without other users; empty: SQLite alone
	clients int
	time    time.Duration
	out     io.Writer
}

func main() {
	logging.Disable() // go-redis logs connections that fail, and the error reports them, too
	l := &load{out: os.Stdout}
	flag.StringVar(&l.url, "redis", "", "the `URL` of a server without other users")
	flag.IntVar(&l.clients, "clients", 200, "how many clients ask at once")
	flag.DurationVar(&l.time, "for", time.Minute, "for how `long`")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the server logs each write
	if err := l.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run measures each store, without slow clients and with them.
func (l *load) run(ctx context.Context) error {
	stores, err := place.All(ctx, l.url)
	if err != nil {
		return err
	}
	trial.Head(l.out, "store", "clients", "slow clients", "requests/s", "p50 ms", "p99 ms")
	for _, p := range stores {
		for _, slow := range []int{0, l.clients} {
			err := place.WithBackend(ctx, p.Open, func(at *place.Opened, backend backends.Backend) error {
				took, err := l.serve(ctx, at, backend, slow)
				q, perSecond := trial.QuantilesOf(took), float64(len(took))/l.time.Seconds()
				trial.Row(l.out, p.Name, l.clients, slow, fmt.Sprintf("%.1f | %.1f | %.1f", perSecond, q.P50, q.P99))
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// serve serves a backend while clients ask, and returns how long their requests took.
func (l *load) serve(ctx context.Context, at *place.Opened, backend backends.Backend, slow int) (took []time.Duration, err error) {
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
	return l.ask(ctx, srv.URL)
}

// ask lets all clients add their memories, then make requests, and returns their times.
func (l *load) ask(ctx context.Context, url string) ([]time.Duration, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: l.clients}
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
	took := make([][]time.Duration, l.clients)
	var filling sync.WaitGroup
	filling.Add(l.clients)
	working, ctx := errgroup.WithContext(ctx)
	for n := range l.clients {
		working.Go(func() error {
			of := backends.Scope{UserID: fmt.Sprintf("person-%d", n)}
			err := add(ctx, of, 0, 100)
			filling.Done()
			filling.Wait()
			for i, end := 0, time.Now().Add(l.time); err == nil && time.Now().Before(end); i++ {
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
