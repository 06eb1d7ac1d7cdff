# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of ReMe's cookbook, as small clients of its HTTP, without a model of their own.

    python reme_cookbook.py http://127.0.0.1:8002 [SECRET]

Requests have the members and the order of ReMe's use_task_memory_demo, use_personal_memory_demo,
use_tool_memory_demo, run_frozenlake and run_reme_tool_bench. Where those ask a model to play, a script
plays here: it heeds what memory tells it, and nothing else. The server's model learns.
"""

import json
import random
import sys
import urllib.request

BASE, SECRET = sys.argv[1].rstrip("/") + "/", (sys.argv[2:] or [""])[0]


def post(flow, **body):
    request = urllib.request.Request(BASE + flow, json.dumps(body).encode(), {"Content-Type": "application/json"})
    if SECRET:
        request.add_header("Authorization", "Bearer " + SECRET)
    with urllib.request.urlopen(request) as response:
        out = json.load(response)
    assert set(out) == {"answer", "success", "metadata"}, out
    return out


def delete(workspace):
    post("vector_store", workspace_id=workspace, action="delete")


def dump_and_load(workspace, kind):
    post("vector_store", workspace_id=workspace, action="dump", path="./")
    delete(workspace)
    post("vector_store", workspace_id=workspace, action="load", path="./")
    held = post("vector_store", workspace_id=workspace, action="list")["metadata"]["memory_list"]
    assert held and all(m["memory_type"] == kind for m in held), held


def task():
    workspace = "test_workspace"
    delete(workspace)
    messages = [
        {"role": "user", "content": "Analyze the company Tesla."},
        {"role": "assistant", "content": "LESSON analyzing a company | Read its last annual report before the news."},
    ]
    learnt = post("summary_task_memory", workspace_id=workspace, trajectories=[{"messages": messages, "score": 1.0}])
    assert len(learnt["metadata"]["memory_list"]) == len(json.loads(learnt["answer"])) == 1, learnt
    for flow in "retrieve_task_memory", "retrieve_task_memory_simple":
        assert "annual report" in post(flow, workspace_id=workspace, query="Analyze Xiaomi, a company", top_k=1)["answer"]
    found = post("retrieve_task_memory", workspace_id=workspace, query="analyzing a company")["metadata"]["memory_list"]
    post("record_task_memory", workspace_id=workspace, memory_dicts=found, update_utility=True)
    found = post("retrieve_task_memory", workspace_id=workspace, query="analyzing a company")["metadata"]["memory_list"]
    assert (found[0]["metadata"]["freq"], found[0]["metadata"]["utility"]) == (1, 1), found
    post("delete_task_memory", workspace_id=workspace, freq_threshold=5, utility_threshold=0.5)
    dump_and_load(workspace, "task")
    return "a lesson learnt, found, counted, dumped and loaded"


def personal():
    workspace = "personal_memory_demo"
    facts = ["John Smith is a software engineer in San Francisco", "John likes basketball", "John has a cat named Shadow"]
    for form in "messages", "trajectories":  # as the demo sends them, and as the README does
        delete(workspace)
        messages = [{"role": "user", "content": "FACT " + fact} for fact in facts] + [{"role": "assistant", "content": "Nice to meet you, John!"}]
        sent = messages if form == "messages" else [{"messages": messages}]
        post("summary_personal_memory", workspace_id=workspace, **{form: sent})
        for query, fact in zip(["Is John an engineer?", "Does John like basketball?", "Is there a cat?"], facts):
            assert fact in post("retrieve_personal_memory", workspace_id=workspace, query=query)["answer"], (form, query)
    return "three facts, by messages and by trajectories"


def tool():
    workspace, rng = "test_tool_memory_workspace", random.Random(7)
    delete(workspace)
    tools = {"web_search": 30, "database_query": 22, "file_processor": 18}
    made = []
    for name, count in tools.items():
        for i in range(count):
            good = rng.random() < 0.8
            made.append({
                "create_time": "2025-10-21 10:%02d:00" % i, "tool_name": name, "input": {"query": "q%d" % i, "max_results": 10},
                "output": "Found %d results" % (i + 1) if good else "Error: timeout after 30 s", "token_cost": 100 + i, "success": good, "time_cost": 1.5,
            })
    added = post("add_tool_call_result", workspace_id=workspace, tool_call_results=made)["metadata"]
    assert added["deduplication_stats"]["added"] == len(made) and len(added["memory_list"]) == len(tools), added
    again = post("add_tool_call_result", workspace_id=workspace, tool_call_results=made)["metadata"]
    assert again["deduplication_stats"]["added"] == 0, again
    post("summary_tool_memory", workspace_id=workspace, tool_names=",".join(tools))
    for name in tools:
        got = post("retrieve_tool_memory", workspace_id=workspace, tool_names=name)["metadata"]["memory_list"]
        assert len(got) == 1 and got[0]["when_to_use"] == name and "Success Rate" in got[0]["content"] and got[0]["tool_call_results"], got
    dump_and_load(workspace, "tool")
    return "70 calls of three tools, once each, and their guidelines"


MOVES = {"LEFT": (0, -1), "DOWN": (1, 0), "RIGHT": (0, 1), "UP": (-1, 0)}


def play(grid, tips, rng):
    """A player who goes to fields that it was not warned of, at random; it sees no hole beforehand."""
    at, been, messages = (0, 0), {(0, 0)}, [{"role": "system", "content": "You play FrozenLake."}]
    map_said = "/".join(grid)
    if tips:
        messages += [{"role": "user", "content": "Here are some relevant tips:\n" + tips}, {"role": "assistant", "content": "I'll use these tips."}]
    for _ in range(50):
        messages.append({"role": "user", "content": "Current State: row %d, column %d" % at})
        ways = []
        for name, (down, right) in MOVES.items():
            to = (at[0] + down, at[1] + right)
            if 0 <= to[0] < len(grid) and 0 <= to[1] < len(grid) and "map %s there is a hole at %d,%d" % (map_said, *to) not in tips:
                ways.append((to in been, rng.random(), name, to))
        seen, _, name, at = min(ways)
        been.add(at)
        messages.append({"role": "assistant", "content": '{"action": "%s"}' % name})
        field = grid[at[0]][at[1]]
        if field in "HG":
            break
    won = field == "G"
    if not won:
        messages.append({"role": "assistant", "content": "LESSON FrozenLake game map: %s | On map %s there is a hole at %d,%d." % (map_said, map_said, *at)})
    messages.append({"role": "user", "content": "Success!" if won else "Game over!"})
    return won, messages


def frozenlake():
    workspace, rng = "frozenlake_no_slippery", random.Random(3)
    delete(workspace)
    maps = ["SFFF/FHFH/FFFH/HFFG", "SFFH/FFFF/HFHF/FFFG", "SHFF/FFHF/FFFF/HHFG", "SFFF/HHFF/FFFH/FHFG"]

    def query(lake):
        return {"workspace_id": workspace, "query": "FrozenLake game map: %s, slippery: False" % lake, "top_k": 10}

    def won(memory):
        plays = 0
        for lake in maps:
            tips = post("retrieve_task_memory", **query(lake))["answer"] if memory else ""
            plays += sum(play(lake.split("/"), tips, rng)[0] for _ in range(10))
        return plays / (10 * len(maps))

    alone = won(memory=False)
    for _ in range(4):  # training runs
        for lake in maps:
            tips = post("retrieve_task_memory", **query(lake))["answer"]
            attempts = [play(lake.split("/"), tips, rng) for _ in range(3)]
            trajectories = [{"messages": messages, "score": 1.0 if won else 0.0} for won, messages in attempts]
            post("summary_task_memory", workspace_id=workspace, trajectories=trajectories)
    helped = won(memory=True)
    assert helped >= alone + 0.2, (alone, helped)
    return "%.2f of games won without memory, %.2f with it" % (alone, helped)


def tool_bench():
    """Three mock tools, each good at one class of queries, as in ReMe's use_mock_search."""
    rng, tools, classes = random.Random(5), ["search_a", "search_b", "search_c"], ["simple", "medium", "complex"]
    good = {("search_a", "simple"): 0.9, ("search_b", "medium"): 0.9, ("search_c", "complex"): 0.9}
    queries = [(kind, "%s question %d" % (kind, i)) for i in range(18) for kind in classes]

    def searched(name, kind, query):
        found = rng.random() < good.get((name, kind), 0.2)
        return {
            "create_time": "2025-10-21 10:00:00", "tool_name": name, "input": {"query": query}, "success": True, "time_cost": 0.5,
            "output": "The answer to %s, from three sources." % query if found else "Your search went through all sources. No results matched " + query,
        }

    def run(workspace, memories):
        delete(workspace)
        made = []
        for kind, query in queries:
            told = [name for name in tools if "%s works for %s" % (name, kind) in memories]
            made.append(searched((told or [rng.choice(tools)])[0], kind, query))
        post("add_tool_call_result", workspace_id=workspace, tool_call_results=made)
        told = post("summary_tool_memory", workspace_id=workspace, tool_names=",".join(tools))
        calls = [c for m in told["metadata"]["memory_list"] for c in m["tool_call_results"]]
        assert all(c["success"] and c["score"] == float("No results" not in c["output"]) for c in calls), calls
        return told["answer"], sum(c["score"] for c in calls) / len(calls)

    guidelines, alone = run("train_tool_workspace", "")
    _, helped = run("test_tool_workspace", guidelines)
    assert helped >= alone + 0.2, (alone, helped)
    return "mean score %.2f without memory, %.2f with the guidelines" % (alone, helped)


for program in task, personal, tool, frozenlake, tool_bench:
    print("%-10s %s" % (program.__name__, program()), flush=True)
