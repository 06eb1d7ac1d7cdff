# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""A round trip of agent-memory-server's own Python client: python ams_client.py HOST KEY OTHER_KEY"""
import asyncio
import importlib.metadata
import sys
import warnings

from agent_memory_client import MemoryAPIClient, MemoryClientConfig
from agent_memory_client.exceptions import MemoryNotFoundError, MemoryServerError
from agent_memory_client.filters import CreatedAt, Entities, MemoryType, SessionId, Topics, UserId
from agent_memory_client.models import ClientMemoryRecord, CreateSummaryViewRequest, ForgetPolicy, MemoryMessage, WorkingMemory

host, key, other_key = sys.argv[1:4]
warnings.simplefilter("ignore")


def client(secret):
    c = MemoryAPIClient(MemoryClientConfig(base_url=host, default_namespace="default"))
    c._client.headers["Authorization"] = f"Bearer {secret}"  # the configuration has none
    return c


async def refused(awaitable, *statuses):
    try:
        got = await awaitable
    except MemoryNotFoundError:
        assert 404 in statuses, 404
        return "not found"
    except MemoryServerError as e:
        assert e.status_code in statuses, (e.status_code, e)
        return str(e)
    raise AssertionError(f"it was answered: {got}")


async def main():
    async with client(key) as ann, client(other_key) as other:
        assert (await ann.health_check()).now > 1e12

        # working memory
        created, session = await ann.get_or_create_working_memory("s1", user_id="ann")
        assert created and session.messages == [], session
        said = [MemoryMessage(role="user", content="I moved to Hangzhou."), MemoryMessage(role="assistant", content="Noted.")]
        put = await ann.put_working_memory("s1", WorkingMemory(session_id="s1", user_id="ann", messages=said))
        assert [m.content for m in put.messages] == ["I moved to Hangzhou.", "Noted."], put
        again = await ann.put_working_memory("s1", put)
        assert [m.id for m in again.messages] == [m.id for m in put.messages], "to put a session again changed it"
        more = await ann.append_messages_to_working_memory("s1", [{"role": "user", "content": "And I drink tea."}], user_id="ann")
        more = await ann.append_messages_to_working_memory("s1", [{"role": "assistant", "content": "Tea, noted."}], user_id="ann")
        assert [m.content for m in more.messages] == ["I moved to Hangzhou.", "Noted.", "And I drink tea.", "Tea, noted."], more
        created, session = await ann.get_or_create_working_memory("s1", user_id="ann")
        assert not created and len(session.messages) == 4 and session.user_id == "ann" and session.namespace == "default", session
        listed = await ann.list_sessions(user_id="ann")
        assert (listed.sessions, listed.total) == (["s1"], 1), listed
        await ann.add_memories_to_working_memory("s1", [ClientMemoryRecord(text="Ann is allergic to nuts.", memory_type="semantic")])
        assert (await ann.set_working_memory_data("s1", {"k": 1})).data == {"k": 1}

        # long-term memory
        await ann.create_long_term_memory([
            ClientMemoryRecord(text="Ann lives in Hangzhou.", memory_type="semantic", topics=["home"], entities=["Hangzhou"], user_id="ann", session_id="s1"),
            ClientMemoryRecord(text="Ann visited Paris in 2024.", memory_type="episodic", topics=["travel"], entities=["Paris"], user_id="ann")])
        search = ann.search_long_term_memory
        found = await search("Where does Ann live? Hangzhou?", user_id=UserId(eq="ann"))
        assert found.memories[0].text == "Ann lives in Hangzhou." and 0 <= found.memories[0].dist < 1, found
        home = found.memories[0]
        assert (home.topics, home.entities, home.user_id, home.session_id, home.memory_type) == (["home"], ["Hangzhou"], "ann", "s1", "semantic"), home
        for filters, texts in (
                ({"topics": Topics(any=["home", "work"])}, ["Ann lives in Hangzhou."]),
                ({"topics": Topics(none=["home", "travel"])}, ["Ann is allergic to nuts."]),
                ({"entities": Entities(any=["paris"])}, ["Ann visited Paris in 2024."]),
                ({"memory_type": MemoryType(eq="episodic")}, ["Ann visited Paris in 2024."]),
                ({"session_id": SessionId(eq="s1"), "topics": Topics(any=["home"])}, ["Ann lives in Hangzhou."]),
                ({"created_at": CreatedAt(gte="2099-01-01T00:00:00Z")}, [])):
            got = await search("", user_id=UserId(eq="ann"), **filters)
            # Without the turns, which a slow machine has learnt from meanwhile.
            assert [m.text for m in got.memories if m.text not in [said.content for said in more.messages]] == texts, (filters, got)
        first = await search("", user_id=UserId(eq="ann"), limit=1)
        assert first.next_offset == 1 and len((await search("", user_id=UserId(eq="ann"), limit=5, offset=1)).memories) >= 2
        got = await ann.get_long_term_memory(home.id)
        assert got.text == home.text and got.discrete_memory_extracted == "t", got
        got = await ann.edit_long_term_memory(home.id, {"text": "Ann lives in Suzhou.", "topics": ["city"]})
        assert (got.text, got.topics, got.entities) == ("Ann lives in Suzhou.", ["city"], ["Hangzhou"]), got

        # the prompt, by the session's user and never without one
        prompt = await ann.memory_prompt("Where does Ann live? Suzhou?", session_id="s1", user_id="ann", long_term_search={"limit": 5})
        assert [m["role"] for m in prompt["messages"]] == ["user", "assistant", "user", "assistant", "system", "user"], prompt
        assert any(m["text"] == "Ann lives in Suzhou." for m in prompt["long_term_memories"]), prompt
        assert "Suzhou" in prompt["messages"][4]["content"]["text"], prompt

        # another tenant gets one answer, whatever the id is
        for other_id in (home.id, "no-id"):
            await refused(other.get_long_term_memory(other_id), 404)
            await refused(other.edit_long_term_memory(other_id, {"text": "x"}), 404)
            assert (await other.delete_long_term_memories([other_id])).status == "ok, deleted 0 memories"
        for session_id in ("s1", "none"):
            await refused(other.get_working_memory(session_id, user_id="ann"), 403)
            await refused(other.delete_working_memory(session_id, user_id="ann"), 403)
        await refused(other.search_long_term_memory("Suzhou", user_id=UserId(eq="ann")), 403)
        await refused(other.list_sessions(user_id="ann"), 403)
        await refused(other.memory_prompt("Suzhou", session_id="s1", user_id="ann", long_term_search={}), 403)
        await refused(other.create_long_term_memory([ClientMemoryRecord(text="x", user_id="ann")]), 403)
        assert (await other.search_long_term_memory("Suzhou")).memories == [], "a key of one person searches theirs"

        # the end
        await refused(ann.forget_long_term_memories(ForgetPolicy(max_age_days=1), user_id="ann", dry_run=True), 404, 405)
        await refused(ann.create_summary_view(CreateSummaryViewRequest(source="long_term", group_by=["user_id"])), 404)
        await refused(ann.list_summary_views(), 404)
        assert (await ann.delete_long_term_memories([home.id, home.id])).status == "ok, deleted 1 memories"
        await refused(ann.get_long_term_memory(home.id), 404)
        await ann.delete_working_memory("s1", user_id="ann")
        await refused(ann.get_working_memory("s1", user_id="ann"), 404)
    version = importlib.metadata.version("agent-memory-client")
    print(f"| `agent-memory-client`, two users with keys | {version} | – | a round trip, and each request of a stranger refused |")


asyncio.run(main())
