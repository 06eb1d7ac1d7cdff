// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/einomem/einomem/backends/reme/flow"
)

// words are the texts that are made without a model, in one language.
type words struct {
	header, none, window, success, score, time, tokens, errors, empty, repeats string

	served, works, fails, argument, anyValue, repeated, emptyAdvice, expect, allWell string

	listed   string // between things of a list
	advice   map[ErrorClass]string
	classes  map[ErrorClass]string
	fewCalls string
}

// statisticsHeaders are the lines above statistics, by which they are found again.
var statisticsHeaders = []string{english.header, chinese.header}

func wordsOf(l flow.Language) *words {
	if l == flow.Chinese {
		return &chinese
	}
	return &english
}

var english = words{
	header: "## Statistics", none: "No calls yet.",
	window:  "- Calls: the last %d of %d, %s to %s",
	success: "- Success rate: %s%%",
	score:   "- Average score: %.3f (%d judged)",
	time:    "- Average time: %.3f s (p50 %.3f, p90 %.3f, p99 %.3f)",
	tokens:  "- Average tokens: %.2f (%d known)",
	errors:  "- Errors: ", empty: "- Empty results: %d", repeats: "- Repeated calls: %d (%s%%)",
	served:      "%d of the last %d calls served their purpose.",
	works:       "An input that worked: %s",
	fails:       "%d calls failed (%s), such as with \"%s\". %s",
	argument:    "%d of %d calls with %s went badly: avoid it, or check it first.",
	anyValue:    "the argument %s",
	repeated:    "One call was made %d times with the same failure (%s): %s. Never repeat a failed call unchanged.",
	emptyAdvice: "%d calls returned nothing: use broader or other inputs.",
	expect:      "Expect about %.1f s; nine of ten calls take at most %.1f s.",
	allWell:     "No call went badly.",
	listed:      ", ",
	fewCalls:    "These are few calls: take this as a hint.",
	classes: map[ErrorClass]string{
		ErrorTimeout: "timeout", ErrorRateLimit: "rate limit", ErrorAuth: "authorization", ErrorNotFound: "not found",
		ErrorArgument: "invalid argument", ErrorNetwork: "network", ErrorOther: "other",
	},
	advice: map[ErrorClass]string{
		ErrorTimeout:   "Ask for less at a time, or try again later.",
		ErrorRateLimit: "Call it less often, and wait before the next try.",
		ErrorAuth:      "The rights or credentials are missing: another try does not help; say so.",
		ErrorNotFound:  "Check that what is named exists, for example by listing or searching first.",
		ErrorArgument:  "Check names, types and ranges of the arguments against the tool's description.",
		ErrorNetwork:   "Try once more after a moment, then use another tool.",
		ErrorOther:     "Read the error and change the call before another try.",
	},
}

var chinese = words{
	header: "## 统计", none: "还没有调用。",
	window:  "- 调用：最近 %d 次，共 %d 次，%s 至 %s",
	success: "- 成功率：%s%%",
	score:   "- 平均得分：%.3f（已评判 %d 次）",
	time:    "- 平均耗时：%.3f 秒（p50 %.3f，p90 %.3f，p99 %.3f）",
	tokens:  "- 平均 token：%.2f（已知 %d 次）",
	errors:  "- 错误：", empty: "- 空结果：%d", repeats: "- 重复调用：%d（%s%%）",
	served:      "最近的调用中有 %d 次有用，共 %d 次。",
	works:       "有效的输入：%s",
	fails:       "%d 次调用失败（%s），例如「%s」。%s",
	argument:    "带有 %[3]s 的 %[2]d 次调用中有 %[1]d 次效果不好：避免使用，或先核对。",
	anyValue:    "参数 %s",
	repeated:    "同一调用以同样的失败重复了 %d 次（%s）：%s。失败的调用不要原样重试。",
	emptyAdvice: "%d 次调用没有返回内容：换用更宽泛或不同的输入。",
	expect:      "耗时约 %.1f 秒；九成调用不超过 %.1f 秒。",
	allWell:     "没有效果不好的调用。",
	listed:      "，",
	fewCalls:    "调用次数较少，仅供参考。",
	classes: map[ErrorClass]string{
		ErrorTimeout: "超时", ErrorRateLimit: "限流", ErrorAuth: "权限", ErrorNotFound: "未找到",
		ErrorArgument: "参数无效", ErrorNetwork: "网络", ErrorOther: "其他",
	},
	advice: map[ErrorClass]string{
		ErrorTimeout:   "每次少要一些，或稍后再试。",
		ErrorRateLimit: "降低调用频率，下次尝试前先等待。",
		ErrorAuth:      "缺少权限或凭据：重试无用，应说明情况。",
		ErrorNotFound:  "先确认所指对象存在，例如先列出或搜索。",
		ErrorArgument:  "对照工具说明核对参数的名称、类型和范围。",
		ErrorNetwork:   "稍候再试一次，之后换用其他工具。",
		ErrorOther:     "先读错误信息并修改调用，再尝试。",
	},
}

// Text returns the statistics as a section of text under a header. A tool without
// calls says so. LanguageAuto is English.
func (s Statistics) Text(l flow.Language) string {
	w := wordsOf(l)
	lines := []string{w.header}
	if s.Calls == 0 {
		return w.header + "\n" + w.none
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add(w.window, s.Calls, s.Total, s.From.UTC().Format(time.DateOnly), s.To.UTC().Format(time.DateOnly))
	add(w.success, percent(s.SuccessRate))
	if s.Judged > 0 {
		add(w.score, s.AvgScore, s.Judged)
	}
	add(w.time, s.AvgTime, s.Latency.P50, s.Latency.P90, s.Latency.P99)
	if s.TokensKnown > 0 {
		add(w.tokens, s.AvgTokens, s.TokensKnown)
	}
	if len(s.Errors) > 0 {
		counts := make([]string, len(s.Errors))
		for i, e := range s.Errors {
			counts[i] = w.classes[e.Class] + " " + strconv.Itoa(e.Calls)
		}
		lines = append(lines, w.errors+strings.Join(counts, w.listed))
	}
	if s.Empty > 0 {
		add(w.empty, s.Empty)
	}
	if s.Repeats.Calls > 0 {
		add(w.repeats, s.Repeats.Calls, percent(s.Repeats.Share))
	}
	return strings.Join(lines, "\n")
}

// percent returns a share with at most two decimals.
func percent(share float64) string {
	return strconv.FormatFloat(round(share*100, 2), 'f', -1, 64)
}
