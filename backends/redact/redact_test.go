// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const secret = "hunter2Zq9"

func TestEachFormOfSecretsIsFound(t *testing.T) {
	leaks := map[string][]string{ // by the name of the form that finds the secret
		"private key": {
			"-----BEGIN RSA PRIVATE KEY-----\nMIIE" + secret + "\n-----END RSA PRIVATE KEY-----",
			`-----BEGIN PRIVATE KEY-----\nMIIE` + secret + ` and then it was cut`,
		},
		"bearer token, basic credentials": {`Authorization: Bearer ` + secret, `curl -H "Authorization: Bearer ` + secret + `"`, `basic ` + secret + `=`},
		"password in a URL":               {`postgres://ann:` + secret + `@db.example/x`},
		"authorization header": {
			`Authorization: Token ` + secret, `Authorization: Digest username="x", response="` + secret + `"`,
			`curl -H 'Authorization: Token ` + secret + `' https://x.y`,
		},
		"cookies": {"Cookie: sid=abc; session=" + secret + "\nHost: x.y", `Set-Cookie: session=x; id=` + secret},
		"field in JSON": {
			`{"password": "` + secret + `"}`, `{"db_password":"` + secret + `","user":"ann"}`, `{'api_key': '` + secret + `'}`,
			`{\"apiKey\": \"` + secret + `\", \"q\": 1}`, `{"nested":{"X-Api-Key":"` + secret + `"}}`, `{"密码":"` + secret + `"}`,
			`{"passwords": ["` + secret + `", "x"]}`, `{"secrets":{"db":"` + secret + `"}}`, `{"api_keys":["` + secret + `"`, `{"用户密码":"` + secret + `"}`,
			`{"password": "x\"` + secret + `"}`, `{"pwd": "` + secret, `"AccessKeyId": "` + secret + `"`,
		},
		"token in JSON":                 {`{"token": "` + secret + `"}`, `{"access_token":"` + secret + `"}`},
		"assignment, query string":      {`password=` + secret + `&user=ann`, `secret = "` + secret + `"`},
		"field in a text":               {`PGPASSWORD: ` + secret, `Cookie: ` + secret, `pw: ` + secret},
		"password in a line of its own": {"password: sunflower"},
		"password in a sentence":        {`my password is ` + secret + `, please log in`, `the password for the old box is ` + secret, `my password's ` + secret, `my passcode, it is ` + secret},
		"password without a verb":       {`login ann, password ` + secret},
		"password in a Chinese sentence": {
			`密码是` + secret + `，请登录`, `密钥为` + secret, `我把密码改成了` + secret + `请记住`, `密码：“` + secret + `”`, `账号ann 密码` + secret,
		},
		"number of a card, a door": {`my PIN is 4711`},
		"token in a query string":  {`https://x.y/z?token=` + secret + `&page=2`},
		"token after a colon":      {`access_token: ` + secret},
		"flag of a command":        {`login --password ` + secret + ` --user ann`, `--api-token "` + secret + ` x"`},
		"element of XML":           {`<db:Password>` + secret + `</db:Password>`},
		"OpenAI and others":        {`key sk-proj-abcdefghijkl` + secret},
		"Stripe":                   {`sk_live_` + secret},
		"GitHub":                   {`ghp_abcdefghijklmnop` + secret + ` is mine`},
		"GitHub, fine-grained":     {`github_pat_abcdefghijk_` + secret},
		"GitLab":                   {`glpat-abcdefg-` + secret},
		"Slack":                    {`xoxb-12345-` + secret},
		"AWS":                      {`AKIA` + strings.ToUpper(secret) + `ABCDEF ` + strings.ToLower(secret)},
		"Google":                   {`AIzaSyabcdefghijklmnopqrstuv` + secret},
		"Alibaba Cloud":            {`LTAIabcd` + secret},
		"Hugging Face":             {`hf_abcdefghijklmn` + secret},
		"npm":                      {`npm_abcdefghijklmnopqrstuvwx` + secret},
		"JSON Web Token":           {`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.` + secret},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			require.NotEmpty(t, leaks[f.name])
			for _, text := range leaks[f.name] {
				clean := Text(text)
				assert.NotContains(t, clean, secret, text)
				assert.NotContains(t, clean, strings.ToUpper(secret), text)
				assert.Regexp(t, `\[redacted:`+cmp.Or(f.kind, "(password|key|token|cookie|secret)")+`\]`, clean, text)
				assert.Equal(t, clean, Text(clean), "redacted once")
				found := false
				for _, needle := range f.needles {
					found = found || len(f.find(nil, text, lowered(text), needle)) > 0
				}
				assert.True(t, found, "this form finds it: %s", text)
			}
		})
	}
}

var anyMark = regexp.MustCompile(`\[redacted:[a-z]+\]`)

// TestTheLabelledSet prints how much of the labelled set is found, by language and kind, and
// how many texts lose what is neither secret nor personal. No figure may fall below these.
func TestTheLabelledSet(t *testing.T) {
	data, err := os.ReadFile("testdata/labelled.jsonl")
	require.NoError(t, err)
	type count struct{ texts, hits, alarms int }
	counts := map[string]*count{}
	for line := range strings.Lines(string(data)) {
		var of struct {
			Lang, Kind, Text string
			Secrets          []string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &of))
		c := counts[of.Lang+" "+of.Kind]
		if c == nil {
			c = &count{}
			counts[of.Lang+" "+of.Kind] = c
		}
		c.texts++
		got, want := anyMark.ReplaceAllString(Shared(of.Text), fieldMark), of.Text
		found := len(of.Secrets) > 0
		for _, s := range of.Secrets {
			want = strings.ReplaceAll(want, s, fieldMark)
			found = found && !strings.Contains(got, s)
		}
		switch {
		case found:
			c.hits++
		case len(of.Secrets) > 0:
			t.Logf("missed in %q: %q", of.Text, got)
		}
		if got != want && (found || len(of.Secrets) == 0) && of.Kind != "key" {
			c.alarms++
			t.Logf("alarm in %q: %q", of.Text, got)
		}
		assert.Equal(t, Shared(of.Text), Shared(Shared(of.Text)), "redacted once")
	}
	reached := map[string]count{
		"en ": {187, 0, 2}, "en IBAN": {13, 13, 0}, "en card": {20, 20, 0}, "en e-mail": {20, 19, 0}, "en key": {14, 14, 0}, "en national id": {24, 24, 0}, "en phone": {37, 35, 0},
		"zh ": {87, 0, 0}, "zh IBAN": {3, 3, 0}, "zh card": {12, 12, 0}, "zh e-mail": {11, 11, 0}, "zh key": {6, 6, 0}, "zh national id": {11, 11, 0}, "zh phone": {28, 27, 0},
	}
	require.Len(t, counts, len(reached))
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		got, want := counts[kind], reached[kind]
		t.Logf("%-16s %3d texts %3d hits %2d false alarms", kind, got.texts, got.hits, got.alarms)
		assert.GreaterOrEqual(t, got.texts, want.texts, kind)
		assert.GreaterOrEqual(t, got.hits, want.hits, kind)
		assert.LessOrEqual(t, got.alarms, want.alarms, kind)
	}
}

func TestWhatIsAroundASecretStays(t *testing.T) {
	for text, want := range map[string]string{
		`{"password": "a ghp_abcdefghijklmnopqrstuvwxyz and the rest"}`: `{"password": "[redacted:password]"}`,
		`{"password": "x\"y", "user": "ann"}`:                           `{"password": "[redacted:password]", "user": "ann"}`,
		`curl -H 'Authorization: Token abc' https://x.y`:                `curl -H 'Authorization: Token [redacted:token]' https://x.y`,
		`postgres://ann:pw@db/x`:                                        `postgres://ann:[redacted:password]@db/x`,
		`密码是abc123，请登录`:                                                 `密码是[redacted:password]，请登录`,
		`{"用戶密碼":"hunter2Zq9"}`:                                         `{"用戶密碼":"[redacted:password]"}`,
		`我把密碼改成了hunter2Zq9請記住`:                                          `我把密碼改成了[redacted:password]請記住`,
		`我的密碼是abc123，請登入`:                                               `我的密碼是[redacted:password]，請登入`,
		`{"pwd": 4711, "n": 1}`:                                         `{"pwd": [redacted:password], "n": 1}`,
		"mail ann@example.com, card 4748526057479381":                   "mail [redacted:email], card [redacted:card]",
	} {
		assert.Equal(t, want, Shared(text))
		assert.Equal(t, want, Shared(want), "redacted once")
	}
	assert.Equal(t, "mail ann@example.com", Text("mail ann@example.com"))
	assert.Equal(t, "my password is hunter2Zq9", None("my password is hunter2Zq9"))
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, text := range []string{
		"", "short", "max_tokens: 100", `{"max_tokens": 100, "next_page_token": "abc", "author": "ann"}`, "invalid token: foo", "a basic introduction to bearer markets",
		"the secretary of state", "https://example.org/a:b?q=1", "keyword: tea", "北京今天天气怎么样", `{"query":"how do passwords work"}`, "sk-short", "password reset is at /reset",
		`{"tokens": 12}`, "task-management-for-teams-2026", "risk-assessment-of-the-year", `{"tokens": ["a", "b"]}`, "passwords: never write them down",
		"--max-tokens 100 is the limit", `{"secret": null, "password": []}`, "<b>Password</b> is a field", "Cookies: eat=2", "?next_token=abc",
		"my password is wrong",
	} {
		assert.Equal(t, text, Text(text))
	}
}

func TestValuesOfSecretFieldsAreRedactedWhateverTheyAre(t *testing.T) {
	var in any
	require.NoError(t, json.Unmarshal([]byte(`{"page_token":"abc","userToken":"x","password":"","apiKey":true,"secret":["y"],"credentials":{"user":"ann","pin":4711},
		"用户密码":7,"list":["Ann",{"who":"Ann"}],"Ann":1,"n":2.5,"cookie":null}`), &in))
	text, err := json.Marshal(Value(in, func(s string) string { return strings.ReplaceAll(s, "Ann", "X") }))
	require.NoError(t, err)
	assert.JSONEq(t, `{"page_token":"abc","userToken":"[redacted]","password":"","apiKey":true,"secret":"[redacted]","credentials":"[redacted]",
		"用户密码":"[redacted]","list":["X",{"who":"X"}],"X":1,"n":2.5,"cookie":null}`, string(text))
}

// FuzzText plants secrets between any two texts.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE", `{\"apiKey\": \"`, `{'api_key': '`, `Authorization: Digest username="x", response="`, "Cookie: sid=abc; session=",
		`{"secrets":{"db":"`, `密码是`, `password=`, `PGPASSWORD: `, `https://x.y/z?token=`, `login --password `, `<db:Password>`, `eyJhbGciOiJIUzI1NiJ9.eyJz`,
	} {
		f.Add(s, s)
	}
	f.Add(`{"page_token `, `"}`)
	f.Add(`"password":"[redacted`, "secret=''''\"")
	f.Add(`token":"\`, "")
	f.Add(`password="`, "")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, "3cr3t") || strings.Contains(before, "PRIVATE KEY") {
			return
		}
		for _, planted := range []string{`"password": "s3cr3tS3cr3t"`, "\nAuthorization: Bearer s3cr3tS3cr3t\n", ` api_key=s3cr3tS3cr3t `, " ghp_s3cr3tS3cr3ts3cr3tS3cr3t ", "\n-----BEGIN PRIVATE KEY-----s3cr3t"} {
			require.NotContains(t, Text(before+planted+after), "3cr3t")
			require.NotContains(t, Shared(before+planted+after), "3cr3t")
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat(`{"title":"How passwords work","url":"https://example.org/a?q=1","score":0.75,"text":"A long answer about many things, in 北京 and elsewhere."},`, 400)
	for name, redact := range map[string]func(string) string{"secrets": Text, "and personal data": Shared} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				redact(text)
			}
		})
	}
}
