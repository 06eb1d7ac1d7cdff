// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"regexp"
	"strings"
)

// ErrorClass says what kind of error a call ended with.
type ErrorClass string

// The classes, in the order in which they are looked for.
const (
	ErrorTimeout   ErrorClass = "timeout"
	ErrorRateLimit ErrorClass = "rate_limit"
	ErrorAuth      ErrorClass = "auth"
	ErrorNotFound  ErrorClass = "not_found"
	ErrorArgument  ErrorClass = "invalid_argument"
	ErrorNetwork   ErrorClass = "network"
	ErrorOther     ErrorClass = "other"
)

// classes are the signs of each class in what errors say, in English and Chinese.
// A status code counts only as a word of its own.
var classes = []struct {
	class ErrorClass
	signs *regexp.Regexp
}{
	{ErrorTimeout, regexp.MustCompile(`(?i)time[d]?[ _-]?out|deadline exceeded|took too long|\b(408|504)\b|etimedout|超时|逾时|响应时间过长`)},
	{ErrorRateLimit, regexp.MustCompile(`(?i)rate[ _-]?limit|too many requests|quota|throttl|\b429\b|限流|频率(过高|限制|超)|请求过多|过于频繁|配额`)},
	{ErrorAuth, regexp.MustCompile(`(?i)unauthori[sz]ed|forbidden|permission|access denied|not allowed|authenticat|credential|invalid[ _-]?(api[ _-]?key|token)|(api[ _-]?key|token)[^.]{0,20}(invalid|expired|missing)|\b(401|403)\b|未授权|无权|权限|鉴权|认证失败|登录(已)?(失效|过期)|密钥(无效|错误)|令牌`)},
	{ErrorArgument, regexp.MustCompile(`(?i)(invalid|illegal|bad|malformed|missing|unknown|unexpected|required|wrong)[ _-]+(\S+[ _-]+){0,2}?(argument|param|input|value|request|field|type|format|json|key)|(argument|param|parameter|field|value)s?\b[^.]{0,40}\b(required|missing|invalid|must be|unknown|not supported)|must be (a|an|one|between|at|in|of|greater|less|positive)|cannot (parse|unmarshal)|validation|out of range|\b(400|422)\b|参数|格式(错误|不正确|有误)|不合法|非法|无效的|缺少|必填|取值|超出范围`)},
	{ErrorNotFound, regexp.MustCompile(`(?i)not[ _-]?found|no such|does(n't| not) exist|unknown (user|id|file|path|city|table|resource)|\b(404|410)\b|enoent|不存在|未找到|找不到|没有找到|查无`)},
	{ErrorNetwork, regexp.MustCompile(`(?i)connection|network|unreachable|econn|socket|broken pipe|\beof\b|dns|no such host|tls|certificate|service unavailable|bad gateway|\b(502|503)\b|网络|连接|无法访问|域名|不可达|服务不可用`)},
}

// maxClassified is how much of an error's text is looked at, in bytes.
const maxClassified = 4096

// ClassifyError tells the class of an error by what it says, in English or Chinese.
// An empty text has no class.
func ClassifyError(text string) ErrorClass {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	text = clip(text, maxClassified)
	if strings.Contains(strings.ToLower(text), "no such host") {
		return ErrorNetwork
	}
	for _, c := range classes {
		if c.signs.MatchString(text) {
			return c.class
		}
	}
	return ErrorOther
}

// nothing are results that say that there is nothing.
var nothing = regexp.MustCompile(`(?i)^[\s\p{P}\p{S}]*((sorry,? )?(there (is|are|were) )?no (relevant |matching |such |search )?(results?|matches|records?|data|documents?|items?|entries|hits)( (was|were|are|is))?( (found|available|returned))?( for .{0,80})?|nothing( was)? found|not found|none|null|n/a|empty|0 results?( found)?|(没有|未|无|暂无)(找到|查到|搜索到|查询到|检索到|匹配|搜索|查询|相关)*(任何)?(相关|匹配)?的?(结果|数据|记录|内容|信息|文档)?)[\s\p{P}\p{S}]*$`)

// emptyJSON are JSON results without anything in them.
var emptyJSON = regexp.MustCompile(`^\s*(\[\s*\]|\{\s*\}|\{\s*"(results?|data|items|hits|records|list)"\s*:\s*(\[\s*\]|\{\s*\}|null)\s*\}|"")\s*$`)

// saysNothing reports whether a result is empty, or says that nothing was found.
func saysNothing(output string) bool {
	if strings.TrimSpace(output) == "" {
		return true
	}
	return len(output) < 400 && (nothing.MatchString(output) || emptyJSON.MatchString(output))
}

// errorWords are beginnings of results by which tools say in words that they failed,
// as those do whose errors are handled for the model.
var errorWords = regexp.MustCompile(`(?i)^[\s\[("'*#]*(tool |runtime |internal |http |server )?(error|exception|failed|failure|fatal)\b["'\])*]*\s*[:：-]|^\s*traceback \(|^\s*(failed to|unable to|could not|cannot) |^\s*\{\s*"(error|err|error_?message|errmsg)"\s*:\s*("[^"]|\{|\[\s*[^\]\s]|true|[1-9])|^\s*\{\s*"(success|ok)"\s*:\s*false|^[\s【\["']*(工具|调用|请求|执行|操作|运行)?(错误|出错|失败|异常|报错)(了|信息)?[】\]"']*\s*([:：，,。！!]|$)`)

// saysError reports whether a result is an error in words.
func saysError(output string) bool {
	return errorWords.MatchString(output[:cutBack(output, min(len(output), maxExample))])
}
