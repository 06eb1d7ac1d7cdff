// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// zone loads a time zone.
func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

func TestTheLearnerIsToldTheLocalTime(t *testing.T) {
	friday := time.Date(2026, 11, 26, 23, 30, 0, 0, time.UTC) // 07:30 on Friday in Shanghai, 17:30 on Thursday in Chicago
	for _, tc := range []struct {
		zone, said string
		told       []string
	}{
		{"Asia/Shanghai", "我明天飞东京。", []string{`"time":"2026-11-27 07:30 Fri"`, "明天 = 2026-11-28", "现在时间（Asia/Shanghai，上面的时间也是）： 2026-11-27 07:30 Fri"}},
		{"Asia/Shanghai", "I fly to Tokyo tomorrow.", []string{"tomorrow = 2026-11-28", "Time now (Asia/Shanghai, as all times above): 2026-11-27 07:30 Fri"}},
		{"America/Chicago", "I fly to Tokyo tomorrow.", []string{`"time":"2026-11-26 17:30 Thu"`, "tomorrow = 2026-11-27"}},
		{"", "I fly to Tokyo tomorrow.", []string{`"time":"2026-11-26 23:30 Thu"`, "tomorrow = 2026-11-27", "Time now (UTC"}},
	} {
		m := answering(operations())
		b := open(t, with(m), factsOnly, func(c *mem0.Config) {
			c.Clock = func() time.Time { return friday }
			if tc.zone != "" {
				c.Location = zone(t, tc.zone)
			}
		})
		add(t, b, ann, backends.Message{ID: "m", Time: friday, Message: schema.UserMessage(tc.said)})
		for _, want := range tc.told {
			require.Contains(t, m.Calls()[0][1].Content, want, "%s: %s", tc.zone, tc.said)
		}
	}
}

func TestADayBeginsInItsZone(t *testing.T) {
	chicago := zone(t, "America/Chicago")
	b := open(t, with(answering(operations(`{"op":"add","text":"The user lives in Oslo since 3 March 2026.","since":"2026-03-03"}`))), factsOnly, func(c *mem0.Config) {
		c.Location = chicago
	})
	resp := add(t, b, ann, user("I have lived in Oslo since 3 March.")...)
	require.Equal(t, time.Date(2026, 3, 3, 0, 0, 0, 0, chicago).UTC(), resp.Items[0].Memory.Valid)
}

func TestWhatIsCorrectedNeverWasSo(t *testing.T) {
	hour := start
	say := func(b *mem0.Backend, id, text string) *backends.AddResponse {
		hour = hour.Add(time.Hour)
		return add(t, b, ann, backends.Message{ID: id, Time: hour, Message: schema.UserMessage(text)})
	}
	for text, corrected := range map[string]bool{"Sorry, I meant Miko, not Mika.": true, "说错了，是 Miko。": true, "We renamed her to Miko.": false} {
		b := open(t, with(answering(
			operations(`{"op":"add","text":"The user's cat is called Mika."}`),
			operations(`{"op":"supersede","index":0,"text":"The user's cat is called Miko."}`),
		)), factsOnly)
		first := say(b, "a", "My cat is called Mika.").Items[0].Memory
		second := say(b, "b", text).Items[0].Memory
		require.Equal(t, corrected, !second.Since().After(first.Since()), text)
	}
}
