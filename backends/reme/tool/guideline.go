// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
)

// The keys of the metadata of a guideline.
const (
	metaStatistics = "statistics" // its Statistics at the time of writing
	metaCovered    = "covered"    // how many calls of each month it covers
	metaJudged     = "judged"     // the model's judgements by the ids of calls
)

// guidelineID returns the id of the one guideline of a tool in a workspace.
func guidelineID(p backends.Partition, tool string) string {
	return keeper.ContentID(p, backends.KindTool, tool)
}

// toolOf returns the tool whose guideline a memory is; "" for any other memory, also of kind tool.
func toolOf(p backends.Partition, memory *backends.Memory) string {
	name := strings.TrimSpace(memory.WhenToUse)
	if memory.Kind != backends.KindTool || memory.ID != guidelineID(p, name) {
		return ""
	}
	return name
}

// guideline is the memory of a tool; its record is nil before the first one.
type guideline struct {
	record  *store.Record
	covered map[string]int64     // calls by month
	judged  map[string]judgement // by the id of the call
}

// guidelineOf reads the guideline of a tool. If another program changed its metadata, it covers no
// calls and is due.
func (m *Memory) guidelineOf(ctx context.Context, p backends.Partition, tool string) (*guideline, error) {
	records, err := m.keeper.Records(ctx, p, guidelineID(p, tool))
	if err != nil || len(records) == 0 {
		return &guideline{}, err
	}
	g := &guideline{record: &records[0], covered: map[string]int64{}}
	for name, to := range map[string]any{metaCovered: &g.covered, metaJudged: &g.judged} {
		if raw, err := json.Marshal(g.record.Metadata[name]); err == nil {
			_ = json.Unmarshal(raw, to) // else it covers no calls, or the rules judge
		}
	}
	return g, nil
}

// uncovered returns how many calls are beyond the guideline, given their numbers by month. A month
// with fewer calls than covered ones was deleted and began anew.
func (g *guideline) uncovered(seen map[string]int64) int64 {
	var n int64
	for month, total := range seen {
		covered := g.covered[month]
		if covered > total {
			covered = 0
		}
		n += total - covered
	}
	return n
}

// holds reports whether there is a current guideline.
func (g *guideline) holds(now time.Time) bool {
	return g.record != nil && g.record.Active() && !g.record.Expired(now)
}

// text returns the guideline above its statistics.
func (g *guideline) text() string {
	if g.record == nil {
		return ""
	}
	s := g.record.Text
	for _, header := range headers {
		if i := strings.LastIndex(s, header+"\n"); i == 0 || i > 0 && s[i-1] == '\n' {
			return strings.TrimSpace(s[:i])
		}
	}
	return strings.TrimSpace(s)
}

// next returns the record with another guideline. The caller's metadata stays, and so do the users
// of the former guideline, which is a source of this one.
func (m *Memory) next(p backends.Partition, st *state, written, by string) *store.Record {
	r := &store.Record{Memory: backends.Memory{Created: m.keeper.Stamps(1)}}
	if st.guideline.record != nil {
		*r = *st.guideline.record
	}
	meta := map[string]any{}
	maps.Copy(meta, r.Metadata)
	raw, _ := json.Marshal(map[string]any{metaCovered: st.seen, metaStatistics: st.Statistics, metaJudged: st.judged}) // plain data
	_ = json.Unmarshal(raw, &meta)
	r.ID, r.Kind, r.WhenToUse = guidelineID(p, st.Name), backends.KindTool, st.Name
	user := r.Scope.UserID // of a loaded former one
	r.Scope = backends.Scope{Namespace: p.Namespace, Workspace: p.ID}
	r.Text, r.Vector = written+"\n\n"+st.rendered(), nil
	r.Metadata, r.Observed, r.Origin = meta, st.Statistics.To, backends.Origin{Role: "tool", Author: by, Users: r.Origin.Users}
	keeper.Credit(&r.Memory, user)
	for i := range st.calls {
		keeper.Credit(&r.Memory, st.calls[i].UserID)
	}
	r.Invalidated, r.SupersededBy, r.Expires, r.Updated = time.Time{}, "", time.Time{}, m.keeper.Now()
	return r
}

// maxGuideline bounds a guideline, in characters.
const maxGuideline = 4000

// guidance is a model's answer by the tool tool_guideline.
type guidance struct {
	Guideline  string      `json:"guideline" jsonschema:"required" jsonschema_description:"plain text, at most 200 words"`
	Judgements []judgement `json:"judgements,omitempty" alias:"judgments,evaluations,scores,calls,评判"`
}

func (g *guidance) check() error {
	switch n := len([]rune(g.Guideline)); {
	case n == 0:
		return errors.New("the guideline is missing")
	case n > maxGuideline:
		return fmt.Errorf("the guideline has %d characters, at most %d are possible", n, maxGuideline)
	}
	return nil
}

// write writes the guideline of a tool from its calls: by the model if there is one, else
// by rules.
func (m *Memory) write(ctx context.Context, run *ask.Run, st *state) (written, by string, err error) {
	if m.model == nil {
		return m.redact(st.byRules()), byRules, nil
	}
	st.unjudged = nil
	system := promptsIn[st.language].Guideline
	for i := range st.calls {
		if c := &st.calls[i]; m.cfg.Judge == byModel && c.Judge == byRules && c.ID != "" {
			st.unjudged = append(st.unjudged, i)
		}
	}
	if len(st.unjudged) > 0 {
		system += "\n\n" + promptsIn[st.language].Judge
	}
	q := &ask.Question{System: system, User: m.material(st), Tool: "tool_guideline", Purpose: "Gives the guideline of the tool.", Language: st.language}
	answer, err := ask.For(ctx, run, q, (*guidance).check)
	if err != nil {
		return "", "", fmt.Errorf("tool: %w", err)
	}
	if written = strings.TrimSpace(m.redact(answer.Value.Guideline)); written == "" {
		return "", "", fmt.Errorf("tool: %w: nothing is left of the guideline without its secrets", backends.ErrModel)
	}
	m.judge(st, answer.Value.Judgements)
	return written, byModel, nil
}

// How many tokens a prompt shows of a call: a line, and more of a result that is to be judged.
const (
	minShown  = 64
	maxShown  = 80
	maxJudged = 256
)

// material returns the sources of a guideline, fenced: the name of the tool, the former guideline,
// statistics, and the newest calls, a line each.
func (m *Memory) material(st *state) string {
	out := max(0, len(st.calls)-max(m.prompt/minShown, 1))
	calls := st.calls[out:]
	var lines []any
	if out > 0 {
		lines = append(lines, fmt.Sprintf("[%d older calls are left out]", out))
	}
	for i := range calls {
		lines = append(lines, shown(out+i, &calls[i], m.prompt/len(calls), slices.Contains(st.unjudged, out+i)))
	}
	former := text.Middle(m.redact(st.guideline.text()), maxGuideline)
	return ask.Section("tool", []string{st.Name}) + ask.Section("guideline_so_far", []string{former}) +
		ask.Section("statistics", []Statistics{st.Statistics}) + ask.Section("calls", lines)
}

// shown shows a call to a model, in about so many tokens at most.
func shown(n int, c *Call, tokens int, judge bool) any {
	s := struct {
		N          int      `json:"n"`
		Input      any      `json:"input"`
		Output     string   `json:"output"`
		Failed     bool     `json:"failed,omitempty"`
		Error      string   `json:"error,omitempty"`
		Class      string   `json:"error_class,omitempty"`
		Seconds    float64  `json:"seconds,omitempty"`
		Score      *float64 `json:"score,omitempty"`
		Evaluation string   `json:"evaluation,omitempty"`
		Judge      bool     `json:"judge,omitempty"`
	}{N: n, Judge: judge, Input: c.Input, Output: c.Output, Failed: c.failed(), Seconds: round(c.Took.Seconds(), 1), Score: c.Score, Evaluation: c.Evaluation}
	if c.Error != c.Output {
		s.Error = c.Error
	}
	if problem := c.problem(); problem != "" {
		s.Class = classOf(problem)
	}
	most := maxShown
	if judge {
		most, s.Score = maxJudged, nil // the rules' score is no hint
	}
	tokens = min(tokens, most)
	if text.Tokens(encoded(s)) > tokens {
		s.Input, s.Output = text.Fit(readable(c.Input), tokens/4, text.Tokens), text.Fit(c.Output, tokens*3/8, text.Tokens)
		s.Error, s.Evaluation = text.Fit(s.Error, tokens/8, text.Tokens), text.Fit(c.Evaluation, tokens/4, text.Tokens)
	}
	return s
}

// byRules writes a guideline by rules: what worked, what failed, and which arguments went with it.
// The same calls give the same text.
func (st *state) byRules() string {
	data := struct {
		*Statistics
		Useful  int
		Example string
	}{Statistics: &st.Statistics}
	for i := range st.calls {
		if !st.calls[i].bad() {
			data.Useful++
			data.Example = text.Line(readable(st.calls[i].Input), maxExample)
		}
	}
	return rendered(st.language, "guideline", data)
}

// The judges of calls, and writers of guidelines.
const (
	byRules  = "rules"
	byModel  = "model"
	byNobody = "off"
)

// judgement is a model's view of one call.
type judgement struct {
	N      int     `json:"n" jsonschema:"required" alias:"number,call"`
	Score  float64 `json:"score" jsonschema:"required" jsonschema_description:"1 or 0"`
	Reason string  `json:"reason" alias:"evaluation,summary,理由"`
}

// maxReason bounds the reason of a judgement, in characters.
const maxReason = 200

// judge puts the model's judgements in the place of the rules', and measures again. It ignores
// numbers of calls that the model was not asked about; a call without a judgement keeps its score.
func (m *Memory) judge(st *state, judgements []judgement) {
	for _, j := range judgements {
		if slices.Contains(st.unjudged, j.N) {
			j.Score, j.Reason = binary(j.Score), text.Line(m.redact(j.Reason), maxReason)
			st.judged[st.calls[j.N].ID] = j
			st.calls[j.N].take(j)
		}
	}
	st.measure()
}

// take gives the call a model's judgement.
func (c *Call) take(j judgement) { c.Score, c.Judge, c.Evaluation = &j.Score, byModel, j.Reason }

// judgeByRules scores a call by its end: 0 for an error, also for one that the result reports in
// words, and for an empty result; 1 for any other.
func (c *Call) judgeByRules() {
	score := 1.0
	if c.problem() != "" || reportsNothing(c.Output) {
		score = 0
	}
	c.Score, c.Judge = &score, byRules
}

// nothing matches results that say that there is nothing, emptyJSON the empty ones.
var (
	nothing   = regexp.MustCompile(`(?i)^[\s\p{P}\p{S}]*((sorry,? )?(there (is|are|were) )?no (relevant |matching |such |search )?(results?|matches|records?|data|documents?|items?|entries|hits)( (was|were|are|is))?( (found|available|returned))?( for .{0,80})?|nothing( was)? found|not found|none|null|n/a|empty|0 results?( found)?|(没有|未|无|暂无)(找到|查到|搜索到|查询到|检索到|匹配|搜索|查询|相关)*(任何)?(相关|匹配)?的?(结果|数据|记录|内容|信息|文档)?)[\s\p{P}\p{S}]*$`)
	emptyJSON = regexp.MustCompile(`^\s*(\[\s*\]|\{\s*\}|\{\s*"(results?|data|items|hits|records|list)"\s*:\s*(\[\s*\]|\{\s*\}|null)\s*\}|"")\s*$`)
)

// reportsNothing reports whether a result is empty, or says that nothing was found.
func reportsNothing(output string) bool {
	if strings.TrimSpace(output) == "" {
		return true
	}
	return len(output) < 400 && (nothing.MatchString(output) || emptyJSON.MatchString(output))
}

// errorWords matches the beginnings of results that report an error in words. Tools whose errors
// are handled for the model answer so.
var errorWords = regexp.MustCompile(`(?i)^[\s\[("'*#]*(tool |runtime |internal |http |server )?(error|exception|failed|failure|fatal)\b["'\])*]*\s*[:：-]|^\s*traceback \(|^\s*(failed to|unable to|could not|cannot) |^\s*\{\s*"(error|err|error_?message|errmsg)"\s*:\s*("[^"]|\{|\[\s*[^\]\s]|true|[1-9])|^\s*\{\s*"(success|ok)"\s*:\s*false|^[\s【\["']*(工具|调用|请求|执行|操作|运行)?(错误|出错|失败|异常|报错)(了|信息)?[】\]"']*\s*([:：，,。！!]|$)`)

// reportsError reports whether a result is an error in words.
func reportsError(output string) bool { return errorWords.MatchString(text.TruncateBytes(output, 160)) }
