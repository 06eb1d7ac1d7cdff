// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// wish is what ann said, and what she then wants forgotten, in two ways. The mark is a word of what
// she said that her wishes do not have.
type wish struct {
	mark, said string
	asked      [2]string
}

var wishes = []wish{
	{"Hallgrim", "I work as an organist at Hallgrim church.", [2]string{"Please forget what I said about my job.", "Don't mention my job again."}},
	{"Elm", "My address is 12 Elm Street.", [2]string{"Forget my address.", "Delete my address from your memory."}},
	{"Carla", "My ex Carla moved to Lima.", [2]string{"Delete everything about my ex.", "I want you to forget my ex."}},
	{"insulin", "I take insulin every morning.", [2]string{"Erase what you know about my health.", "Please forget everything I said about my medicine."}},
	{"555-0199", "My phone number is 555-0199.", [2]string{"Can you forget my phone number?", "Please remove my number from your notes."}},
	{"Tolstoy", "My exam on Tolstoy went badly.", [2]string{"Forget about my exam, please.", "Never bring up my exam again."}},
	{"scalpel", "The scalpel slipped during my surgery.", [2]string{"Forget about the surgery, please.", "Pretend I never told you about the surgery."}},
	{"eviction", "My landlord sent an eviction notice.", [2]string{"Purge everything I've told you about my landlord.", "Stop mentioning my landlord."}},
	{"4800", "I earn 4800 a month.", [2]string{"Drop what you have on file about my salary.", "Let's forget that I told you what I earn."}},
	{"twins", "I am pregnant with twins.", [2]string{"You can forget what I said about being pregnant.", "I no longer want you to know that I am pregnant."}},
	{"长安街", "我的地址是长安街一号。", [2]string{"把我的地址删掉。", "请忘记我的地址。"}},
	{"风琴", "我的工作是教堂风琴师。", [2]string{"忘掉我说的关于工作的事。", "别再提我的工作。"}},
	{"小卡", "我的前任小卡搬去了利马。", [2]string{"删除关于我前任的所有内容。", "以后别再提我的前任了。"}},
	{"胰岛素", "我每天早上打胰岛素。", [2]string{"我希望你忘掉我的病史。", "不要再提起我的病了。"}},
	{"13800", "我的电话号码是13800138000。", [2]string{"请忘记我的电话号码。", "把我的号码从记忆里删除。"}},
	{"托尔斯泰", "我的托尔斯泰考试没及格。", [2]string{"请你忘了我刚才说的考试的事。", "别再跟我说考试的事了。"}},
	{"驱逐", "我的房东发来驱逐通知。", [2]string{"清除你记得的关于房东的一切。", "关于我房东的事，请全部忘掉。"}},
	{"四千八", "我每月工资四千八。", [2]string{"帮我删掉有关我工资的记忆。", "我不想让你再记得我的工资。"}},
	{"双胞胎", "我怀了双胞胎。", [2]string{"你可以忘掉我怀孕的事了。", "你就当我没说过怀孕的事。"}},
	{"龙凤", "我的生日是在龙凤桥过的。", [2]string{"请把我的生日忘了吧。", "麻烦删除我说过的生日的事。"}},
}

// eachWish tells the story of each wish, in a store of its own.
func eachWish(t *testing.T, test func(t *testing.T, w wish, asked string)) {
	for _, w := range wishes {
		for _, asked := range w.asked {
			t.Run(asked, func(t *testing.T) { test(t, w, asked) })
		}
	}
}

// forgetting is a learner that learns "Ann: " before each statement, and forgets by index what has
// the mark.
func forgetting(mark string) testkit.Reply {
	return func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		var ops []map[string]any
		material := in[len(in)-1].Content
		for line := range strings.Lines(material) {
			var l struct {
				N, Index   *int
				Role, Text string
			}
			if json.Unmarshal([]byte(line), &l) != nil {
				continue
			}
			switch {
			case l.Index != nil && strings.Contains(l.Text, mark) && strings.Contains(material, "said_before"):
				ops = append(ops, map[string]any{"op": "forget", "index": *l.Index, "messages": []int{}})
			case l.N != nil && l.Role == "user" && strings.Contains(l.Text, mark):
				ops = append(ops, map[string]any{"op": "add", "text": "Ann: " + l.Text, "messages": []int{*l.N}})
			case l.N != nil && l.Role == "user" && !strings.Contains(l.Text, "bicycle"):
				ops = append(ops, map[string]any{"op": "add", "text": "The user wants something forgotten. 用户要求忘掉某事。", "messages": []int{*l.N}})
			}
		}
		arguments, err := json.Marshal(map[string]any{"operations": ops})
		if err != nil {
			return nil, err
		}
		return testkit.Call("1", "remember", string(arguments))(ctx, in, opts)
	}
}

// remembering is a memory of ann's whose learner forgets by a mark.
func remembering(t *testing.T, db store.Store, mark string, cfg middleware.Config) (*middleware.MemoryMiddleware, *mem0.Backend) {
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Model: testkit.New(forgetting(mark))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	cfg.Backend, cfg.Working = b, &working.Config{Idle: time.Hour, Sweep: -1}
	return open(t, &cfg), b
}

// everything is all that the store has of ann, as an export.
func everything(t *testing.T, mem *middleware.MemoryMiddleware) string {
	var out strings.Builder
	_, err := mem.Export(t.Context(), middleware.Scope{UserID: "ann"}, &out)
	require.NoError(t, err)
	return out.String()
}

// With a learner a wish to forget erases what it means, from facts, episodes and the log, and
// leaves no word of itself.
func TestAWishErasesWhatItMeans(t *testing.T) {
	testkit.SlowUnderRace(t)
	eachWish(t, func(t *testing.T, w wish, asked string) {
		var confirmed []backends.Memory
		mem, b := remembering(t, testkit.SQLite(t), w.mark, middleware.Config{
			Confirm: func(_ context.Context, c backends.Change) (bool, error) {
				confirmed = append(confirmed, c.Delete...)
				return true, nil
			},
		})
		ask(t, as("ann", "monday"), mem, w.said, testkit.Text("Noted: "+w.said))
		ask(t, as("ann", "monday"), mem, "My bicycle is green.", testkit.Text("A fine colour."))
		require.NoError(t, mem.Flush(t.Context()))
		require.Contains(t, everything(t, mem), w.mark)

		ask(t, as("ann", "tuesday"), mem, asked, testkit.Text("I have forgotten: "+w.said))
		notesOf := func() {
			for _, question := range []string{w.said, asked, "What do you know of me?"} {
				found, err := mem.Search(t.Context(), &backends.SearchRequest{Scope: middleware.Scope{UserID: "ann"}, Query: question, Threshold: -1})
				require.NoError(t, err)
				for _, h := range found.Hits {
					require.NotContains(t, h.Text, asked)
					require.NotContains(t, h.Text, "I have forgotten")
				}
			}
		}
		notesOf() // before it is learnt from
		require.NoError(t, mem.Flush(t.Context()))
		notesOf()
		held := everything(t, mem)
		require.NotContains(t, held, w.mark)
		require.NotContains(t, held, asked)
		require.NotContains(t, held, "forgotten. 用户")
		require.Contains(t, held, "My bicycle is green.")
		require.True(t, slices.ContainsFunc(confirmed, func(m backends.Memory) bool { return strings.Contains(m.Text, w.mark) }))
		for _, m := range listed(t, b, middleware.Scope{UserID: "ann"}) {
			require.NotContains(t, m.Text, w.mark)
		}
		_, m := ask(t, as("ann", "wednesday"), mem, asked, testkit.Text("ok"))
		require.NotContains(t, noteIn(m.Calls()[0]), w.mark)
	})
}

// Without a learner nobody knows what a wish means: it is kept from what was said, and the program
// is told.
func TestAWishWithoutALearnerIsReported(t *testing.T) {
	eachWish(t, func(t *testing.T, w wish, asked string) {
		var failures testkit.Failures
		b := verbatim(t, testkit.SQLite(t))
		mem := open(t, &middleware.Config{Backend: b, Mode: modes.StaticControl, AwaitWrite: true, OnError: failures.Add})
		ask(t, as("ann", "monday"), mem, w.said, testkit.Text("Noted."))
		ask(t, as("ann", "tuesday"), mem, asked, testkit.Text("I cannot forget "+w.said))
		require.ElementsMatch(t, []string{w.said, "Noted."}, memories(t, b, "ann"))
		require.ErrorContains(t, failures.Err(), "no model says what they mean")
	})
}

// What a model forgets although nobody asked for it is retracted, within the bounds of that.
func TestAModelForgetsNothingByItself(t *testing.T) {
	mem, b := remembering(t, testkit.SQLite(t), "Elm", middleware.Config{})
	ask(t, as("ann", "monday"), mem, "My address is 12 Elm Street.", testkit.Text("ok"))
	require.NoError(t, mem.Flush(t.Context()))
	forget := testkit.Call("1", "remember", `{"operations":[{"op":"forget","index":0,"messages":[0]}]}`)
	again, err := mem0.New(t.Context(), &mem0.Config{Store: b.Sessions().(store.Store), Model: testkit.New(forget)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, again.Close(context.Background())) })
	resp, err := again.Add(t.Context(), &backends.AddRequest{Scope: middleware.Scope{UserID: "ann"}, Messages: testkit.User("Elm Street was renamed.")})
	require.NoError(t, err)
	require.Equal(t, backends.OutcomeRetracted, resp.Items[0].Outcome)
	require.Contains(t, everything(t, mem), "12 Elm Street")
}

// A wish that the program does not confirm changes nothing.
func TestAWishThatIsNotConfirmed(t *testing.T) {
	no := func(context.Context, backends.Change) (bool, error) { return false, nil }
	mem, b := remembering(t, testkit.SQLite(t), "Elm", middleware.Config{Confirm: no})
	ask(t, as("ann", "monday"), mem, "My address is 12 Elm Street.", testkit.Text("ok"))
	require.NoError(t, mem.Flush(t.Context()))
	ask(t, as("ann", "tuesday"), mem, "Forget my address.", testkit.Text("ok"))
	require.NoError(t, mem.Flush(t.Context()))
	require.Contains(t, strings.Join(memories(t, b, "ann"), "\n"), "Elm Street")
	require.NotContains(t, strings.Join(memories(t, b, "ann"), "\n"), "Forget my address")
}

var shownID = regexp.MustCompile(`\[([0-9a-f-]{6,})\]`)

// forgetShown has a model call forget_memory with all ids that a tool showed it.
func forgetShown(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
	var ids []string
	for _, m := range shownID.FindAllStringSubmatch(in[len(in)-1].Content, -1) {
		ids = append(ids, m[1])
	}
	arguments, err := json.Marshal(map[string]any{"ids": ids})
	if err != nil {
		return nil, err
	}
	return testkit.Call("2", "forget_memory", string(arguments))(ctx, in, opts)
}

// Where an agent has tools it erases by ids what a wish means, once Confirm allows it: what it noted,
// and what was said.
func TestAnAgentErasesWhatAWishMeans(t *testing.T) {
	testkit.SlowUnderRace(t)
	for _, mode := range []modes.Mode{modes.AgentControl, modes.Both} {
		t.Run(string(mode), func(t *testing.T) {
			eachWish(t, func(t *testing.T, w wish, asked string) {
				agreed := 0
				b := verbatim(t, testkit.SQLite(t))
				mem := open(t, &middleware.Config{
					Backend: b, Mode: mode, AwaitWrite: true, OnError: func(context.Context, string, error) {},
					Confirm: func(_ context.Context, c backends.Change) (bool, error) {
						agreed += len(c.Delete)
						return c.Tool == "forget_memory", nil
					},
				})
				noted, err := json.Marshal(map[string]any{"thinking": "t", "content": []string{"Ann: " + w.said}})
				require.NoError(t, err)
				ask(t, as("ann", "monday"), mem, w.said, testkit.Call("1", "add_memory", string(noted)), testkit.Text("Noted: "+w.said))
				require.Contains(t, everything(t, mem), w.mark)
				search := testkit.Call("1", "search_memory", `{"keywords":["`+w.said+`"]}`)
				said, m := ask(t, as("ann", "tuesday"), mem, asked, search, forgetShown, testkit.Text("Done."))
				require.Equal(t, "assistant: Done.", said)
				require.Contains(t, names(m), "forget_memory")
				require.Contains(t, m.Calls()[0][0].Content, "forget_memory", "the prompt names it")
				require.NotZero(t, agreed)
				for _, text := range memories(t, b, "ann") {
					require.NotContains(t, text, w.mark)
					require.NotContains(t, text, asked)
				}
				_, m = ask(t, as("ann", "wednesday"), mem, asked, testkit.Text("ok"))
				require.NotContains(t, noteIn(m.Calls()[0]), w.mark)
			})
		})
	}
}

// The tool is there where somebody confirms, or where the program asks for it.
func TestForgetMemoryIsOfferedWhereItIsSafe(t *testing.T) {
	yes := func(context.Context, backends.Change) (bool, error) { return true, nil }
	for _, c := range []struct {
		cfg     middleware.Config
		offered bool
	}{
		{middleware.Config{}, false}, {middleware.Config{ForgetTool: true}, true}, {middleware.Config{Confirm: yes}, true},
		{middleware.Config{Confirm: yes, Mode: modes.StaticControl}, false},
	} {
		c.cfg.Backend = verbatim(t, testkit.SQLite(t))
		_, m := ask(t, as("ann", "s"), open(t, &c.cfg), "Hello, I am Ann.", testkit.Text("Hello."))
		require.Equal(t, c.offered, slices.Contains(names(m), "forget_memory"))
		require.Equal(t, c.offered, strings.Contains(m.Calls()[0][0].Content, "forget_memory"))
	}
}
