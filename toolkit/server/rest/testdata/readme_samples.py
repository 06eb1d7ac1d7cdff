# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""The samples of a package's README, as printed but for host and port.

    python readme_samples.py HOST PACKAGE FOLDER

The README is the description of the installed package. Its blocks run in their order, and those in
Python share their names, as they do for a reader. Each request goes through a recorder, which counts
it. A call is right if its status is 2xx and ReMe's envelope has success. The calls are written to
FOLDER/PACKAGE.jsonl. The last line is the row of the docs.
"""
import ast
import asyncio
import importlib.metadata
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

host, package, folder = sys.argv[1:4]
version = importlib.metadata.version(package)
calls, counts, left = [], {"ran": 0, "without a call": 0}, []

# Blocks that are left out, by words in them, and why.
LEFT_OUT = {
    "ReMeApp(": "it runs ReMe in its own process",
    "reme \\\n": "it starts ReMe's server",
    "FLOW_LLM_API_KEY=": "settings of ReMe's server",
    "Agent Memory = ": "no program",
    "title={": "no program",
    "OpenAI": "it asks OpenAI",
    "batch1": "a fragment: it uses names that no sample defines",
    "async with create_memory_client(": "the sample fails itself: create_memory_client returns a coroutine",
    "make bootstrap": "it starts mem0's server",
    "ruff check": "it checks the client's source",
    "pytest": "it tests the client's source",
}
# Samples import these from the package, which does not export them. They fail with any server.
NOT_EXPORTED = "ClientMemoryRecord", "MemoryTypeEnum", "MemoryMessage", "WorkingMemory"
OTHER_NAMESPACE = 'get_working_memory("user-session-123")'
# Lines of a shell that install something, or ask mem0's own service for an account.
NOT_A_CALL = re.compile(r"\s*(#.*)?|(npm|npx|pip|git|cd|python -m spacy|mem0 init)\b.*")
# The sample that shows an error, and the client's question before it creates a session.
EXPECTED = {("/v1/working-memory/nonexistent-session", 404), ("/v1/working-memory/user-session-123", 404)}


class Recorder(BaseHTTPRequestHandler):
    """Recorder hands requests on to the server, and keeps them with their answers."""

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "accept-encoding")}
        request = urllib.request.Request(host + self.path, body or None, headers, method=self.command)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            answer = e
        out, path = answer.read(), self.path.partition("?")[0]
        envelope = json.loads(out) if package == "reme-ai" else {}
        ok = 200 <= answer.status < 300 and envelope.get("success", True) is True or (path, answer.status) in EXPECTED
        if package == "mem0ai" and path.endswith("/search/"):  # a user wants to see what the line before stored
            ok = ok and bool(json.loads(out)["results"])
        text = envelope.get("answer")
        calls.append({"flow": path[1:], "request": json.loads(body or b"null"), "success": ok, "answer": text if isinstance(text, str) else None, "version": version})
        if not ok:
            print("wrong:", self.command, self.path, body.decode(), answer.status, out.decode(), file=sys.stderr)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *_):
        pass


recorder = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
threading.Thread(target=recorder.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{recorder.server_port}"
names, loop = {"__name__": "__main__"}, asyncio.new_event_loop()


def in_python(block):
    tree = ast.parse(block)
    for statement in tree.body[:]:
        if OTHER_NAMESPACE in ast.get_source_segment(block, statement):
            tree.body.remove(statement)
            left.append(OTHER_NAMESPACE + ": the sample stored it in another namespace than its client's")
    code = compile(tree, package, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        loop.run_until_complete(eval(code, names))
    else:
        exec(code, names)


def in_shell(block):
    home = tempfile.mkdtemp(dir=folder)
    with open(os.path.join(home, ".curlrc"), "w") as f:
        f.write("silent\nshow-error\n")
    env = {**os.environ, "HOME": home, "MEM0_BASE_URL": base, "MEM0_API_KEY": "any", "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}
    lines = [line for line in block.splitlines() if not NOT_A_CALL.fullmatch(line)]
    subprocess.run(["bash", "-euc", "\n".join(lines)], env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def in_node(block):
    subprocess.run(["node", "--input-type=module", "-e", block], check=True)


if package == "agent-memory-client":
    import agent_memory_client.models
    for name in NOT_EXPORTED:
        assert not hasattr(agent_memory_client, name), name
        setattr(agent_memory_client, name, getattr(agent_memory_client.models, name))
        left.append(f"the import of {name} as printed: the package does not export it, so the script does")
readme = importlib.metadata.metadata(package).get_payload() or importlib.metadata.metadata(package)["Description"]
blocks = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", readme, re.S | re.M)
run = {"python": in_python, "bash": in_shell, "javascript": in_node if shutil.which("node") else None}
for number, (language, block) in enumerate(blocks):
    why = next((why for words, why in LEFT_OUT.items() if words in block), None)
    if not why and language == "bash" and all(NOT_A_CALL.fullmatch(line) for line in block.splitlines()):
        why = "it installs something"
    left += [f"{number}: {line.strip()}" for line in block.splitlines() if not why and line.strip().startswith("mem0 init")]
    if why or not run.get(language):
        left.append(f"{number} ({language}): {why or 'there is no program for it'}")
        continue
    before = len(calls)
    run[language](re.sub(r"http://localhost:\d+", base, block))
    counts["ran"] += 1
    counts["without a call"] += len(calls) == before
with open(os.path.join(folder, package + ".jsonl"), "w") as f:
    f.writelines(json.dumps(call) + "\n" for call in calls)
for line in left:
    print("left out:", line)
print(f"{len(blocks)} blocks, {counts['ran']} ran, {counts['without a call']} of them without a call, {len(left)} left out")
right = sum(call["success"] for call in calls)
print(f"| README of `{package}`, as printed | {version} | {len(calls)} | {right} |")
sys.exit(right != len(calls))
