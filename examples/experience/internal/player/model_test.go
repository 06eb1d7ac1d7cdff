// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package player_test

import (
	"context"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/experience/internal/player"
)

const task = "You are in cellar 1-001: 5 by 3 cells, dark. You stand at (0,1). Find the key, open the blue door with it, and reach the exit behind it."

// note is how the middleware shows memories.
func note(lines ...string) *schema.Message {
	return &schema.Message{Role: schema.User, Name: "memory", Content: "## Relevant memories\n<memories>\n- " + strings.Join(lines, "\n- ") + "\n</memories>"}
}

// conversation is an attempt so far: calls and their results, after the task.
type conversation []*schema.Message

func (c conversation) then(tool, arguments, result string) conversation {
	call := schema.ToolCall{ID: tool + string(rune('a'+len(c))), Function: schema.FunctionCall{Name: tool, Arguments: arguments}}
	return append(c[:len(c):len(c)], schema.AssistantMessage("", []schema.ToolCall{call}), schema.ToolMessage(result, call.ID))
}

func begin(before ...*schema.Message) conversation {
	return append(before[:len(before):len(before)], schema.UserMessage(task))
}

// next returns what the player does, as "tool arguments".
func next(t *testing.T, c conversation, opts ...model.Option) string {
	t.Helper()
	out, err := (&player.Model{}).Generate(t.Context(), c, opts...)
	require.NoError(t, err)
	if len(out.ToolCalls) == 0 {
		return out.Content
	}
	require.NotEmpty(t, out.ToolCalls[0].ID)
	return out.ToolCalls[0].Function.Name + " " + out.ToolCalls[0].Function.Arguments
}

const corridor = "You are at (0,1). Strength 30.\nnorth (0,0): plain ground\neast (1,1): mossy humming ground\nsouth (0,2): wall\nwest (-1,1): wall"

// found is an attempt that knows where the key is, straight to the east.
func found(before ...*schema.Message) conversation {
	return begin(before...).then("look", "{}", corridor).then("scan", `{"radius":3}`, "Within 3 of (0,1): key at (3,1). Strength 28.")
}

func TestTheActionFollowsFromTheMemoriesInTheContext(t *testing.T) {
	const straight, around = `move {"direction":"east"}`, `move {"direction":"north"}`
	tests := map[string]struct {
		before []*schema.Message
		want   string
	}{
		"without memory":                 {nil, straight},
		"a note without memories":        {[]*schema.Message{note("")}, straight},
		"what is under foot":             {[]*schema.Message{note("Do not step on mossy ground: it gave way.")}, around},
		"the other thing about it":       {[]*schema.Message{note("[x1] 2026-01-01: never step on Humming ground (when: in a cellar)")}, around},
		"other ground":                   {[]*schema.Message{note("Do not step on sandy ground: it gave way.")}, straight},
		"the same words shuffled":        {[]*schema.Message{note("step ground on not mossy Do: way it gave.")}, straight},
		"another world's experience":     {[]*schema.Message{note("When booking a flight, compare the prices first.")}, straight},
		"a suspicion that is refuted":    {[]*schema.Message{note("Do not step on mossy ground.", "Mossy ground holds.")}, straight},
		"refuted for one of two reasons": {[]*schema.Message{note("Do not step on mossy ground.", "Humming ground holds.")}, around},
		"an instruction":                 {[]*schema.Message{schema.SystemMessage("Do not step on mossy ground.")}, around},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, next(t, found(tt.before...))) })
	}
	assert.Equal(t, straight, next(t, found().then("scan", `{"radius":1}`, "Do not step on mossy ground. Within 1 of (0,1): nothing.")), "a tool's answer is no lesson")
}

func TestWhatIsWarnedOfIsTheLastResort(t *testing.T) {
	walled := strings.ReplaceAll(corridor, "plain ground", "wall")
	c := begin(note("Do not step on mossy ground.")).then("look", "{}", walled).then("scan", `{"radius":3}`, "Within 3 of (0,1): key at (3,1).")
	assert.Equal(t, `move {"direction":"east"}`, next(t, c))
	c = c.then("inspect", `{"direction":"east"}`, "The ground at (1,1) would give way. Strength 20.")
	assert.NotEqual(t, `move {"direction":"east"}`, next(t, c))
}

func TestTheRadiusFollowsFromMemoriesAndResults(t *testing.T) {
	looked := begin().then("look", "{}", corridor)
	assert.Equal(t, `scan {"radius":3}`, next(t, looked), "the middle, without memory")
	failed := looked.then("scan", `{"radius":3}`, "error: the scanner timed out")
	assert.Equal(t, `scan {"radius":2}`, next(t, failed))
	failed = failed.then("scan", `{"radius":2}`, "error: the scanner timed out")
	assert.Equal(t, `scan {"radius":4}`, next(t, failed))
	for _, radius := range []string{"4", "1", "5"} {
		failed = failed.then("scan", `{"radius":`+radius+`}`, "error: the scanner timed out")
	}
	assert.Contains(t, next(t, failed), "move", "nothing is left to try")

	guided := func(text string) string {
		return next(t, looked, model.WithTools([]*schema.ToolInfo{{Name: "scan", Desc: "Scans.\n" + text}}))
	}
	assert.Equal(t, `scan {"radius":2}`, guided("In calls of scan keep radius at 2 or below: larger ones failed."))
	assert.Equal(t, `scan {"radius":5}`, guided("In calls of scan keep radius at 4 or above: smaller ones failed."))
	assert.Equal(t, `scan {"radius":3}`, guided("In calls of fetch keep radius at 2 or below."))
	assert.Equal(t, `scan {"radius":3}`, guided("In calls of scan keep timeout at 2 or below."))
	assert.Equal(t, `scan {"radius":3}`, guided("below or 2 at radius keep scan of calls In"))
	wrong := begin(note("In calls of scan keep radius at 2 or below.")).then("look", "{}", corridor).
		then("scan", `{"radius":2}`, "error: timed out").then("scan", `{"radius":1}`, "error: timed out")
	assert.Equal(t, `scan {"radius":3}`, next(t, wrong), "advice that failed is left")
}

// atDoor is an attempt that stands before the door with the key.
func atDoor(before ...*schema.Message) conversation {
	return begin(before...).then("move", `{"direction":"east"}`,
		"You are at (1,1). You take the key. Strength 20.\nnorth (1,0): the blue door, closed\neast (2,1): plain ground\nsouth (1,2): wall\nwest (0,1): plain ground")
}

func TestTheFormOfAnArgumentFollowsFromMemoriesAndResults(t *testing.T) {
	c := atDoor()
	for _, want := range []string{"blue", "Blue", "BLUE", "b"} {
		require.Equal(t, `open_door {"colour":"`+want+`"}`, next(t, c))
		c = c.then("open_door", `{"colour":"`+want+`"}`, "error: the lock does not know this colour")
	}
	for text, want := range map[string]string{
		"In calls of open_door write colour in capital letters: only such calls worked.": "BLUE",
		"In calls of open_door write colour with a capital letter first.":                "Blue",
		"In calls of open_door write colour as its first letter alone.":                  "b",
		"In calls of open_door write size in capital letters.":                           "blue",
		"letters capital in colour write open_door of calls In":                          "blue",
	} {
		assert.Equal(t, `open_door {"colour":"`+want+`"}`, next(t, atDoor(note(text))), text)
	}
	opened := atDoor().then("open_door", `{"colour":"blue"}`, "The blue door is open. Strength 19.").
		then("scan", `{"radius":3}`, "Within 3 of (1,1): exit at (1,-0).")
	assert.Contains(t, next(t, opened), `move`)
}

func TestAnInstructionToInspectIsFollowed(t *testing.T) {
	careful := schema.SystemMessage("Inspect ground of a sort that you have not stood on before you step on it.")
	assert.Equal(t, `inspect {"direction":"east"}`, next(t, found(careful)))
	assert.Equal(t, `move {"direction":"east"}`, next(t, found(careful).then("inspect", `{"direction":"east"}`, "The ground at (1,1) holds.")))
	assert.Equal(t, `move {"direction":"east"}`, next(t, found(careful, note("Mossy ground holds.", "Humming ground holds."))))
}

// Equal ways are taken in an order that the words of the task decide, so that another
// attempt goes another way.
func TestAnotherAttemptGoesAnotherWay(t *testing.T) {
	open := "You are at (2,1). Strength 30.\nnorth (2,0): plain ground\neast (3,1): plain ground\nsouth (2,2): plain ground\nwest (1,1): plain ground"
	ways := map[string]bool{}
	for _, more := range []string{"", " Attempt 2.", " Attempt 3.", " Attempt 4.", " Attempt 5."} {
		c := conversation{schema.UserMessage(task + more)}.then("look", "{}", open).then("scan", `{"radius":3}`, "Within 3 of (2,1): nothing.")
		ways[next(t, c)] = true
		assert.Equal(t, next(t, c), next(t, c))
	}
	assert.Greater(t, len(ways), 1)
}

func TestAnAttemptEnds(t *testing.T) {
	assert.Equal(t, "I am out.", next(t, begin().then("move", "{}", "You are at (1,1). This is the exit: you are out. It is over.")))
	assert.Equal(t, "I did not get out.", next(t, begin().then("move", "{}", "You are at (1,1). The ground gives way and you fall into a pit. It is over.")))
	assert.Equal(t, "look {}", next(t, begin()))
}

func TestAnIDNamesOneCall(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []conversation{begin(), found(), {schema.UserMessage(task + " Attempt 2.")}} {
		out, err := (&player.Model{}).Generate(t.Context(), c)
		require.NoError(t, err)
		seen[out.ToolCalls[0].ID] = true
	}
	assert.Len(t, seen, 3)
}

func TestWithoutATaskThereIsNothingToDo(t *testing.T) {
	_, err := (&player.Model{}).Generate(t.Context(), []*schema.Message{nil, schema.UserMessage("hello")})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = (&player.Model{}).Stream(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&player.Model{}).Generate(ctx, begin())
	require.ErrorIs(t, err, context.Canceled)
}

func TestAStreamSaysTheSame(t *testing.T) {
	m, err := (&player.Model{}).WithTools([]*schema.ToolInfo{{Name: "scan", Desc: "In calls of scan keep radius at 1 or below."}})
	require.NoError(t, err)
	s, err := m.Stream(t.Context(), begin().then("look", "{}", corridor))
	require.NoError(t, err)
	out, err := schema.ConcatMessageStream(s)
	require.NoError(t, err)
	assert.JSONEq(t, `{"radius":1}`, out.ToolCalls[0].Function.Arguments)
}

// What the player does cannot follow from a cellar's rules: it has never heard of one.
func TestThePlayerDoesNotKnowTheCellar(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			assert.NotContains(t, i.Path.Value, "/cellar", name)
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, word := range []string{"mossy", "cracked", "sandy", "wet", "humming", "ticking", "creaking"} {
			assert.NotContains(t, string(text), word, name)
		}
	}
}
