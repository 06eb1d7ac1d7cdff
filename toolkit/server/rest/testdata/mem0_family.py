# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""The round trips of programs that stand on mem0's client: python mem0_family.py HOST KEY OTHER_KEY

mem0's command line and MCP server, Microsoft's agent framework, LlamaIndex and Strands. A package
that .ci/run installs has to be there. It prints a row a client: its calls, and those that were right.
"""
import asyncio
import importlib.metadata
import json
import os
import subprocess
import sys

host, key, _ = sys.argv[1:4]
os.environ["MEM0_API_KEY"] = key
counts = {}


def right(client, ok, what):
    """right counts a call of a client."""
    tried, good = counts.get(client, (0, 0))
    counts[client] = (tried + 1, good + bool(ok))
    if not ok:
        print(client, "is wrong:", what, file=sys.stderr)


def installed(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def client():
    from mem0 import MemoryClient
    return MemoryClient(api_key=key, host=host)


def command_line():
    mem0 = os.path.join(os.path.dirname(sys.executable), "mem0")

    def run(*args):
        done = subprocess.run([mem0, "--json", *args], capture_output=True, text=True, env={**os.environ, "MEM0_BASE_URL": host}, stdin=subprocess.DEVNULL)
        try:
            out = json.loads(done.stdout)
        except ValueError:
            out = done.stdout
        return done.returncode, out, done.stdout + done.stderr

    def check(args, ok):
        code, out, text = run(*args)
        right("mem0-cli", code == 0 and ok(text), (args, text))
        return out
    check(["status"], lambda t: "true" in t.lower())
    check(["add", "I prefer dark mode and use vim keybindings", "--user-id", "ann"], lambda t: "dark mode" in t)
    found = check(["search", "Which keybindings and mode do I prefer?", "--user-id", "ann"], lambda t: "dark mode" in t)
    check(["list", "--user-id", "ann", "--page-size", "5"], lambda t: "dark mode" in t)
    one = found["data"][0]["id"]
    check(["get", one], lambda t: "dark mode" in t)
    check(["update", one, "I prefer light mode"], lambda t: True)
    check(["get", one], lambda t: "light mode" in t)
    check(["entity", "list", "users"], lambda t: "ann" in t)
    check(["delete", one], lambda t: True)
    check(["add", "I live in Hangzhou", "--user-id", "ann", "--run-id", "r1", "--metadata", '{"topic": "home"}'], lambda t: "Hangzhou" in t)
    check(["delete", "--all", "--user-id", "ann", "--force"], lambda t: True)
    check(["list", "--user-id", "ann"], lambda t: "Hangzhou" not in t)


def mcp_server():
    import mem0_mcp_server.server as served
    from mcp.shared.memory import create_connected_server_and_client_session as connected
    served._CLIENT_CACHE[key] = client()  # it has no setting for the host

    async def calls():
        server = served.create_server()
        async with connected(getattr(server, "_fastmcp", server)) as session:
            await talk(session)

    async def talk(session):
        async def call(tool, ok, **args):
            text = (await session.call_tool(tool, args)).content[0].text
            try:
                out = json.loads(text)
            except ValueError:
                out = text
            right("mem0-mcp-server", not (isinstance(out, dict) and "error" in out) and ok(out), (tool, args, out))
            return out
        added = await call("add_memory", lambda o: o["results"], text="I drink green tea.", user_id="ann")
        one = added["results"][0]["id"]
        await call("search_memories", lambda o: o["results"][0]["id"] == one, query="Which tea do I drink?", filters={"AND": [{"user_id": "ann"}]}, limit=3)
        await call("search_memories", lambda o: o["results"][0]["id"] == one, query="Which tea?", filters={"OR": [{"user_id": "ann"}, {"agent_id": "ann"}]})
        await call("get_memories", lambda o: o["count"] == 1, filters={"user_id": "ann"}, page=1, page_size=10)
        await call("get_memories", lambda o: o["count"] == 1, filters={"AND": [{"user_id": {"in": ["ann", "jane"]}}]})
        await call("get_memory", lambda o: o["memory"] == "I drink green tea.", memory_id=one)
        await call("update_memory", lambda o: o["memory"] == "I drink black tea.", memory_id=one, text="I drink black tea.")
        await call("list_entities", lambda o: o["results"][0]["name"] == "ann")
        await call("delete_memory", lambda o: True, memory_id=one)
        await call("add_memory", lambda o: o["results"], text="I have a heron.", user_id="ann", run_id="r1")
        await call("delete_all_memories", lambda o: True, user_id="ann", run_id="r1")
        await call("get_memories", lambda o: o["count"] == 0, filters={"user_id": "ann"})
        await call("delete_entities", lambda o: True, user_id="ann")
    asyncio.run(calls())


def microsoft():
    from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Message
    from agent_framework.mem0 import Mem0ContextProvider
    from mem0 import AsyncMemoryClient

    seen = []

    class Model(BaseChatClient):
        """Model stands for a model: it keeps what it is asked."""

        async def _inner_get_response(self, *, messages, stream=False, options=None, **kwargs):
            seen.append("\n".join(m.text for m in messages))
            return ChatResponse(messages=[Message(role="assistant", contents=["Noted."])])

    async def talk():
        async with AsyncMemoryClient(api_key=key, host=host) as mem0:
            provider = Mem0ContextProvider(mem0_client=mem0, user_id="ann", agent_id="clerk", application_id="shop", search_user_id="ann")
            async with Agent(client=Model(), instructions="You are helpful.", context_providers=[provider]) as agent:
                await agent.run("Remember that my favourite company report is the quarterly one.", session=AgentSession())
                stored = await mem0.get_all(filters={"AND": [{"user_id": "ann"}, {"agent_id": "clerk"}, {"app_id": "shop"}]})
                right("agent-framework-mem0", stored["count"] >= 1, stored)
                await agent.run("Which company report is my favourite?", session=AgentSession())
                right("agent-framework-mem0", "## Memories" in seen[-1] and "quarterly" in seen[-1], seen[-1])
            shop = Mem0ContextProvider(mem0_client=mem0, user_id="ann", application_id="shop", search_application_id="shop")
            async with Agent(client=Model(), context_providers=[shop]) as agent:
                await agent.run("My favourite report?", session=AgentSession())
                right("agent-framework-mem0", "quarterly" in seen[-1], seen[-1])
            await mem0.delete_all(user_id="ann")
    asyncio.run(talk())


def llama_index():
    from llama_index.core.llms import ChatMessage
    from llama_index.memory.mem0 import Mem0Memory
    from llama_index.core.memory import Memory

    memory = Mem0Memory(primary_memory=Memory.from_defaults(), context={"user_id": "ann", "run_id": "r9"}, client=client(), search_msg_limit=4)
    memory.put(ChatMessage(role="user", content="Hi, my name is Mayank."))
    memory.put(ChatMessage(role="assistant", content="Hello."))
    shown = memory.get("What is my name?")[0].content
    right("llama-index-memory-mem0", "my name is Mayank" in shown, shown)
    memory.set(memory.get_all() + [ChatMessage(role="user", content="My preferred way of communication is email.")])
    shown = memory.get("Which way of communication is preferred?")[0].content
    right("llama-index-memory-mem0", "email" in shown, shown)
    run = Mem0Memory(primary_memory=Memory.from_defaults(), context={"run_id": "r9"}, client=client())
    shown = run.get("What is my name?")[0].content
    right("llama-index-memory-mem0", "Mayank" in shown, shown)
    memory.reset()
    right("llama-index-memory-mem0", memory.get_all() == [], "reset")
    try:  # as printed: from_client, which passes org_id and project_id on
        Mem0Memory.from_client(context={"user_id": "ann"}, api_key=key, host=host)
        print("llama-index-memory-mem0: from_client works now: use it", file=sys.stderr)
    except TypeError as e:
        assert "org_id" in str(e), e
    client().delete_all(user_id="ann")


def strands():
    from mem0_strands import Mem0MemoryStore

    async def calls():
        store = Mem0MemoryStore(user_id="ann", api_key=key, host=host, writable=True, extraction=True)
        added = await store.add("User prefers vegetarian pizza", metadata={"topic": "food"})
        right("mem0-strands", added["results"][0]["event"] == "ADD", added)
        added = await store.add_messages([{"role": "user", "content": [{"text": "I live in Hangzhou."}]}, {"role": "assistant", "content": [{"text": "Noted."}]}])
        right("mem0-strands", added["results"], added)
        found = await store.search("Which pizza does the user prefer?", {"max_search_results": 2})
        right("mem0-strands", found and found[0].content == "User prefers vegetarian pizza" and found[0].metadata["topic"] == "food", found)
        found = await store.search("Who lives in Hangzhou?")
        right("mem0-strands", found and "Hangzhou" in found[0].content, found)
    asyncio.run(calls())
    client().delete_all(user_id="ann")


def strands_tool():
    from strands_tools.mem0_memory import Mem0ServiceClient
    tool = Mem0ServiceClient.__new__(Mem0ServiceClient)
    tool.mem0 = client()  # it has no setting for the host
    tool.store_memory("I have a heron called Ada.", user_id="ann")
    for call in (lambda: tool.list_memories(user_id="ann"), lambda: tool.search_memories("What is the heron called?", user_id="ann")):
        found = call()
        found = found if isinstance(found, list) else found["results"]
        right("strands-agents-tools", found and found[0]["memory"] == "I have a heron called Ada.", found)
    one = found[0]["id"]
    right("strands-agents-tools", tool.get_memory(one)["id"] == one, one)
    right("strands-agents-tools", len(tool.get_memory_history(one)) == 1, one)
    tool.delete_memory(one)
    left = tool.list_memories(user_id="ann")
    right("strands-agents-tools", not (left if isinstance(left, list) else left["results"]), left)


BY_HAND = "strands-agents-tools"  # it needs an environment of its own
for package, (trip, more) in {
    "mem0-cli": (command_line, ""), "mem0-mcp-server": (mcp_server, f", on `mcp` {installed('mcp')}"),
    "agent-framework-mem0": (microsoft, " (Microsoft), with a scripted model"), "llama-index-memory-mem0": (llama_index, ""),
    "mem0-strands": (strands, ""), BY_HAND: (strands_tool, f", on `mem0ai` {installed('mem0ai')}"),
}.items():
    version = installed(package)
    if version:
        trip()
        print(f"| `{package}`{more} | {version} | {counts[package][0]} | {counts[package][1]} |")
    else:
        assert package == BY_HAND, package + " is not installed"
        print("left out, as it is not installed:", package)
assert all(tried == good for tried, good in counts.values()), counts
