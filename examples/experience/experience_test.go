// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/demomodel"
)

// Arms have the same attempts at the same cellars, and differ in what stands in the
// context alone.
func TestMemoryHelpsAndAnotherFamilysDoesNot(t *testing.T) {
	const most = 2
	s := &series{seeds: 3, train: 5, test: 6}
	require.NoError(t, s.run(t.Context()))
	for _, a := range arms {
		switch {
		case a.foreign:
			assert.Less(t, s.better(a.name, a.than), most, "another family's memories help")
		case a.than != "":
			assert.GreaterOrEqual(t, s.better(a.name, a.than), most, a.name)
		}
	}
	learnt, _, failed, lessons := s.means("task memory")
	_, _, spared, _ := s.means("task and tool memory")
	assert.Less(t, spared, failed, "tool memory spares calls that fail")
	tidied, _, _, _ := s.means("reflected")
	assert.GreaterOrEqual(t, tidied, learnt)
	skilled, _, _, shown := s.means("skills")
	assert.GreaterOrEqual(t, skilled, learnt)
	assert.LessOrEqual(t, shown, lessons/3, "a skill is shorter than the lessons it is made of")

	var printed strings.Builder
	s.print(&printed)
	for _, part := range []string{
		"scripted player", "3 seeds", "5 to train on", "6 others to test on, n = 18 an arm", "One attempt at each cellar",
		"| no memory | ", " ± ", "| control: another family's memories | ", "on 3 of 3 seeds |",
	} {
		assert.Contains(t, printed.String(), part, "a figure says how it was measured")
	}
	require.ErrorContains(t, (&series{}).run(t.Context()), "-seeds")
}

func TestThereIsNoChance(t *testing.T) {
	s := &series{seeds: 1, train: 3, test: 2}
	var first, second strings.Builder
	require.NoError(t, s.run(t.Context()))
	s.print(&first)
	require.NoError(t, s.run(t.Context()))
	s.print(&second)
	assert.Equal(t, first.String(), second.String())
}

// known returns what the workspace holds about the tools and the cellars of a house.
func (a *agent) known(t *testing.T, of rules) (all []backends.Memory) {
	for r := (&backends.ListRequest{Scope: scope("")}); ; {
		page, err := a.backend.List(t.Context(), r)
		require.NoError(t, err)
		all = append(all, page.Memories...)
		if r.Cursor = page.Next; r.Cursor == "" {
			return slices.DeleteFunc(all, func(m backends.Memory) bool {
				return m.Kind == backends.KindTask && !strings.Contains(m.WhenToUse, of.house+" ")
			})
		}
	}
}

func TestWhatIsLearntAreTheRulesOfTheFamily(t *testing.T) {
	c := newCourse(3, 10, 1)
	for _, a := range []*arm{{tools: true}, {tools: true, foreign: true}} {
		want := map[bool]rules{false: c.train[0].rules, true: c.foreign[0].rules}[a.foreign]
		var texts []string
		used := 0
		require.NoError(t, a.withMemory(t.Context(), func(trained *agent) error {
			require.NoError(t, trained.train(t.Context(), c))
			for _, m := range trained.known(t, want) {
				texts = append(texts, strings.ToLower(m.Text))
				if n, _ := m.Metadata["freq"].(float64); n > 0 {
					used++
				}
			}
			return nil
		}))
		learnt := strings.Join(texts, "\n")
		assert.Contains(t, learnt, "do not step on "+want.pit+" ground", "%v", want)
		assert.NotContains(t, learnt, want.pit+" ground holds")
		assert.Contains(t, learnt, "in calls of open_door write colour "+forms[want.form].name, "%v", want)
		assert.Positive(t, used, "memories that an attempt began with are counted as used")
	}
}

// Experience reaches the agent through the middleware alone: with an empty workspace the
// agent with memory plays as the one without.
func TestWithoutTrainingMemoryChangesNothing(t *testing.T) {
	c := newCourse(3, 0, 8)
	bare, err := (&arm{attempts: 1}).play(t.Context(), c)
	require.NoError(t, err)
	empty, err := (&arm{attempts: 1, memory: true, tools: true}).play(t.Context(), c)
	require.NoError(t, err)
	assert.Positive(t, empty.memory, "what is known of other houses")
	empty.memory = 0
	assert.Equal(t, bare, empty)
}

func TestMemoriesWithTheirWordsShuffledDoNotHelp(t *testing.T) {
	c := newCourse(1, 8, 12)
	var straight, shuffled []*schema.Message
	r := rand.New(rand.NewPCG(1, 1))
	require.NoError(t, (&arm{tools: true}).withMemory(t.Context(), func(trained *agent) error {
		require.NoError(t, trained.train(t.Context(), c))
		for _, known := range trained.known(t, c.train[0].rules) {
			assert.Contains(t, []backends.Kind{backends.KindTask, backends.KindTool}, known.Kind)
			words := strings.Fields(known.Text)
			straight = append(straight, schema.UserMessage(known.Text))
			r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			shuffled = append(shuffled, schema.UserMessage(strings.Join(words, " ")))
		}
		return nil
	}))
	tested := func(known []*schema.Message) (r result) {
		for _, at := range c.test {
			v, _, err := (&agent{arm: arms[0]}).attempt(t.Context(), at, at.task(1, 1), known...)
			require.NoError(t, err)
			v.memory = 0
			r.add(v)
		}
		return r
	}
	assert.Equal(t, tested(nil), tested(shuffled))
	assert.Greater(t, tested(straight).won, tested(shuffled).won)
}

func TestMeansAndDeviations(t *testing.T) {
	s := &series{seeds: 3, test: 4, results: []map[string]result{
		{"a": {1, 8, 2, 9}, "b": {1, 0, 4, 0}}, {"a": {2, 0, 4, 0}, "b": {3, 0, 4, 0}}, {"a": {3, 4, 4, 18}, "b": {4, 0, 4, 0}},
	}}
	mean, sd, failures, memory := s.means("a")
	assert.Equal(t, []float64{50, 25, 1, 3}, []float64{mean, sd, failures, memory})
	assert.Equal(t, 2, s.better("b", "a"))
	s = &series{seeds: 1, test: 4, results: []map[string]result{{"a": {3, 0, 4, 0}}}}
	mean, sd, _, _ = s.means("a")
	assert.Equal(t, []float64{75, 0}, []float64{mean, sd}, "one seed does not deviate")
}

func TestCellarsFollowFromTheSeedAndDiffer(t *testing.T) {
	for seed := range uint64(5) {
		r, other := drawRules(seed), drawRules(seed).other(seed+1)
		assert.Equal(t, r, drawRules(seed))
		assert.NotEqual(t, r.pit, other.pit)
		assert.NotEqual(t, r.form, other.form)

		c, seen := newCourse(seed, 20, 40), map[string]bool{}
		for _, at := range slices.Concat(c.train, c.foreign, c.test) {
			cells := fmt.Sprint(at.cells)
			require.False(t, seen[cells] || seen[at.name], "a test cellar is none of the training cellars")
			seen[cells], seen[at.name] = true, true
		}
		task := c.train[3].task(1, 1)
		assert.Equal(t, task, newCourse(seed, 5, 1).train[3].task(1, 1))
		assert.NotContains(t, task, r.pit)
		assert.NotContains(t, task, "the "+forms[r.form].write(c.train[3].colour)+" door")
	}
}

func (c *cellar) visit() *visit { return &visit{cellar: c, at: c.start, left: c.strength} }

// do makes one call of a tool and returns what it answered, or what failed.
func (v *visit) do(t *testing.T, name, arguments string) (out view, failed string) {
	t.Helper()
	tools, err := v.tools()
	require.NoError(t, err)
	for _, one := range tools {
		if info, err := one.Info(t.Context()); err != nil || info.Name != name {
			continue
		}
		text, err := one.(tool.InvokableTool).InvokableRun(t.Context(), arguments)
		require.NoError(t, err)
		if failed, ok := strings.CutPrefix(text, failure); ok {
			return out, failed
		}
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return out, ""
	}
	require.Fail(t, "no such tool", name)
	return out, ""
}

func TestEveryCellarCanBeLeftWithTheRulesKnown(t *testing.T) {
	for seed := range uint64(8) {
		rules := drawRules(seed)
		for n := range 10 {
			c := drawCellar(rules, seed, n)
			v := c.visit()
			v.left += 10             // for what fails on purpose
			walk := func(to point) { // the shortest safe way to a cell; a door that is closed ends it before
				for v.at != to {
					step, cost := search(v.at, to, directions, func(p point) int {
						if v.sight(p) == wallSight || v.pitAt(p) {
							return 0
						}
						return 1
					})
					require.Positive(t, cost)
					if v.at.Add(step.point) == v.door && !v.open {
						return
					}
					v.do(t, "move", fmt.Sprintf(`{"direction":%q}`, step.name))
				}
			}
			_, failed := v.do(t, "open_door", `{"colour":"red"}`)
			require.Regexp(t, "no closed door|no key", failed)
			walk(c.key)
			require.True(t, v.hasKey)
			walk(c.door)
			_, failed = v.do(t, "open_door", `{"colour":"a"}`)
			require.Contains(t, failed, "does not know this colour")
			out, failed := v.do(t, "open_door", fmt.Sprintf(`{"colour":%q}`, forms[rules.form].write(c.colour)))
			require.Empty(t, failed)
			require.Equal(t, opened, out.Event)
			walk(c.exit)
			require.True(t, v.over)
			require.InDelta(t, 1, v.score, 0)
			require.Equal(t, 2, v.failures)
		}
	}
}

func TestAPitLooksLikeGroundAndEndsTheAttempt(t *testing.T) {
	rules, fallen := drawRules(1), 0
	for n := range 100 {
		v := drawCellar(rules, 1, n).visit()
		before, _ := v.do(t, "look", "{}")
		for i, d := range directions {
			if arguments := fmt.Sprintf(`{"direction":%q}`, d.name); v.pitAt(before.Near[i].Where) {
				inspected, _ := v.do(t, "inspect", arguments)
				require.Equal(t, &place{before.Near[i].Where, "gives way"}, inspected.Ground)
				after, _ := v.do(t, "move", arguments)
				require.Equal(t, fell, after.Event)
				require.Contains(t, sorts(before.Near[i].What), rules.pit)
				require.True(t, v.over)
				require.Zero(t, v.score)
				fallen++
				break
			}
		}
	}
	assert.Greater(t, fallen, 10)
}

func TestThereIsNoWayElsewhere(t *testing.T) {
	out, _ := drawCellar(drawRules(1), 1, 1).visit().do(t, "move", `{"direction":"up"}`)
	assert.Equal(t, "There is no way up.", out.Event)
}

func TestStrengthEnds(t *testing.T) {
	for tool, arguments := range map[string]string{"look": "{}", "inspect": `{"direction":"?"}`, "open_door": `{"colour":"?"}`} {
		v := drawCellar(drawRules(1), 1, 3).visit()
		for calls := 0; !v.over; calls++ {
			v.do(t, tool, arguments)
			require.Less(t, calls, 200)
		}
		out, _ := v.do(t, "move", `{"direction":"north"}`)
		assert.Equal(t, exhausted, out.Event)
		assert.Zero(t, v.score)
	}
}

// The task, and what the tools answer in a corridor, where the key lies behind mossy ground, and
// beside the door.
var (
	escape   = fmt.Sprintf(taskFormat, "Oakfield", "1-001:", 5, 3, 0, 1, 3, 1, "blue", 2, 1, 4, 2, 40)
	corridor = near(image.Pt(0, 1), "", "plain ground", "mossy humming ground", wallSight, wallSight)
	doorway  = near(image.Pt(1, 1), tookKey, wallSight, doorSight, wallSight, "plain ground")
)

// asText is a tool's answer.
func asText(v *view) string {
	text, _ := json.Marshal(v) // plain data always marshals
	return string(text)
}

// near is the answer of a look or a move, with what lies north, east, south and west.
func near(at point, event string, sights ...string) string {
	v := &view{At: at, Event: event}
	for i, sight := range sights {
		v.Near = append(v.Near, place{at.Add(directions[i].point), sight})
	}
	return asText(v)
}

// next returns what the player does as "tool arguments", with a note before the task
// and after calls: tool, arguments and result each.
func next(t *testing.T, note string, calls ...string) string {
	t.Helper()
	in := []*schema.Message{{Role: schema.User, Name: "memory", Content: "## Relevant memories\n- " + note}, schema.UserMessage(escape)}
	for i := 0; i < len(calls); i += 3 {
		m := demomodel.Call(calls[i]+string(rune('a'+i)), calls[i], json.RawMessage(calls[i+1]))
		in = append(in, m, schema.ToolMessage(calls[i+2], m.ToolCalls[0].ID))
	}
	out, err := player().Generate(t.Context(), in)
	require.NoError(t, err)
	if len(out.ToolCalls) == 0 {
		return out.Content
	}
	return out.ToolCalls[0].Function.Name + " " + out.ToolCalls[0].Function.Arguments
}

func TestThePlayerGoesByTheMemoriesInTheContext(t *testing.T) {
	const straight, around = `move {"direction":"east"}`, `move {"direction":"north"}`
	for note, want := range map[string]string{
		"": straight,
		"Do not step on mossy ground: it gave way.":                          around,
		"[x1] 2026-01-01: do not step on Humming ground (when: in a cellar)": around,
		"Do not step on sandy ground: it gave way.":                          straight,
		"step ground on not mossy Do: way it gave.":                          straight,
		"When booking a flight, compare the prices first.":                   straight,
		"Do not step on mossy ground.\n- Mossy ground holds.":                straight,
		"Do not step on mossy ground.\n- Humming ground holds.":              around,
		"Inspect ground of a sort that you have not stood on before.":        `inspect {"direction":"east"}`,
		"Do not step on mossy ground. (when: in a cellar below Oakfield)":    around,
		"Do not step on mossy ground. (when: in a cellar below Ashmoor)":     straight,
	} {
		assert.Equal(t, want, next(t, note, "look", "{}", corridor), note)
	}
	said := next(t, "", "look", "{}", strings.Replace(corridor, `"strength"`, `"event":"Do not step on mossy ground.","strength"`, 1))
	assert.Equal(t, straight, said, "a tool's answer is no advice")
	walled := strings.ReplaceAll(corridor, "plain ground", wallSight)
	warned := []string{"look", "{}", walled}
	assert.Equal(t, straight, next(t, "Do not step on mossy ground.", warned...), "the last resort")
	warned = append([]string{"look", "{}", corridor}, "inspect", `{"direction":"east"}`, asText(&view{At: image.Pt(0, 1), Ground: &place{image.Pt(1, 1), "gives way"}}))
	assert.NotEqual(t, straight, next(t, "", warned...))
}

func TestThePlayerChoosesArgumentsByMemoriesAndResults(t *testing.T) {
	colours := []string{"move", "{}", doorway}
	for _, want := range []string{"blue", "Blue", "BLUE", "b"} {
		require.Equal(t, `open_door {"colour":"`+want+`"}`, next(t, "", colours...))
		colours = append(colours, "open_door", `{"colour":"`+want+`"}`, "error: the lock does not know this colour")
	}
	for note, want := range map[string]string{
		"In calls of open_door write colour in capital letters: only such calls worked.": `open_door {"colour":"BLUE"}`,
		"In calls of open_door write colour with a capital letter first.":                `open_door {"colour":"Blue"}`,
		"In calls of open_door write colour as its first letter alone.":                  `open_door {"colour":"b"}`,
		"letters capital in colour write open_door of calls In":                          `open_door {"colour":"blue"}`,
	} {
		assert.Equal(t, want, next(t, note, "move", "{}", doorway))
	}
}

func TestAnAttemptBeginsAndEnds(t *testing.T) {
	assert.Equal(t, "look {}", next(t, ""))
	assert.Equal(t, "I am done.", next(t, "", "move", "{}", asText(&view{Event: gotOut})))
	assert.Equal(t, "I am done.", next(t, "", "move", "{}", asText(&view{Event: fell})))
	assert.Contains(t, next(t, "", "move", "{}", doorway, "open_door", `{"colour":"blue"}`, asText(&view{At: image.Pt(1, 1), Event: opened})), "east")
}

// answer asks the teacher by a tool and decodes its answer.
func answer(t *testing.T, tool, prompt string) object {
	t.Helper()
	m, err := teacher().WithTools([]*schema.ToolInfo{{Name: tool}})
	require.NoError(t, err)
	stream, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage(prompt)})
	require.NoError(t, err)
	out, err := schema.ConcatMessageStream(stream)
	require.NoError(t, err)
	var v object
	require.NoError(t, json.Unmarshal([]byte(out.ToolCalls[0].Function.Arguments), &v))
	return v
}

func fenced(name, text string) string { return "<" + name + ">\n" + text + "\n</" + name + ">\n" }

func TestTheTeacherExtractsAndJudges(t *testing.T) {
	fields := func(list any, name string) []any { // a field of each object
		out := []any{}
		for _, o := range list.([]any) {
			out = append(out, o.(object)[name])
		}
		return out
	}
	icy, fallen := near(image.Pt(0, 0), "", wallSight, "icy ground"), func(x int) string { return asText(&view{At: image.Pt(x, 0), Event: fell}) }
	doubted := near(image.Pt(0, 0), "", wallSight, "icy singing ground") + "\n" + fallen(1)
	certain := icy + "\n  " + near(image.Pt(1, 0), "", wallSight, "icy singing ground") + "\n" + fallen(2)
	success := near(image.Pt(0, 0), "", wallSight, "icy ground") + "\n" + near(image.Pt(1, 0), "", wallSight) + "\n" + asText(&view{At: image.Pt(1, 0), Event: gotOut})
	for name, tt := range map[string]struct {
		text  string
		texts []string
	}{
		"what held is no suspect":  {certain, []string{"Do not step on singing ground", "Icy ground holds"}},
		"two suspects":             {doubted, []string{"Do not step on icy ground", "Do not step on singing ground"}},
		"a success":                {success, []string{"Icy ground holds"}},
		"nothing to learn from it": {"step 1", nil},
	} {
		var texts []string
		for _, e := range fields(answer(t, "extract_experiences", fenced("data-trajectory", tt.text))["experiences"], "experience") {
			first, _, _ := strings.Cut(e.(string), ":")
			texts = append(texts, first)
		}
		assert.Equal(t, tt.texts, texts, name)
	}
	judged := answer(t, "judge_experiences", fenced("data-candidates", "candidate 1\nexperience:\n  a\ncandidate 2\nexperience:\n  b"))["judgements"]
	assert.Equal(t, []any{1.0, 2.0}, fields(judged, "candidate"))
	assert.Equal(t, []any{true, true}, fields(judged, "is_valid"))
}

func TestTheTeacherWritesSkillsAndReflects(t *testing.T) {
	lessons := "experience 1\n  When to use: in a cellar below Oakfield where it is dark\n  Do not step on icy ground: it gave way.\n" +
		"experience 2\n  When to use: in a cellar below Oakfield where it is dark\n  Do not step on soft ground: it gave way.\n" +
		"experience 3\n  When to use: in a cellar below Oakfield where it is dark\n  Soft ground holds.\n" +
		"experience 4\n  When to use: in a cellar below Ashmoor\n  Do not step on steep ground: it gave way.\n"
	skill := answer(t, "write_skill", fenced("task", "leave the cellar below Oakfield")+fenced("experiences", lessons)+fenced("attempt", `open_door {"colour":"blue"}, then open_door {"colour":"BLUE"}`))
	assert.Equal(t, []any{
		"Go the shortest way to the key, then to the door, then to the exit.", "Do not step on icy ground: go around it.",
		"In calls of open_door write colour in capital letters.",
	}, skill["steps"], "what held is not warned of, nor what another house has")
	assert.Equal(t, "leave cellars below Oakfield", skill["name"])

	said := `{"index":0,"when":"icy","text":"Icy ground holds."}` + "\n" + `{"index":1,"when":"icy","text":"Do not step on icy ground."}` + "\n" + `{"index":2,"when":"soft","text":"Do not step on soft ground."}`
	operations := answer(t, "reflect", fenced("memories", said))["operations"].([]any)
	require.Len(t, operations, 1)
	assert.Equal(t, []any{1.0}, operations[0].(object)["memories"])
	assert.InDelta(t, 0, operations[0].(object)["keep"], 0)
}

func TestAGuidelineSaysWhatCallsThatWorkHaveInCommon(t *testing.T) {
	ok := func(input string) string { return `{"n":0,"tool":"t","input":` + input + `,"score":1}` + "\n" }
	failed := func(input string) string { return `{"n":1,"tool":"t","input":` + input + `,"score":0}` + "\n" }
	prompt := func(lines string) string {
		return fenced("tool", `"t"`) + fenced("calls", "[3 older calls are left out]\n"+lines)
	}
	for lines, want := range map[string]string{
		failed(`{"w":"oak"}`):                                     "Nothing sets calls that work apart from others so far.",
		ok(`{"w":"OAK"}`) + failed(`{"w":"elm"}`):                 "In calls of t write w in capital letters: only such calls worked.",
		ok(`{"w":"Oak"}`) + failed(`{"w":"ELM"}`):                 "In calls of t write w with a capital letter first: only such calls worked.",
		ok(`{"w":"o"}`) + failed(`{"w":"elm"}`):                   "In calls of t write w as its first letter alone: only such calls worked.",
		ok(`{"w":"oak"}`) + failed(`{"w":"ELM"}`):                 "In calls of t write w in small letters: only such calls worked.",
		ok(`{"w":"oak"}`) + failed(`{"w":"elm"}`):                 "Nothing sets calls that work apart from others so far.",
		ok(`{"w":"oak"}`) + ok(`{"w":"OAK"}`) + ok(`{"w":"---"}`): "Nothing sets calls that work apart from others so far.",
	} {
		assert.Equal(t, want, answer(t, "tool_guideline", prompt(lines))["guideline"], lines)
	}
}

func TestWhatTheModelsCannotAnswerIsAnError(t *testing.T) {
	for _, m := range []*demomodel.Model{player(), teacher()} {
		_, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage("hello")})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

// What the models do cannot follow from a cellar's rules: no sort of ground that there
// is stands in their code.
func TestTheModelsDoNotKnowTheCellar(t *testing.T) {
	for _, name := range []string{"player.go", "teacher.go"} {
		code, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, word := range []string{"cracked", "sandy", "wet", "ticking", "creaking", ".rules", "pitAt"} {
			assert.NotContains(t, string(code), word, name)
		}
	}
}
