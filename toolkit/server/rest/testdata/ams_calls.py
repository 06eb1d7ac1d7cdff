# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""Every public method of agent-memory-server's Python client, as its samples call it: without a
user and a key. python ams_calls.py HOST, where the server has a default user."""
import asyncio
import importlib.metadata
import inspect
import json
import sys
import warnings
from collections import Counter
from datetime import datetime, timedelta, timezone

from agent_memory_client import MemoryAPIClient, MemoryClientConfig, create_memory_client
from agent_memory_client.exceptions import MemoryNotFoundError, MemoryServerError, MemoryValidationError
from agent_memory_client.filters import CreatedAt, Entities, EventDate, LastAccessed, MemoryType, Namespace, SessionId, Topics, UserId
from agent_memory_client.integrations.langchain import get_memory_tools
from agent_memory_client.models import (
    ClientMemoryRecord, CreateSummaryViewRequest, ForgetPolicy, MemoryMessage, MemoryRecord, MemoryStrategyConfig, MemoryTypeEnum, RecencyConfig, WorkingMemory)

host = sys.argv[1]
warnings.simplefilter("ignore")

# What einomem does not offer; .github/docs/clients.md says why.
NOT_OFFERED = {
    "forget_long_term_memories", "list_summary_views", "create_summary_view", "get_summary_view", "delete_summary_view",
    "run_summary_view_partition", "list_summary_view_partitions", "run_summary_view", "get_task"}

calls, refusals = Counter(), Counter()


class Counted:
    """A client that counts the calls of its public methods."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        method = getattr(self.client, name)
        if not callable(method):
            return method

        def called(*args, **kwargs):
            calls[name] += 1
            return method(*args, **kwargs)
        return called


async def refused(name, awaitable, *statuses):
    """The call is refused, and not answered with something else."""
    refusals[name] += 1
    try:
        got = await awaitable
    except MemoryNotFoundError:
        assert 404 in statuses, name
    except MemoryServerError as e:
        assert e.status_code in statuses, (name, e.status_code, e)
    else:
        assert got is None and name in ("get_summary_view", "get_task"), (name, got)  # the client makes None of 404


def texts(found):
    return [m.text for m in found.memories]


async def sessions(c):
    assert (await c.health_check()).now > 1e12
    put = await c.put_working_memory("s1", WorkingMemory(session_id="s1", messages=[
        MemoryMessage(role="user", content="I moved to Hangzhou.", id="m1"), MemoryMessage(role="assistant", content="Noted.", id="m2")],
        data={"city": "Hangzhou"}, context="They greeted each other.", ttl_seconds=3600))
    assert [(m.id, m.content) for m in put.messages] == [("m1", "I moved to Hangzhou."), ("m2", "Noted.")], put
    assert (put.data, put.context, put.ttl_seconds) == ({"city": "Hangzhou"}, "They greeted each other.", 3600), put
    got = await c.get_working_memory("s1")
    assert got.messages == put.messages, (got, put)
    await c.get_working_memory("s1", model_name="gpt-4o", context_window_max=8000)
    created, got = await c.get_or_create_working_memory("s1")
    assert not created and got.data == {"city": "Hangzhou"}, got
    created, got = await c.get_or_create_working_memory("s2", long_term_memory_strategy=MemoryStrategyConfig())
    assert created and got.messages == [], got
    created, _ = await c.get_or_create_working_memory("s2")
    assert not created, "an empty session is there"
    more = await c.append_messages_to_working_memory("s1", [{"role": "user", "content": "I drink tea."}])
    more = await c.append_messages_to_working_memory("s1", [MemoryMessage(role="assistant", content="Tea, noted.")])
    assert [m.content for m in more.messages] == ["I moved to Hangzhou.", "Noted.", "I drink tea.", "Tea, noted."], more
    assert more.data == {"city": "Hangzhou"} and more.context == "They greeted each other.", more
    less = await c.put_working_memory("s1", WorkingMemory(session_id="s1", messages=more.messages[2:], data=more.data))
    assert [m.content for m in less.messages] == ["I drink tea.", "Tea, noted."] and less.context is None, "a put replaces"
    await c.get_or_create_working_memory("busy")
    await asyncio.gather(*(c.append_messages_to_working_memory("busy", [{"role": "user", "content": f"line {i}"}]) for i in range(4)))
    busy = await c.get_working_memory("busy")
    assert sorted(m.content for m in busy.messages) == [f"line {i}" for i in range(4)], "appends at the same time lost some"

    await c.set_working_memory_data("s1", {"a": 1})
    data = await c.update_working_memory_data("s1", {"b": {"x": 1}})
    assert data.data == {"a": 1, "b": {"x": 1}} and len(data.messages) == 2, data
    data = await c.update_working_memory_data("s1", {"b": {"y": 2}}, merge_strategy="deep_merge")
    assert data.data == {"a": 1, "b": {"x": 1, "y": 2}}, data
    data = await c.update_working_memory_data("s1", {"c": 3}, merge_strategy="replace")
    assert data.data == {"c": 3}, data
    data = await c.set_working_memory_data("s3", {"alone": True}, preserve_existing=False)
    assert data.data == {"alone": True} and data.messages == [], data

    tea = ClientMemoryRecord(text="The user drinks green tea.", memory_type="semantic", topics=["drinks"])
    added = await c.add_memories_to_working_memory("s1", [tea])
    assert [(m.id, m.text) for m in added.memories] == [(tea.id, tea.text)], added
    added = await c.add_memories_to_working_memory("s1", [ClientMemoryRecord(text="The user is allergic to nuts.", memory_type="semantic")])
    assert len(added.memories) == 2 and added.data == {"c": 3}, added
    assert (await c.promote_working_memories_to_long_term("s1")).status == "ok"
    assert (await c.promote_working_memories_to_long_term("s1", memory_ids=[tea.id])).status == "ok"
    assert (await c.get_long_term_memory(tea.id)).text == tea.text
    assert (await c.promote_working_memories_to_long_term("s1", memory_ids=["none"])).status == "ok"
    added = await c.add_memories_to_working_memory("s1", [tea], replace=True)
    assert len(added.memories) == 1, added
    listed = await c.list_sessions()
    assert sorted(listed.sessions) == ["busy", "s1", "s2", "s3"] and listed.total == 4, listed
    assert len((await c.list_sessions(limit=1, offset=1)).sessions) == 1
    assert (await c.delete_working_memory("s3")).status == "ok"
    await refused("get_working_memory", c.get_working_memory("s3"), 404)


async def memories(c):
    day = datetime(2024, 5, 1, tzinfo=timezone.utc)
    home = ClientMemoryRecord(text="The user lives in Hangzhou.", memory_type=MemoryTypeEnum.SEMANTIC, topics=["home", "city"], entities=["Hangzhou"])
    trip = ClientMemoryRecord(text="The user visited Paris in 2024.", memory_type="episodic", topics=["travel"], entities=["Paris"], event_date=day, session_id="trips")
    assert (await c.create_long_term_memory([home, trip])).status == "ok"
    assert (await c.create_long_term_memory([MemoryRecord(id="pref_dark_mode", text="The user prefers dark mode.", memory_type="semantic", topics=["ui"])], deduplicate=False)).status == "ok"
    assert (await c.get_long_term_memory("pref_dark_mode")).text == "The user prefers dark mode.", "the client's id"
    got = await c.get_long_term_memory(home.id)
    assert (got.id, got.text, got.topics, got.entities) == (home.id, home.text, home.topics, home.entities), got
    found = await c.search_long_term_memory("Where does the user live? Hangzhou?")
    assert found.memories[0].id == home.id and 0 <= found.memories[0].dist < 1, found
    now = datetime.now(timezone.utc)
    for filters, want in (
            ({"topics": Topics(any=["travel", "work"])}, [trip.text]),
            ({"topics": {"all": ["home", "city"]}}, [home.text]),
            ({"entities": Entities(all=["paris"])}, [trip.text]),
            ({"entities": Entities(any=["Paris", "Rome"]), "memory_type": MemoryType(eq="episodic")}, [trip.text]),
            ({"memory_type": MemoryType(in_=["episodic", "message"]), "session_id": SessionId(eq="trips")}, [trip.text]),
            ({"session_id": SessionId(in_=["trips", "none"])}, [trip.text]),
            ({"created_at": CreatedAt(gte=now + timedelta(days=1))}, []),
            ({"last_accessed": LastAccessed(lte=now - timedelta(days=1))}, []),
            ({"user_id": UserId(eq="somebody else")}, []),
            ({"namespace": Namespace(eq="elsewhere")}, [])):
        got = await c.search_long_term_memory("", **filters)
        assert texts(got) == want, (filters, got)
    await c.search_long_term_memory("Paris", distance_threshold=0.9, recency=RecencyConfig(recency_boost=True), optimize_query=True)
    await refused("search_long_term_memory", c.search_long_term_memory("x", user_id=UserId(in_=["guest", "ann"])), 400)
    page = await c.search_long_term_memory("", limit=2)
    assert len(page.memories) == 2 and page.next_offset == 2, page
    everything = [m.text async for m in c.search_all_long_term_memories("", batch_size=2)]
    assert len(everything) == len(set(everything)) >= 5, everything
    edited = await c.edit_long_term_memory(home.id, {"text": "The user lives in Suzhou.", "topics": ["home"]})
    assert (edited.id, edited.text, edited.topics) == (home.id, "The user lives in Suzhou.", ["home"]), edited
    await refused("edit_long_term_memory", c.edit_long_term_memory(home.id, {"memory_type": "episodic"}), 400)
    acks = await c.bulk_create_long_term_memories([[ClientMemoryRecord(text=f"The user read book {i}.", memory_type="semantic") for i in range(3)]], batch_size=2, delay_between_batches=0)
    assert [a.status for a in acks] == ["ok", "ok"], acks
    prompt = await c.memory_prompt("Where does the user live? Suzhou?", session_id="s1", long_term_search={"limit": 5})
    assert [m["role"] for m in prompt["messages"]] == ["user", "assistant", "system", "user"], prompt
    assert "Suzhou" in prompt["messages"][2]["content"]["text"], prompt
    prompt = await c.memory_prompt("And now?", session_id="s1")
    assert len(prompt["messages"]) == 3 and not prompt["long_term_memories"], prompt
    prompt = await c.hydrate_memory_prompt("Where was the user in Paris?", topics={"any": ["travel"]}, limit=3)
    assert [m["text"] for m in prompt["long_term_memories"]] == [trip.text], prompt
    c.validate_memory_record(home)
    c.validate_search_filters(limit=5, offset=0)
    for wrong in (lambda: c.validate_search_filters(limit=0), lambda: c.validate_memory_record(ClientMemoryRecord(text=" "))):
        try:
            wrong()
        except MemoryValidationError:
            continue
        raise AssertionError("it is valid")
    assert (await c.delete_long_term_memories([home.id, "none"])).status == "ok, deleted 1 memories"
    await refused("get_long_term_memory", c.get_long_term_memory(home.id), 404)


async def tools(c):
    found = await c.search_memory_tool("Paris", topics=["travel"], max_results=3, min_relevance=0.01)
    assert found["memories"][0]["text"] == "The user visited Paris in 2024.", found
    assert (await c.get_working_memory_tool("s1"))["message_count"] == 2
    state = await c.get_or_create_working_memory_tool("new")
    assert state["created"] and "error" not in state, state
    added = await c.add_memory_tool("s1", "The user plays chess.", "semantic", topics=["games"])
    assert added["success"], added
    changed = await c.update_memory_data_tool("s1", {"level": 3})
    assert changed["success"], changed
    assert (await c.get_working_memory_tool("s1"))["data"] == {"c": 3, "level": 3}

    def function(name, arguments):
        return {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    chess = (await c.search_memory_tool("chess"))["memories"][0]["id"]
    for call in (
            function("search_memory", {"query": "chess"}), {"name": "search_memory", "arguments": {"query": "chess"}},
            {"type": "tool_use", "id": "1", "name": "search_memory", "input": {"query": "chess"}},
            function("get_working_memory", {}), function("get_or_create_working_memory", {}),
            function("lazily_create_long_term_memory", {"text": "The user plays Go.", "memory_type": "semantic"}),
            function("update_working_memory_data", {"data": {"k": 1}}), function("get_long_term_memory", {"memory_id": chess}),
            function("eagerly_create_long_term_memory", {"memories": [{"text": "The user plays shogi.", "memory_type": "semantic"}]}),
            function("edit_long_term_memory", {"memory_id": chess, "text": "The user plays blitz chess."}),
            function("get_current_datetime", {}), function("delete_long_term_memories", {"memory_ids": [chess]})):
        got = await c.resolve_tool_call(call, session_id="s1")
        assert got["success"], got
    assert all(r["success"] for r in await c.resolve_tool_calls([function("search_memory", {"query": "Go"}), function("search_memory", {"query": "shogi"})], session_id="s1"))
    assert (await c.resolve_function_call("search_memory", {"query": "shogi"}, session_id="s1"))["result"]["memories"]
    assert (await c.resolve_function_calls([{"name": "search_memory", "arguments": {"query": "Go"}}], session_id="s1"))[0]["success"]
    c.parse_tool_call(function("search_memory", {"query": "x"}))
    c.parse_openai_function_call({"name": "search_memory", "arguments": "{}"})
    c.parse_openai_tool_call(function("search_memory", {}))
    c.parse_anthropic_tool_use({"type": "tool_use", "id": "1", "name": "search_memory", "input": {}})
    for name in dir(MemoryAPIClient):
        if "tool_schema" in name and not name.startswith("_"):
            assert getattr(c, name)(), name


async def langchain(c):
    """The tools of a LangChain agent, with the user of its sample."""
    by_name = {t.name: t for t in get_memory_tools(memory_client=c, session_id="my_session", user_id="alice")}
    asked = []

    def run(name, **arguments):
        asked.append(name)
        return by_name[name].ainvoke(arguments)
    assert "0 messages" in await run("get_or_create_working_memory")
    assert "Success" in await run("lazily_create_long_term_memory", text="Alice loves pizza.", memory_type="semantic", topics=["food"])
    assert "Success" in await run("update_working_memory_data", data={"k": 1})
    assert "success" in await run("eagerly_create_long_term_memory", memories=[{"text": "Alice plays the oboe.", "memory_type": "semantic"}])
    assert "Found 1" in await run("search_memory", query="pizza", user_id="alice")
    assert "Found 0" in await run("search_memory", query="pizza"), "the default user is somebody else"
    oboe = (await c.search_memory_tool("oboe", user_id="alice"))["memories"][0]["id"]
    assert "oboe" in await run("get_long_term_memory", memory_id=oboe)
    await run("edit_long_term_memory", memory_id=oboe, text="Alice plays the bassoon.")
    assert "bassoon" in await run("get_long_term_memory", memory_id=oboe)
    await run("delete_long_term_memories", memory_ids=[oboe])
    assert "Error" in await run("get_long_term_memory", memory_id=oboe)
    assert "20" in await run("get_current_datetime")
    version = importlib.metadata.version("langchain-core")
    print(f"| its LangChain tools (`get_memory_tools`) | langchain-core {version} | {len(by_name)} tools | {len(set(asked))} | {len(asked)} |")


async def not_offered(c):
    await refused("forget_long_term_memories", c.forget_long_term_memories(ForgetPolicy(max_age_days=1), dry_run=True), 404, 405)
    await refused("list_summary_views", c.list_summary_views(), 404)
    await refused("create_summary_view", c.create_summary_view(CreateSummaryViewRequest(source="long_term", group_by=["user_id"])), 404)
    await refused("get_summary_view", c.get_summary_view("v"), 404)
    await refused("delete_summary_view", c.delete_summary_view("v"), 404)
    await refused("run_summary_view_partition", c.run_summary_view_partition("v", {"user_id": "guest"}), 404)
    await refused("list_summary_view_partitions", c.list_summary_view_partitions("v"), 404)
    await refused("run_summary_view", c.run_summary_view("v"), 404)
    await refused("get_task", c.get_task("t"), 404)


async def main():
    c = Counted(await create_memory_client(host))
    for part in (sessions, memories, tools, langchain, not_offered):
        await part(c)
    async with MemoryAPIClient(MemoryClientConfig(base_url=host, default_namespace="my-app")) as other:  # as in its README
        await other.create_long_term_memory([ClientMemoryRecord(text="User prefers dark mode", memory_type=MemoryTypeEnum.SEMANTIC, topics=["preferences", "ui"])])
        found = await other.search_long_term_memory(text="user interface preferences", limit=10)
        assert texts(found) == ["User prefers dark mode"], found
        assert (await other.get_long_term_memory(found.memories[0].id)).text == "User prefers dark mode"
    await c.close()
    public = {n for n, _ in inspect.getmembers(MemoryAPIClient, callable) if not n.startswith("_")}
    assert public == set(calls), public ^ set(calls)
    missing = set(refusals) & NOT_OFFERED
    assert missing == NOT_OFFERED, missing
    version, offered, refused_calls = importlib.metadata.version("agent-memory-client"), len(public) - len(NOT_OFFERED), sum(refusals[n] for n in NOT_OFFERED)
    print(f"| `agent-memory-client`, without a user | {version} | {len(public)} | {offered} | {sum(calls.values())}, of them {refused_calls} to what is not offered |")


asyncio.run(main())
