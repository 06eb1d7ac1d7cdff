// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
)

const secret = "hunter2Zq9"

var leaks = []string{
	`{"password": "` + secret + `"}`,
	`{"db_password":"` + secret + `","user":"ann"}`,
	`{'api_key': '` + secret + `'}`,
	`{\"apiKey\": \"` + secret + `\", \"q\": 1}`,
	`{"token": "` + secret + `"}`,
	`{"nested":{"X-Api-Key":"` + secret + `"}}`,
	`{"密码":"` + secret + `"}`,
	`密码是` + secret + `，请登录`,
	`password=` + secret + `&user=ann`,
	`https://x.y/z?token=` + secret + `&page=2`,
	`PGPASSWORD: ` + secret,
	`Authorization: Bearer ` + secret,
	`curl -H "Authorization: Bearer ` + secret + `"`,
	`Cookie: ` + secret,
	`postgres://ann:` + secret + `@db.example/x`,
	"-----BEGIN RSA PRIVATE KEY-----\nMIIE" + secret + "\n-----END RSA PRIVATE KEY-----",
	`-----BEGIN PRIVATE KEY-----\nMIIE` + secret + ` and then it was cut`,
	`key sk-proj-abcdefghijkl` + secret,
	`ghp_abcdefghijklmnop` + secret + ` is mine`,
	`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.` + secret,
	`Authorization: Token ` + secret,
	`Authorization: Digest username="x", response="` + secret + `"`,
	`curl -H 'Authorization: Token ` + secret + `' https://x.y`,
	"Cookie: sid=abc; session=" + secret + "\nHost: x.y",
	`Set-Cookie: session=x; id=` + secret,
	`{"passwords": ["` + secret + `", "x"]}`,
	`{"secrets":{"db":"` + secret + `"}}`,
	`{"api_keys":["` + secret + `"`,
	`{"用户密码":"` + secret + `"}`,
	`{"私钥": "` + secret + `"}`,
	`psql --password ` + secret + ` -h db`,
	`tool --api-key '` + secret + `'`,
	`<db:password>` + secret + `</db:password>`,
}

func TestSecretsAreTakenOut(t *testing.T) {
	for _, text := range leaks {
		clean := toolmem.RedactSecrets(text)
		assert.NotContains(t, clean, secret, text)
		assert.Contains(t, clean, "[redacted]", text)
		assert.Equal(t, clean, toolmem.RedactSecrets(clean), "once is enough")
	}
	clean := toolmem.RedactSecrets(`{"password": "a ghp_abcdefghijklmnopqrstuvwxyz and the rest"}`)
	assert.Equal(t, `{"password": "[redacted]"}`, clean, "one secret inside another")
	assert.Equal(t, `{"password": "[redacted]", "user": "ann"}`, toolmem.RedactSecrets(`{"password": "x\"y", "user": "ann"}`), "JSON stays JSON")
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, text := range []string{
		"", "short", "max_tokens: 100", `{"max_tokens": 100, "next_page_token": "abc", "author": "ann"}`, "invalid token: foo", "a basic introduction to bearer markets",
		"the secretary of state", "https://example.org/a:b?q=1", "keyword: tea", "北京今天天气怎么样", `{"query":"how do passwords work"}`, "sk-short", "password reset is at /reset", `{"tokens": 12}`, "task-management-for-teams-2026", "risk-assessment-of-the-year",
		`{"tokens": ["a", "b"]}`, "passwords: never write them down", "--max-tokens 100 is the limit", `{"secret": null, "password": []}`, "<b>Password</b> is a field", "Cookies: eat=2",
	} {
		assert.Equal(t, text, toolmem.RedactSecrets(text))
	}
}

// A secret is taken out whatever stands around it.
func FuzzRedactSecrets(f *testing.F) {
	for _, s := range leaks {
		f.Add(s, s)
	}
	f.Add(`{"page_token `, `"}`)
	f.Add(`"password":"[redacted`, "secret=''''\"")
	f.Add(`token":"\`, "")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, "3cr3t") || strings.Contains(before, "PRIVATE KEY") {
			return
		}
		for _, planted := range []string{`"password": "s3cr3tS3cr3t"`, "\nAuthorization: Bearer s3cr3tS3cr3t\n", ` api_key=s3cr3tS3cr3t `, " ghp_s3cr3tS3cr3ts3cr3tS3cr3t ", "\n-----BEGIN PRIVATE KEY-----s3cr3t"} {
			require.NotContains(t, toolmem.RedactSecrets(before+planted+after), "3cr3t")
		}
	})
}

// stored returns everything that the workspace holds as text.
func (r *rig) stored(t testing.TB) string {
	t.Helper()
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	var all []string
	for _, m := range r.memories(t) {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		all = append(all, string(text))
	}
	for _, s := range r.sessions(t) {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		all = append(all, string(text))
		entries, err := r.store.Read(ctx, p, s.ID, rangeAll)
		require.NoError(t, err)
		for i := range entries {
			all = append(all, entries[i].Content)
		}
	}
	return strings.Join(all, "\n")
}

func TestNoSecretIsStored(t *testing.T) {
	m := answering(func(tool, user string) (string, error) {
		assert.NotContains(t, user, secret, "nor shown to a model")
		if tool == "tool_judge" {
			return `{"verdicts":[{"n":0,"score":0,"summary":"password: ` + secret + `","evaluation":"the password=` + secret + ` failed"}]}`, nil
		}
		return `{"guideline":"use password: ` + secret + ` for it"}`, nil
	})
	r := newRig(t, setup{model: m, change: func(c *toolmem.Config) { c.Judge = true }})
	for i, text := range leaks {
		c := toolmem.Call{Tool: "login", Input: object("q", text, "credentials", object("user", "ann", "pin", 4711)), Output: text, Error: text, Metadata: object("note", text, "secret", secret, "passwords", object("db", secret), "用户密码", secret), Judge: text}
		if i%2 == 0 {
			c.Input = text
		}
		r.record(t, c)
	}
	c := toolmem.FromToolCall(&backends.ToolCall{Tool: "login", Arguments: `{"password":"` + secret + `","api_key":["` + secret + `"]}`, Result: "ok"})
	resp := r.record(t, c)
	require.Empty(t, resp.Rejected)
	r.force(t, "login")
	all := r.stored(t)
	assert.NotContains(t, all, secret)
	assert.NotContains(t, all, "4711")
	assert.Contains(t, all, "[redacted]")
	last := r.tool(t, "login").Calls[len(leaks)]
	assert.Equal(t, object("password", "[redacted]", "api_key", "[redacted]"), last.Input)
	assert.Equal(t, toolmem.Hash(last.Input, "ok"), last.Hash, "no hash of a secret either")
}

func TestARedactorOfOnesOwn(t *testing.T) {
	r := newRig(t, setup{change: func(c *toolmem.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "Ann", "X") }
	}})
	r.record(t, toolmem.Call{Tool: "find", Input: object("who", "Ann", "list", []any{"Ann"}), Output: "Ann is here"})
	c := r.tool(t, "find").Calls[0]
	assert.Equal(t, object("who", "X", "list", []any{"X"}), c.Input)
	assert.Equal(t, "X is here", c.Output)
	r.record(t, toolmem.Call{Tool: "page", Input: object("page_token", "abc", "userToken", "x", "password", "", "apiKey", true, "secret", []any{"y"}), Output: "ok"})
	assert.Equal(t, object("page_token", "abc", "userToken", "[redacted]", "password", "", "apiKey", true, "secret", "[redacted]"), r.tool(t, "page").Calls[0].Input, "fields are taken out whatever it does")
}

// Guidelines and calls may be older than the redactor.
func TestWhatWasStoredWithSecretsIsShownWithout(t *testing.T) {
	old := newRig(t, setup{change: func(c *toolmem.Config) { c.Redact = func(s string) string { return s } }})
	old.record(t, toolmem.Call{Tool: "login", Input: "password: " + secret, Output: "failed: the password=" + secret + " is wrong", Error: "password=" + secret})
	old.load(t, "login", "Give password: "+secret+" to it.", `[]`)
	r := newRig(t, setup{store: old.store})
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Tools: []string{"login"}, WithCalls: true})
	require.NoError(t, err)
	assert.Contains(t, resp.Answer, "[redacted]")
	text, err := json.Marshal([]any{resp.Answer, resp.Tools[0].Guideline, resp.Tools[0].Calls, resp.Tools[0].Statistics})
	require.NoError(t, err)
	assert.NotContains(t, string(text), secret)
	described := r.Describe(ctx, team, []*schema.ToolInfo{{Name: "login", Desc: "Logs in."}})
	assert.Contains(t, described[0].Desc, "[redacted]")
	assert.NotContains(t, described[0].Desc, secret)
}
