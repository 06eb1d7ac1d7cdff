// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/faultproxy"
	"github.com/einomem/einomem/internal/testredis"
)

// impostor answers the Redis protocol as it is told: a good Redis to whoever only
// looks at it, until refuse is set.
type impostor struct {
	addr string
	info string // the answer to INFO

	mu     sync.Mutex
	refuse string // the answer to everything, such as "-LOADING …", but for the set-up of connections
	// patience is after how many refusals it is good again; 0: never
	patience int
}

func newImpostor(t *testing.T, info ...string) *impostor {
	t.Helper()
	f := &impostor{info: "redis_version:7.2.0\r\nrole:master\r\n"}
	if len(info) > 0 {
		f.info = strings.Join(info, "\r\n") + "\r\n"
	}
	f.addr = listen(t, f.serve)
	return f
}

// listen serves connections until the test ends, and returns the address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			all.Go(func() { defer func() { _ = conn.Close() }(); serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

func (f *impostor) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	for {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, f.answer(words)); err != nil {
			return
		}
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r)
	words := make([]string, 0, max(n, 0))
	for ; err == nil && n > 0; n-- {
		var size int
		if size, err = readLength(r); err == nil {
			word := make([]byte, size+2)
			_, err = io.ReadFull(r, word)
			words = append(words, string(word[:size]))
		}
	}
	return words, err
}

func readLength(r *bufio.Reader) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil || len(line) < 3 {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

func (f *impostor) answer(words []string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	command := strings.ToLower(words[0])
	switch command {
	case "hello":
		return "-ERR unknown command 'HELLO'\r\n"
	case "client":
		return "+OK\r\n"
	}
	if answer := f.refuse; answer != "" {
		if f.patience--; f.patience == 0 {
			f.refuse = ""
		}
		return answer + "\r\n"
	}
	switch command {
	case "ping":
		return "+PONG\r\n"
	case "info":
		return fmt.Sprintf("$%d\r\n%s\r\n", len(f.info), f.info)
	case "eval":
		return "$-1\r\n"
	case "time":
		now := time.Now()
		return fmt.Sprintf("*2\r\n$%d\r\n%d\r\n$1\r\n0\r\n", len(fmt.Sprint(now.Unix())), now.Unix())
	}
	if command == "hget" {
		return "$-1\r\n"
	}
	return "*0\r\n"
}

func (f *impostor) say(answer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = answer
}

// recover makes it refuse two commands only.
func (f *impostor) recover() *impostor {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse, f.patience = "", 2
	return f
}

// client returns one that does not repeat by itself.
func clientOf(t *testing.T, addr string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DialerRetryTimeout: time.Millisecond, ContextTimeoutEnabled: true}
	for _, c := range change {
		c(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Whatever a server answers instead of doing what it is told, every call says that
// it is unavailable, why, and what to do; none says that something does not exist.
func TestAServerThatRefuses(t *testing.T) {
	for answer, want := range map[string]struct {
		says    string
		passing bool
	}{
		"-LOADING Redis is loading the dataset in memory":                                                                 {"the server loads its data: wait", true},
		"-READONLY You can't write against a read only replica.":                                                          {"the server is a replica", true},
		"-READONLY You can't write against a read only replica. script: 0a1b, on @user_script:3.":                         {"the server is a replica", true},
		"-NOREPLICAS Not enough good replicas to write.":                                                                  {"min-replicas-to-write", true},
		"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":                               {"wait for the failover", true},
		"-CLUSTERDOWN Hash slot not served":                                                                               {"CLUSTER INFO", true},
		"-TRYAGAIN Multiple keys request during rehashing of slot":                                                        {"moves to another node", true},
		"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":                         {"a script of somebody runs too long", true},
		"-ERR max number of clients reached":                                                                              {"raise maxclients", true},
		"-OOM command not allowed when used memory > 'maxmemory'.":                                                        {"raise maxmemory or drop something", false},
		"-OOM command not allowed when used memory > 'maxmemory'. script: 0a1b, on @user_script:26.":                      {"raise maxmemory or drop something", false},
		"-ERR Error running script (call to f_0a1b): @user_script:26: @user_script: 26: -OOM command not allowed when…":   {"raise maxmemory or drop something", false},
		"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.":               {"look at its disk and log", false},
		"-NOAUTH Authentication required.":                                                                                {"put it into the client's options or the URL", false},
		"-NOPERM User ann has no permissions to run the 'evalsha' command":                                                {"the user's ACL forbids", false},
		"-ERR The user executing the script can't run this command or subcommand script: 0a1b, on @user_script:10.":       {"the user's ACL forbids", false},
		"-ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -NOPERM this user has no permissions…": {"the user's ACL forbids", false},
		"-DENIED Redis is running in protected mode because protected mode is enabled":                                    {"runs in protected mode", false},
		"-WRONGTYPE Operation against a key holding the wrong kind of value":                                              {"choose another", false},
		"-ERR something that nobody has seen before":                                                                      {"unexpected answer of the server", false},
		"+OK":                          {"unexpected answer", false},
		"$9\r\nsomething":              {"unexpected answer", false},
		"!garbage that is no protocol": {"unexpected answer", false},
	} {
		t.Run(answer[:min(len(answer), 24)], func(t *testing.T) {
			f := newImpostor(t)
			s := newStore(t, clientOf(t, f.addr), &redisstore.Config{Retry: time.Millisecond})
			f.say(answer)
			for what, err := range everything(t.Context(), s, ann) {
				require.ErrorIs(t, err, backends.ErrUnavailable, what)
				require.NotErrorIs(t, err, backends.ErrNotFound, what)
				require.NotErrorIs(t, err, backends.ErrInvalid, what)
				if answer[0] == '-' {
					require.ErrorContains(t, err, want.says, what)
				}
			}
			if answer[0] == '-' {
				f := newImpostor(t) // its own: what the store above does in the background is not counted
				patient := newStore(t, clientOf(t, f.recover().addr), &redisstore.Config{Retry: time.Hour})
				f.say(answer)
				_, err := patient.History(t.Context(), ann, "a")
				assert.Equal(t, want.passing, err == nil, "whether it is repeated: %v", err)
			}
		})
	}
}

// Servers that are none.
func TestWhatIsNoRedis(t *testing.T) {
	for name, c := range map[string]struct {
		serve  func(net.Conn)
		change func(*redis.Options)
		says   string
	}{
		"an HTTP server": {serve: func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request")
		}, says: "is it a Redis?"},
		"a TLS server": {serve: func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 70})
		}, says: "rediss://"},
		"a server without TLS": {serve: func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = io.WriteString(conn, "-ERR Protocol error: unauthenticated multibulk length\r\n")
		}, change: withTLS, says: "does it speak TLS?"},
		"one that closes at once": {serve: func(net.Conn) {}, says: "cannot be reached or does not answer"},
		"one that says nothing": {serve: func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
			change: func(o *redis.Options) { o.ReadTimeout = 20 * time.Millisecond }, says: "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := listen(t, c.serve)
			change := c.change
			if change == nil {
				change = func(*redis.Options) {}
			}
			_, err := redisstore.New(t.Context(), clientOf(t, addr, change), nil)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := redisstore.New(t.Context(), clientOf(t, "127.0.0.1:1"), nil)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "cannot be reached")
}

// A server that does not answer holds up nobody beyond the end of the context, and
// without one for not much longer than Retry, however long one answer may take.
func TestAServerThatHangs(t *testing.T) {
	hour := func(o *redis.Options) { o.ReadTimeout = time.Hour }
	server := testredis.Need(t).Start(t)
	proxy := faultproxy.Start(t, server.Addr)
	s := newStore(t, clientOf(t, proxy.Addr(), hour), nil)
	beginning(t, s, ann)
	proxy.Freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	for what, err := range everything(ctx, s, ann) {
		require.ErrorIs(t, err, context.DeadlineExceeded, what)
	}
	proxy.Freeze(false)
	for what, err := range everything(t.Context(), s, ann) {
		require.NoError(t, err, what)
	}

	tries := &sendings{}
	short := clientOf(t, proxy.Addr(), func(o *redis.Options) { o.ReadTimeout = 50 * time.Millisecond })
	short.AddHook(tries)
	s = newStore(t, short, &redisstore.Config{Retry: 100 * time.Millisecond})
	before := tries.commands
	proxy.Freeze(true)
	_, err := s.History(t.Context(), ann, "a")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "does not answer")
	assert.LessOrEqual(t, tries.commands-before, 3, "the time that tries take counts, not that of the pauses alone")
	proxy.Freeze(false)
}

// sendings counts the commands that are sent alone.
type sendings struct{ commands int }

func (c *sendings) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *sendings) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.commands++; return next(ctx, cmd) }
}
func (c *sendings) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// slowness is no error.
func TestAServerThatIsSlow(t *testing.T) {
	proxy := faultproxy.Start(t, testredis.Need(t).Start(t).Addr)
	s := newStore(t, clientOf(t, proxy.Addr()), nil)
	beginning(t, s, ann)
	proxy.Delay(5 * time.Millisecond)
	for what, err := range everything(t.Context(), s, ann) {
		require.NoError(t, err, what)
	}
}

// dump returns all that a server holds.
func dump(t *testing.T, server *testredis.Server) map[string]string {
	t.Helper()
	c := server.Client(t)
	keys, err := c.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	out := map[string]string{}
	for _, key := range keys {
		if out[key], err = c.Dump(t.Context(), key).Result(); err != nil {
			require.ErrorIs(t, err, redis.Nil)
		}
	}
	return out
}

// Refused writes leave no trace, and what can be read is as it was.
func TestRefusedWritesLeaveNoTrace(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			server := f.Start(t)
			admin := server.Client(t)
			s := newStore(t, clientOf(t, server.Addr), &redisstore.Config{Retry: time.Millisecond})
			beginning(t, s, ann)
			bob := someone("bob")
			beginning(t, s, bob)
			for _, c := range []struct{ option, bad, good, says string }{
				{"maxmemory", "1", "0", "raise maxmemory or drop something"},
				{"min-replicas-to-write", "1", "0", "min-replicas-to-write"},
			} {
				before := dump(t, server)
				require.NoError(t, admin.ConfigSet(t.Context(), c.option, c.bad).Err())
				for what, err := range everything(t.Context(), s, ann) {
					switch what {
					case "append", "apply", "update", "put blob":
						require.ErrorIs(t, err, backends.ErrUnavailable, what)
						require.ErrorContains(t, err, c.says, what)
					case "get blob":
						require.ErrorIs(t, err, backends.ErrNotFound)
					default:
						require.NoError(t, err, what)
					}
				}
				_, err := s.Apply(t.Context(), someone("new"), putting("a"))
				require.ErrorIs(t, err, backends.ErrUnavailable)
				after := dump(t, server)
				assert.Equal(t, before, after)
				if c.option == "maxmemory" { // the way out that the words name
					n, err := s.Drop(t.Context(), bob)
					require.NoError(t, err)
					assert.Equal(t, store.DropCount{Records: 1, Sessions: 1, Messages: 1}, n)
					require.NoError(t, s.Delete(t.Context(), ann, "s"))
				}
				require.NoError(t, admin.ConfigSet(t.Context(), c.option, c.good).Err())
				for what, err := range everything(t.Context(), s, ann) {
					require.NoError(t, err, what)
				}
				require.NoError(t, s.PutBlob(t.Context(), ann, "s", "b", nil))
				beginning(t, s, bob)
			}
		})
	}
}

// A batch that grows until the memory is full is stored wholly or not at all.
func TestAServerWhoseMemoryFillsUp(t *testing.T) {
	server := testredis.Need(t).Start(t)
	s := newStore(t, clientOf(t, server.Addr), nil)
	beginning(t, s, ann)
	admin := server.Client(t)
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "3mb").Err())
	text := strings.Repeat("x", 1000)
	stored := 0
	for i := range 10_000 {
		b := &store.Batch{}
		for j := range 10 {
			b.Mutations = append(b.Mutations, put(fmt.Sprintf("%d-%d", i, j), text))
		}
		if _, err := s.Apply(t.Context(), ann, b); err != nil {
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "raise maxmemory")
			break
		}
		stored += 10
	}
	require.Less(t, stored, 100_000, "it never was full")
	n := admin.HLen(t.Context(), tagOf(ann)+":rec").Val()
	assert.EqualValues(t, stored+1, n)
	assert.EqualValues(t, stored+1, admin.ZCard(t.Context(), tagOf(ann)+":chg").Val())
	assert.EqualValues(t, stored+1, admin.HLen(t.Context(), tagOf(ann)+":his").Val())
}
