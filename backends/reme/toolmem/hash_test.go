// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
)

func TestF1HashesAreReMes(t *testing.T) {
	for _, tc := range []struct {
		input        any
		output, want string
	}{
		{object("query", "Python asyncio tutorial", "max_results", 10), "Found 10 relevant results...", "36af161de9c7c713cb4b82edaf2fc716"},
		{object("q", "你好", "n", 1.0, "f", true, "z", nil), "ok", "3dacfc2cf76c04df82fc07dc24ef7612"},
		{object("q", "你好", "n", json.Number("1.0"), "f", true, "z", nil), "ok", "3dacfc2cf76c04df82fc07dc24ef7612"},
		{"plain text", "out", "2e27f9a907642b8d928c4cf15ac5af9d"},
	} {
		assert.Equal(t, tc.want, toolmem.Hash(tc.input, tc.output), tc.input)
	}
}

func TestF1HashesSurviveJSONAndToolCalls(t *testing.T) {
	const line = `{"create_time":"2026-03-12 09:00:00","tool_name":"search","input":{"q":"你好","n":1.0,"f":true,"z":null},"output":"ok"}`
	var c toolmem.Call
	require.NoError(t, json.Unmarshal([]byte(line), &c))
	assert.Equal(t, "3dacfc2cf76c04df82fc07dc24ef7612", toolmem.Hash(c.Input, c.Output))
	for range 2 { // written and read again
		text, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &c))
		assert.Equal(t, "3dacfc2cf76c04df82fc07dc24ef7612", toolmem.Hash(c.Input, c.Output))
	}
	c = toolmem.FromToolCall(&backends.ToolCall{Tool: "search", Arguments: ` {"z":null, "n":1.0,"q":"\u4f60好","f":true}`, Result: "ok"})
	assert.Equal(t, "3dacfc2cf76c04df82fc07dc24ef7612", toolmem.Hash(c.Input, c.Output))
	r := newRig(t, setup{})
	c.Time = start
	r.record(t, c)
	assert.Equal(t, "3dacfc2cf76c04df82fc07dc24ef7612", r.tool(t, "search").Calls[0].Hash)
}

func TestPythonsNumbersAndEscapes(t *testing.T) {
	for input, want := range map[any]string{
		1.0: "1.0", 0.0: "0.0", math.Copysign(0, -1): "-0.0", 1e15: "1000000000000000.0", 1e16: "1e+16", 123456789012345680.0: "1.2345678901234568e+17",
		0.0001: "0.0001", 0.00001: "1e-05", 1.5e-7: "1.5e-07", 1e300: "1e+300", 5e-324: "5e-324", 0.1: "0.1", 100.5: "100.5",
		json.Number("-0"): "0", json.Number("1E5"): "100000.0", json.Number("123456789012345678901234567890"): "123456789012345678901234567890",
		json.Number("1e999"): "Infinity", json.Number("-1e999"): "-Infinity", 7: "7", uint8(3): "3", float32(0.5): "0.5",
		"é\u007f\u2028😀\"\\\n\r\t\f\b\u0001/<>&": `"\u00e9\u007f\u2028\ud83d\ude00\"\\\n\r\t\f\b\u0001/<>&"`,
		true: "true",
	} {
		assert.Equal(t, toolmem.Hash("["+want+", null, {}]", "x"), toolmem.Hash([]any{input, nil, object()}, "x"), "%v is %s", input, want)
	}
	assert.Equal(t, toolmem.Hash(`{"A": 1, "a": 2, "\u00e9": 3, "\uff5e": 4, "\ud83d\ude00": 5}`, ""), toolmem.Hash(object("😀", 5, "～", 4, "é", 3, "a", 2, "A", 1), ""), "keys in the order of code points")
	loop := map[string]any{}
	loop["me"] = loop
	assert.Equal(t, toolmem.Hash("", "x"), toolmem.Hash(loop, "x"), "what has no end is hashed as nothing")
}

// FuzzHash compares with Python where it is, and else with what must hold anyway.
func FuzzHash(f *testing.F) {
	for _, s := range []string{`{"a":1.0,"b":[1e16,1e-5,-0,-0.0,0.1e1],"é😀":"\u0007"}`, `[1E400,123456789012345678901234567890]`, `"\ud83d\ude00\u2028<"`, `{"b":{"z":null,"a":true},"a":[]}`, `[1.7976931348623157e308,4.9e-324,9007199254740993,1e22,1e23]`} {
		f.Add(s)
	}
	_, noPython := exec.LookPath("python3")
	f.Fuzz(func(t *testing.T, text string) {
		var c toolmem.Call
		if !json.Valid([]byte(text)) || json.Unmarshal([]byte(`{"tool_name":"x","input":`+text+`}`), &c) != nil {
			return
		}
		hash := toolmem.Hash(c.Input, "o")
		again, err := json.Marshal(c)
		if err != nil {
			return // nested too deep
		}
		var back toolmem.Call
		require.NoError(t, json.Unmarshal(again, &back))
		require.Equal(t, hash, toolmem.Hash(back.Input, "o"), "writing and reading changes nothing")
		if noPython != nil || strings.Contains(text, `\u`) && strings.Contains(string(again), "\uFFFD") {
			return // lone surrogates are texts in Python alone
		}
		cmd := exec.CommandContext(t.Context(), "python3", "-c", `import sys,json,hashlib
v=json.load(sys.stdin.buffer)
s=v if isinstance(v,str) else "" if v is None else json.dumps(v,sort_keys=True)
print(hashlib.md5((s+"|o").encode()).hexdigest())`)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err == nil { // else Python refuses: ints of more than 4300 digits
			require.Equal(t, strings.TrimSpace(string(out)), hash, text)
		}
	})
}

// Many random values at once: one process of Python reads them all.
func TestF1HashesAgreeWithPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 to compare with")
	}
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]any, 3000)
	var lines strings.Builder
	for i := range values {
		values[i] = randomJSON(random, 3)
		line, err := json.Marshal(values[i])
		require.NoError(t, err)
		lines.Write(line)
		lines.WriteByte('\n')
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", `import sys,json,hashlib
for line in sys.stdin.buffer:
    v=json.loads(line)
    s=v if isinstance(v,str) else "" if v is None else json.dumps(v,sort_keys=True)
    print(hashlib.md5((s+"|").encode()).hexdigest())`)
	cmd.Stdin = strings.NewReader(lines.String())
	out, err := cmd.Output()
	if err != nil {
		t.Skip("python3 does not run:", err)
	}
	want := strings.Fields(string(out))
	require.Len(t, want, len(values))
	for i, v := range values {
		require.Equal(t, want[i], toolmem.Hash(v, ""), "%#v", v)
	}
}

func randomJSON(r *rand.Rand, depth int) any {
	switch kind := r.IntN(8); {
	case kind == 0:
		return r.IntN(2) == 0
	case kind == 1:
		return nil
	case kind <= 3:
		f := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 {
			f = float64(r.IntN(2000000)-1000000) * math.Pow(10, float64(r.IntN(44)-22))
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0
		}
		s := strconv.FormatFloat(f, "efg"[r.IntN(3)], r.IntN(20)-1, 64)
		return json.Number(s)
	case kind == 4:
		runes := make([]rune, r.IntN(12))
		for i := range runes {
			runes[i] = []rune{rune(r.IntN(0x80)), rune(0x4e00 + r.IntN(1000)), rune(0x1f600 + r.IntN(50)), rune(0x80 + r.IntN(0x800))}[r.IntN(4)]
		}
		return string(runes)
	case kind == 5 || depth == 0:
		return r.Int64()
	case kind == 6:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomJSON(r, depth-1)
		}
		return list
	}
	o := map[string]any{}
	for range r.IntN(5) {
		o[fmt.Sprint(randomJSON(r, 0))] = randomJSON(r, depth-1)
	}
	return o
}
