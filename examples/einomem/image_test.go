// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/einomem/einomem/backends/openai"
)

// dockerfile reads the instructions of the Dockerfile: their arguments by their names.
func dockerfile(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if name, arguments, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			out[name] = append(out[name], arguments)
		}
	}
	return out
}

// environment is what the image sets.
func environment(t *testing.T, image map[string][]string) map[string]string {
	out := map[string]string{}
	for _, pair := range strings.Fields(strings.Join(image["ENV"], " ")) {
		name, value, ok := strings.Cut(pair, "=")
		require.True(t, ok, pair)
		out[name] = value
	}
	return out
}

// knows fails for a variable that the program does not read.
func knows(t *testing.T, name string) {
	t.Helper()
	switch {
	case strings.HasPrefix(name, "OPENAI_"):
		t.Setenv("OPENAI_API_KEY", "key")
		t.Setenv("OPENAI_EMBEDDING_MODEL", "vectors")
		t.Setenv(name, "http://value-of."+name)
		chat, embedder := openai.FromEnv()
		require.Contains(t, fmt.Sprintf("%+v %+v", *chat, *embedder), "value-of."+name)
	case strings.HasPrefix(name, "OTEL_"):
		t.Setenv(name, "http://127.0.0.1:1")
		s := &service{}
		require.NoError(t, s.traces(t.Context()))
		require.Len(t, s.closers, 1, name)
		require.NoError(t, s.close(t.Context()))
	default:
		require.Contains(t, calls(t, 0, "", "serve", "-help"), "[$"+name+"]")
	}
}

// No Docker runs here: what the Dockerfile says is held against the tree, and the program is run as the
// image runs it. The step image of .ci/run builds it as the Dockerfile does.
func TestTheImageServesAndIsHealthy(t *testing.T) {
	image, set := dockerfile(t), map[string]string{}
	var entry, command, health []string
	_, check, ok := strings.Cut(image["HEALTHCHECK"][0], " CMD ")
	require.True(t, ok)
	for text, into := range map[string]*[]string{image["ENTRYPOINT"][0]: &entry, image["CMD"][0]: &command, check: &health} {
		require.NoError(t, json.Unmarshal([]byte(text), into), text)
	}
	require.Equal(t, entry[0], health[0])
	require.Contains(t, image["RUN"][0], " -o "+entry[0]+" .")
	require.Contains(t, image["COPY"], "--from=build "+entry[0]+" "+entry[0])
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^go `+strings.TrimSuffix(strings.TrimPrefix(image["FROM"][0], "golang:"), " AS build")+`\.`, string(mod))
	for _, c := range image["COPY"] {
		if from := strings.Fields(c)[0]; !strings.HasPrefix(from, "--from") {
			require.DirExists(t, filepath.Join("../..", from))
		}
	}
	require.FileExists(t, filepath.Join("../..", strings.TrimPrefix(image["WORKDIR"][1], image["WORKDIR"][0]), "main.go"))

	data := t.TempDir()
	env := append(os.Environ(), asProgram+"=1", "OPENAI_API_KEY=", "EINOMEM_CONFIG=")
	for name, value := range environment(t, image) {
		knows(t, name)
		set[name] = value
		env = append(env, name+"="+strings.Replace(value, image["VOLUME"][0], data, 1))
	}
	require.Equal(t, ":"+image["EXPOSE"][0], set["EINOMEM_LISTEN"])
	for _, file := range []string{"EINOMEM_STORE", "EINOMEM_KEY_FILE"} {
		require.True(t, strings.HasPrefix(set[file], image["VOLUME"][0]+"/"), "%s outlives the container", file)
	}
	server := exec.CommandContext(t.Context(), os.Args[0], append(entry[1:], command...)...)
	server.Env = append(env, "EINOMEM_LISTEN=:0")
	printed, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	var port string
	lines := bufio.NewScanner(printed)
	for port == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "listening on http://"); ok {
			port = at[strings.LastIndex(at, ":"):]
		}
	}
	require.NotEmpty(t, port)
	asked := exec.CommandContext(t.Context(), os.Args[0], health[1:]...)
	asked.Env = append(env, "EINOMEM_LISTEN="+port)
	out, err := asked.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait())
	require.FileExists(t, filepath.Join(data, "memory.db"))
}

// The services of the compose file, also with the lines taken in that it has as comments.
func TestTheComposeFileFitsTheImage(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	require.NoError(t, err)
	image := dockerfile(t)
	offered := regexp.MustCompile(`(?m)^( +)# (EINOMEM_|- )`).ReplaceAllString(string(text), "$1$2")
	require.NotEqual(t, string(text), offered)
	for _, text := range []string{string(text), offered} {
		var file struct {
			Services map[string]struct {
				Build       struct{ Context, Dockerfile string }
				Environment map[string]string
				Volumes     []string
				Ports       []string
				Deploy      struct{ Replicas int }
				DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
				Healthcheck struct{ Test []string }
				Grace       string `yaml:"stop_grace_period"`
			}
			Volumes map[string]any
		}
		require.NoError(t, yaml.Unmarshal([]byte(text), &file))
		server := file.Services["server"]
		require.FileExists(t, filepath.Join(server.Build.Context, server.Build.Dockerfile))
		for name := range server.Environment {
			knows(t, name)
		}
		at, err := url.Parse(server.Environment["EINOMEM_STORE"])
		require.NoError(t, err)
		require.Equal(t, "service_healthy", server.DependsOn[at.Hostname()].Condition)
		require.NotEmpty(t, file.Services[at.Hostname()].Healthcheck.Test)
		var first, last, inside int
		_, err = fmt.Sscanf(server.Ports[0], "%d-%d:%d", &first, &last, &inside)
		require.NoError(t, err)
		require.Equal(t, image["EXPOSE"][0], fmt.Sprint(inside))
		require.Equal(t, server.Deploy.Replicas, last-first+1, "each has a port")
		waits, err := time.ParseDuration(server.Grace)
		require.NoError(t, err)
		require.Greater(t, waits, grace)
		var inContainer []string
		for _, mount := range server.Volumes {
			from, to, _ := strings.Cut(strings.TrimSuffix(mount, ":ro"), ":")
			if inContainer = append(inContainer, to); strings.HasPrefix(from, ".") {
				require.FileExists(t, from)
			} else {
				require.Contains(t, file.Volumes, from)
			}
		}
		require.Contains(t, inContainer, image["VOLUME"][0], "the key outlives the container")
		if config := server.Environment["EINOMEM_CONFIG"]; config != "" {
			require.True(t, slices.Contains(inContainer, config), config)
		}
	}
	require.Contains(t, offered, "EINOMEM_CONFIG: /etc")
}
