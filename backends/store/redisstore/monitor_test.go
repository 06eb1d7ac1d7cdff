// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/testredis"
)

// percent writes each byte outside [A-Za-z0-9_.-] as %XX, as the package comment says.
func percent(part string) string {
	var b strings.Builder
	for _, c := range []byte(part) {
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// permit is which keys the commands of one call may name. It is sent to the server
// before the call, so that whoever monitors the server knows what follows.
type permit struct {
	Tag       string // every key of the partition begins with it and a colon
	Namespace string
	Local     string // how the list of the namespace names the partition
	Session   string // its keys of sessions begin so; empty: any of the partition
	Read      bool   // of everything
	Rest      bool   // a list of all work takes partitions without any off it
}

func permitFor(p backends.Partition) *permit {
	local := percent(string(p.Kind)) + ":" + percent(p.ID)
	return &permit{Tag: "{em:" + percent(p.Namespace) + ":" + local + "}:", Namespace: percent(p.Namespace), Local: local}
}

// permits says why a command is none of those that the call may send; empty if it is.
func (p *permit) permits(cmd []string) string {
	name, args := strings.ToLower(cmd[0]), cmd[1:]
	for _, key := range keysNamed(name, args) {
		if why := p.allows(name, key, args); why != "" {
			return why
		}
	}
	return ""
}

func (p *permit) allows(name, key string, args []string) string {
	reads := slices.Contains(readers, name)
	switch {
	case key == "?":
		return "unknown command"
	case p.Read && reads, p.Rest && rests(name, key, args):
		return ""
	case strings.HasPrefix(key, p.Tag+"s:"):
		if !strings.HasPrefix(key, p.Session) {
			return "another session"
		}
		return ""
	case strings.HasPrefix(key, p.Tag):
		return ""
	case key == "em:namespaces" && name == "zadd" && args[len(args)-1] == p.Namespace:
		return ""
	case key == "em:partitions:"+p.Namespace && (reads || (name == "zadd" || name == "zrem") && args[len(args)-1] == p.Local):
		return ""
	case key == "em:work" && (name == "zadd" || name == "zrem") && args[len(args)-1] == p.Namespace+":"+p.Local:
		return ""
	}
	return "not a key of the partition"
}

// rests reports whether a command is one that takes a partition off the list of work.
func rests(name, key string, args []string) bool {
	switch name {
	case "eval", "evalsha":
		return strings.HasSuffix(key, "}:meta") || strings.HasSuffix(key, "}:pend")
	case "hdel":
		return strings.HasSuffix(key, "}:meta") && slices.Equal(args[1:], []string{"work"})
	}
	return name == "zrem" && key == "em:work"
}

// readers are the commands that change nothing.
var readers = []string{"exists", "hget", "hgetall", "hkeys", "hstrlen", "hmget", "hlen", "hexists", "lindex", "llen", "lrange", "pttl", "zcard", "zmscore", "zrange", "zrangebylex", "zrangebyscore", "zscore"}

// keysNamed returns the keys that a command names.
func keysNamed(name string, args []string) []string {
	switch name {
	case "multi", "exec", "echo", "ping", "client", "hello", "script", "info", "config", "time", "select", "scan": // the last one is the test's own
		return nil
	case "eval", "evalsha":
		n, err := strconv.Atoi(args[1])
		if err != nil || n == 0 {
			return []string{"?"}
		}
		return args[2 : 2+n]
	case "del", "unlink", "exists":
		return args
	case "hset", "hsetnx", "hdel", "hincrby", "rpush", "ltrim", "sadd", "zadd", "zrem", "zremrangebyrank", "pexpire", "persist":
		return args[:1]
	}
	if slices.Contains(readers, name) {
		return args[:1]
	}
	return []string{"?"}
}

// monitor holds every command that a server gets against the permit before it.
type monitor struct {
	conn     net.Conn
	done     chan struct{}
	commands int
	wrong    []string
}

const (
	permitMark = "permit "
	lastMark   = "end of all"
)

func startMonitor(t *testing.T, server *testredis.Server) *monitor {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(t, err)
	lines := bufio.NewReaderSize(conn, 1<<20)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", first)
	m := &monitor{conn: conn, done: make(chan struct{})}
	go m.read(lines)
	return m
}

func (m *monitor) read(lines *bufio.Reader) {
	defer close(m.done)
	now := &permit{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			m.wrong = append(m.wrong, err.Error())
			return
		}
		cmd := words(line)
		if len(cmd) == 0 {
			m.wrong = append(m.wrong, "not understood: "+line)
			continue
		}
		if strings.EqualFold(cmd[0], "echo") {
			if cmd[1] == lastMark {
				return
			}
			if text, ok := strings.CutPrefix(cmd[1], permitMark); ok {
				now = &permit{}
				_ = json.Unmarshal([]byte(text), now)
				continue
			}
		}
		m.commands++
		if why := now.permits(cmd); why != "" && len(m.wrong) < 10 {
			m.wrong = append(m.wrong, fmt.Sprintf("%s: %.300s, permitted were %.300s", why, line, fmt.Sprintf("%+v", *now)))
		}
	}
}

// words splits what MONITOR says of a command: +time [db client] "word" "word".
func words(line string) (out []string) {
	_, rest, ok := strings.Cut(line, "] ")
	for ok && strings.HasPrefix(rest, `"`) {
		var b strings.Builder
		i := 1
		for ; i < len(rest) && rest[i] != '"'; i++ {
			if rest[i] != '\\' {
				b.WriteByte(rest[i])
				continue
			}
			i++
			switch c := rest[i]; c {
			case 'x':
				n, _ := strconv.ParseUint(rest[i+1:i+3], 16, 8)
				b.WriteByte(byte(n))
				i += 2
			case 'n', 'r', 't', 'a', 'b':
				b.WriteByte("\n\r\t\a\b"[strings.IndexByte("nrtab", c)])
			default:
				b.WriteByte(c)
			}
		}
		out = append(out, b.String())
		rest = strings.TrimPrefix(rest[min(i+1, len(rest)):], " ")
	}
	return out
}

func TestWordsOfAMonitor(t *testing.T) {
	require.Equal(t, []string{"SET", "a\x00\n\"\\é", ""}, words("+1.2 [0 127.0.0.1:1] \"SET\" \"a\\x00\\n\\\"\\\\\\xc3\\xa9\" \"\"\r\n"))
	require.Empty(t, words("+OK\r\n"))
}

// The monitor can fail.
func TestAPermitIsNarrow(t *testing.T) {
	p := permitFor(backends.Partition{Namespace: "a", Kind: backends.PartitionUser, ID: "b:c"})
	require.Equal(t, "{em:a:user:b%3Ac}:", p.Tag)
	for _, ok := range [][]string{{"HGET", p.Tag + "rec", "x"}, {"evalsha", "sha", "1", p.Tag + "rec", "{em:other}"}, {"ZADD", "em:work", "0", "a:user:b%3Ac"},
		{"zrangebylex", "em:partitions:a", "-", "+"}, {"PING"}} {
		require.Empty(t, p.permits(ok), "%v", ok)
	}
	for _, bad := range [][]string{{"HGET", "{em:a:user:b}:rec", "x"}, {"DEL", p.Tag + "rec", "{em:a:user:b}:rec"}, {"evalsha", "sha", "2", p.Tag + "rec", "em:work"}, {"evalsha", "sha", "0"},
		{"ZADD", "em:work", "0", "a:user:b"}, {"zrangebylex", "em:partitions:b", "-", "+"}, {"KEYS", "*"}, {"FLUSHALL"}} {
		require.NotEmpty(t, p.permits(bad), "%v", bad)
	}
	p.Session = p.Tag + "s:x:"
	require.NotEmpty(t, p.permits([]string{"LLEN", p.Tag + "s:y:log"}))
	require.Empty(t, p.permits([]string{"LLEN", p.Tag + "s:x:log"}))
}
