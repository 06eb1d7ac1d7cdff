# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""Calls ReMe's endpoints as its Python users do, with what Python brings along."""
import json
import sys
import urllib.request


def post(path, body):
    r = urllib.request.Request(sys.argv[1] + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(r) as answer:
        out = json.load(answer)
    assert set(out) == {"answer", "success", "metadata"}, out
    return out


post("/summary_personal_memory", {"workspace_id": "py", "trajectories": [
    {"messages": [{"role": "user", "content": "I like to drink coffee while working in the morning"}]}]})
found = post("/retrieve_personal_memory", {"workspace_id": "py", "query": "What are the user's work habits?", "top_k": 5})
assert "coffee" in found["answer"], found
post("/add_tool_call_result", {"workspace_id": "py", "tool_call_results": [
    {"create_time": "2026-11-01 10:00:00", "tool_name": "web_search", "input": {"query": "asyncio", "max_results": 10},
     "output": "Found 10 results", "token_cost": 150, "success": True, "time_cost": 2.3}]})
post("/summary_tool_memory", {"workspace_id": "py", "tool_names": "web_search"})
tool = post("/retrieve_tool_memory", {"workspace_id": "py", "tool_names": "web_search"})
assert "web_search" in tool["answer"], tool
print(json.dumps(tool, separators=(",", ":")))
