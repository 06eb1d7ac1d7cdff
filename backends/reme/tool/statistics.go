// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/internal/text"
)

// Statistics describe the outcomes of a tool's recent calls. Fields that ReMe has, too, have its
// names and rounding, in JSON as well.
type Statistics struct {
	Tool  string    `json:"tool_name"`
	Total int64     `json:"total_calls"`           // stored calls
	Calls int       `json:"recent_calls_analyzed"` // the calls behind the fields below
	From  time.Time `json:"from,omitzero"`         // when the first of them began
	To    time.Time `json:"to,omitzero"`           // when the last of them began

	SuccessRate float64 `json:"success_rate"`   // share of good calls, 4 decimals
	Judged      int     `json:"judged"`         // calls with a score
	AvgScore    float64 `json:"avg_score"`      // of those, 3 decimals
	AvgTime     float64 `json:"avg_time_cost"`  // seconds, 3 decimals
	TokensKnown int     `json:"tokens_known"`   // calls with known tokens
	AvgTokens   float64 `json:"avg_token_cost"` // of those, 2 decimals

	Failed         int `json:"failed"`
	Empty          int `json:"empty"`           // good calls with empty results
	Repeats        int `json:"repeats"`         // calls with the input and output of an earlier one
	FailingRepeats int `json:"failing_repeats"` // failed ones of the repeats

	Errors    []ErrorCount    `json:"errors,omitempty"`    // the most frequent class first
	Arguments []ArgumentCount `json:"arguments,omitempty"` // the most telling first
}

// ErrorCount counts the errors of a class, including the ones that results report in words.
type ErrorCount struct {
	// Class is "timeout", "rate limit", "authorization", "invalid argument", "not found",
	// "network" or "other", by the words of the error in English or Chinese.
	Class   string `json:"class"`
	Calls   int    `json:"calls"`
	Example string `json:"example"` // the newest of them, shortened
}

// ArgumentCount counts the calls with one value of an argument that bad calls have more
// often than others.
type ArgumentCount struct {
	Name  string `json:"name"`
	Value string `json:"value"` // as JSON
	Bad   int    `json:"bad"`   // calls that failed, or whose result was useless
	Good  int    `json:"good"`  // all others
}

// measure computes the statistics of calls of a tool, oldest first.
func measure(tool string, calls []Call) Statistics {
	s := Statistics{Tool: tool, Calls: len(calls), Total: int64(len(calls))}
	if len(calls) == 0 {
		return s
	}
	s.From, s.To = calls[0].Time, calls[len(calls)-1].Time
	var score, tokens float64
	var took time.Duration
	seen := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		took += c.Took
		if c.failed() {
			s.Failed++
		} else if reportsNothing(c.Output) {
			s.Empty++
		}
		if c.Score != nil {
			s.Judged++
			score += *c.Score
		}
		if c.Tokens >= 0 {
			s.TokensKnown++
			tokens += float64(c.Tokens)
		}
		if seen[c.Hash] {
			s.Repeats++
			if c.problem() != "" {
				s.FailingRepeats++
			}
		}
		seen[c.Hash] = true
	}
	n := float64(len(calls))
	s.SuccessRate = round((n-float64(s.Failed))/n, 4)
	s.AvgTime = round(took.Seconds()/n, 3)
	s.AvgScore = round(score/float64(max(s.Judged, 1)), 3)
	s.AvgTokens = round(tokens/float64(max(s.TokensKnown, 1)), 2)
	s.Errors = countErrors(calls)
	s.Arguments = countArguments(calls)
	return s
}

// round rounds to so many decimals, a half to the even one, as Python's round does.
func round(f float64, decimals int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	return r
}

const (
	maxExample = 160 // characters of what statistics quote
	maxValue   = 60  // characters of an argument's value that is counted
)

func countErrors(calls []Call) []ErrorCount {
	var out []ErrorCount
	for i := range calls {
		problem := calls[i].problem()
		if problem == "" {
			continue
		}
		class := classOf(problem)
		at := slices.IndexFunc(out, func(e ErrorCount) bool { return e.Class == class })
		if at < 0 {
			at, out = len(out), append(out, ErrorCount{Class: class})
		}
		out[at].Calls++
		out[at].Example = text.Line(problem, maxExample)
	}
	slices.SortFunc(out, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// classes holds the signs of each class in error texts, in the order of the look-up. A status code
// counts only as a word of its own.
var classes = []struct {
	class string
	signs *regexp.Regexp
}{
	{"timeout", regexp.MustCompile(`(?i)time[d]?[ _-]?out|deadline exceeded|took too long|\b(408|504)\b|etimedout|超时|逾时|响应时间过长`)},
	{"rate limit", regexp.MustCompile(`(?i)rate[ _-]?limit|too many requests|quota|throttl|\b429\b|限流|频率(过高|限制|超)|请求过多|过于频繁|配额`)},
	{"authorization", regexp.MustCompile(`(?i)unauthori[sz]ed|forbidden|permission|access denied|not allowed|authenticat|credential|invalid[ _-]?(api[ _-]?key|token)|(api[ _-]?key|token)[^.]{0,20}(invalid|expired|missing)|\b(401|403)\b|未授权|无权|权限|鉴权|认证失败|登录(已)?(失效|过期)|密钥(无效|错误)|令牌`)},
	{"invalid argument", regexp.MustCompile(`(?i)(invalid|illegal|bad|malformed|missing|unknown|unexpected|required|wrong)[ _-]+(\S+[ _-]+){0,2}?(argument|param|input|value|request|field|type|format|json|key)|(argument|param|parameter|field|value)s?\b[^.]{0,40}\b(required|missing|invalid|must be|unknown|not supported)|must be (a|an|one|between|at|in|of|greater|less|positive)|cannot (parse|unmarshal)|validation|out of range|\b(400|422)\b|参数|格式(错误|不正确|有误)|不合法|非法|无效的|缺少|必填|取值|超出范围`)},
	{"not found", regexp.MustCompile(`(?i)not[ _-]?found|no such|does(n't| not) exist|unknown (user|id|file|path|city|table|resource)|\b(404|410)\b|enoent|不存在|未找到|找不到|没有找到|查无`)},
	{"network", regexp.MustCompile(`(?i)connection|network|unreachable|econn|socket|broken pipe|\beof\b|dns|no such host|tls|certificate|service unavailable|bad gateway|\b(502|503)\b|网络|连接|无法访问|域名|不可达|服务不可用`)},
}

// classOf returns the class of an error by its first 4,096 bytes.
func classOf(problem string) string {
	problem = text.TruncateBytes(problem, 4096)
	for _, c := range classes {
		if c.signs.MatchString(problem) {
			return c.class
		}
	}
	return "other"
}

// countArguments returns at most eight values of arguments. At least two bad calls have the value,
// and a larger share of these than of the others. A value that every call has is useless, and a
// long one is a text.
func countArguments(calls []Call) []ArgumentCount {
	counts, bad := map[ArgumentCount]*ArgumentCount{}, 0
	for i := range calls {
		isBad := calls[i].bad()
		if isBad {
			bad++
		}
		input, _ := calls[i].Input.(map[string]any)
		for name, v := range input {
			k := ArgumentCount{Name: name, Value: encoded(v)}
			if s, _ := v.(string); redact.IsMark(s) || utf8.RuneCountInString(k.Value) > maxValue {
				continue
			}
			if counts[k] == nil {
				counts[k] = &ArgumentCount{Name: k.Name, Value: k.Value}
			}
			if isBad {
				counts[k].Bad++
			} else {
				counts[k].Good++
			}
		}
	}
	good := len(calls) - bad
	var out []ArgumentCount
	for _, c := range counts {
		if c.Bad >= 2 && c.Bad+c.Good < len(calls) && c.Bad*max(good, 1) > c.Good*bad {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b ArgumentCount) int {
		return cmp.Or(cmp.Compare(b.Bad-b.Good, a.Bad-a.Good), cmp.Compare(b.Bad, a.Bad), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	return slices.Clip(out[:min(len(out), 8)])
}
