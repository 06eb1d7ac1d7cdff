// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/middlewares/filesystem"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/folder"
	"github.com/einomem/einomem/toolkit/server/files"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Eino's filesystem middleware keeps the files of each person in the store of their memory. The
// model here follows a script. With a middleware.MemoryMiddleware, Scope is its ResolveScope.
func ExampleNew() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil) // or the path of a file
	check(err)
	defer db.Close()
	scope := func(ctx context.Context) (backends.Scope, error) { s, _ := backends.ScopeFrom(ctx); return s, nil }

	disk, err := folder.New(&files.Config{Records: db, Scope: scope}) // the one line
	check(err)
	tools, err := filesystem.New(ctx, &filesystem.MiddlewareConfig{Backend: disk})
	check(err)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "gardener", Description: "plans a garden", Handlers: []adk.ChatModelAgentMiddleware{tools},
		Model: testkit.New(
			testkit.Call("1", "write_file", `{"file_path":"/plan.md","content":"leeks by the wall"}`), testkit.Text("Noted."),
			testkit.Call("2", "read_file", `{"file_path":"/plan.md"}`), testkit.Text("Leeks, by the wall."),
			testkit.Call("3", "ls", `{"path":"/"}`), testkit.Text("There is no plan yet.")),
	})
	check(err)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for _, who := range []string{"ann", "ann", "bob"} {
		fmt.Println(who, testkit.Drain(runner.Query(backends.WithScope(ctx, backends.Scope{UserID: who}), "The garden?"))[1:])
	}
	// Output:
	// ann [tool: Updated file /plan.md assistant: Noted.]
	// ann [tool:      1	leeks by the wall assistant: Leeks, by the wall.]
	// bob [tool: No files found assistant: There is no plan yet.]
}
