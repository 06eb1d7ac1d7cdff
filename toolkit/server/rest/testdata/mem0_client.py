# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""A round trip of mem0's own Python client: python mem0_client.py HOST KEY OTHER_KEY"""
import asyncio
import importlib.metadata
import sys

from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.types import AddMemoryOptions, DeleteAllMemoryOptions
from mem0.exceptions import MemoryError as ClientError

host, key, other_key = sys.argv[1:4]
calls = 0


class Counted:
    """Counted counts the calls of a client. The script ends at the first that is not right."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        global calls
        calls += 1
        return getattr(self.client, name)


ann, other = Counted(MemoryClient(api_key=key, host=host)), Counted(MemoryClient(api_key=other_key, host=host))


def refused(call, *statuses):
    try:
        got = call()
    except ClientError as e:
        assert e.debug_info["status_code"] in statuses, (e.debug_info, e)
        assert isinstance(e.message, str) and e.message, e
        return e.message
    raise AssertionError(f"it was answered: {got}")


added = ann.add(
    [{"role": "user", "content": "I moved to Hangzhou in March."}, {"role": "assistant", "content": [{"type": "text", "text": "Noted: Hangzhou."}]}],
    user_id="ann", run_id="r1", metadata={"topic": "home"}, infer=False)
assert added["status"] == "SUCCEEDED" and added["event_id"], added
assert [r["event"] for r in added["results"]] == ["ADD", "ADD"], added
first = added["results"][0]["id"]
ann.add("I drink tea.", user_id="ann", run_id="r2", app_id="shop", agent_id="clerk", infer=False, expiration_date="2099-12-31")

got = ann.get(first)
assert (got["id"], got["memory"], got["user_id"], got["run_id"], got["role"]) == (first, "I moved to Hangzhou in March.", "ann", "r1", "user"), got
assert got["metadata"]["topic"] == "home" and got["created_at"], got

page = ann.get_all(filters={"AND": [{"user_id": "ann"}]}, page=2, page_size=2)
assert page["count"] == 3 and len(page["results"]) == 1 and page["next"] is None, page
assert page["results"][0]["app_id"] == "shop" and page["results"][0]["expiration_date"] == "2099-12-31", page
assert ann.get_all(filters={"user_id": "ann", "run_id": "r1"})["count"] == 2
assert ann.get_all(filters={"AND": [{"user_id": "ann"}, {"OR": [{"agent_id": "clerk"}, {"metadata": {"topic": "work"}}]}]})["count"] == 1
assert ann.get_all(filters={"AND": [{"user_id": "ann"}, {"created_at": {"gte": "2099-01-01"}}]})["count"] == 0

found = ann.search("Where does she live? Hangzhou?", filters={"user_id": "ann"}, top_k=3)["results"]
assert found and found[0]["id"] == first and 0 < found[0]["score"] <= 1, found
assert ann.search("tea", filters={"AND": [{"user_id": "ann"}, {"run_id": "r1"}]}, threshold=0.5)["results"] == []

changed = ann.update(first, text="I moved to Suzhou in March.", metadata={"sure": True})
assert changed["memory"] == "I moved to Suzhou in March." and changed["metadata"] == {"topic": "home", "sure": True}, changed
ann.update(first, expiration_date="2099-01-01")
assert ann.get(first)["expiration_date"] == "2099-01-01"
ann.update(first, expiration_date=None)
assert ann.get(first)["expiration_date"] is None
events = ann.history(first)
assert [e["event"] for e in events] == ["ADD", "UPDATE"] and events[1]["old_memory"] == "I moved to Hangzhou in March.", events

refused(lambda: ann.get_all(filters={"user_id": "*"}), 400)
assert "top_k" in refused(lambda: ann.search("tea", filters={"user_id": "ann"}, limits=3), 400), "the known arguments are listed"
assert "run_id" in refused(lambda: ann.get_all(filters={"user_id": "ann", "colour": "red"}), 400)
assert ann.get_all(filters={"run_id": "r1"})["count"] == 2 and ann.get_all(filters={"app_id": "shop"})["count"] == 1
narrow = ann.get_all(filters={"user_id": "ann"}, start_date="2020-01-01", end_date="2099-12-31", page=1, page_size=2)
assert narrow["count"] == 3 and len(narrow["results"]) == 2 and narrow["next"], narrow
assert sorted(ann.search("tea", filters={"user_id": "ann"}, fields=["memory"])["results"][0]) == ["id", "memory"]
assert ann.search("What is the best bicycle?", filters={"user_id": "ann"})["results"] == [], "the threshold"

# Batches, feedback and exports.
many = [ann.add(f"Note {i}.", options=AddMemoryOptions(filters={"user_id": "ann", "run_id": "batch"}), infer=False)["results"][0]["id"] for i in range(3)]
assert ann.batch_update([{"memory_id": many[0], "text": "Note zero."}, {"memory_id": many[1], "metadata": {"n": 1}}])["message"] == "Successfully updated 2 memories"
assert ann.get(many[0])["memory"] == "Note zero." and ann.get(many[1])["metadata"] == {"n": 1}
refused(lambda: other.batch_delete([{"memory_id": m} for m in many]), 404)
assert ann.batch_delete([{"memory_id": m} for m in many[:2]])["message"] == "Successfully deleted 2 memories"
assert ann.feedback(many[2], feedback="POSITIVE", feedback_reason="It helped.")["feedback"] == "POSITIVE"
assert [m["id"] for m in ann.get_all(filters={"user_id": "ann", "feedback": "POSITIVE"})["results"]] == [many[2]]
assert ann.feedback(many[2])["feedback"] is None
export = ann.create_memory_export('{"properties": {"notes": {"type": "array", "items": {"properties": {"memory": {"type": "string"}}}}}}', filters={"user_id": "ann", "run_id": "batch"})
assert ann.get_memory_export(memory_export_id=export["id"]) == {"notes": [{"memory": "Note 2."}]}
refused(lambda: other.get_memory_export(memory_export_id=export["id"]), 403)
ann.delete_all(options=DeleteAllMemoryOptions(filters={"user_id": "ann", "run_id": "batch"}))
assert ann.get_all(filters={"user_id": "ann"})["count"] == 3
for filters in ({"OR": [{"user_id": "ann"}, {"user_id": "bob"}]}, {"user_id": {"in": ["ann", "bob"]}}, {"NOT": [{"user_id": "bob"}]}):
    assert ann.get_all(filters=filters)["count"] == 3, "a key of one person reads theirs"

# Another tenant gets one answer, whatever the id is.
answers = {refused(call, 404) for call in (
    lambda: other.get(first), lambda: other.get("no-id"), lambda: other.update(first, text="x"), lambda: other.delete(first), lambda: other.delete("no-id"),
    lambda: other.history(first))}
assert len(answers) == 1, answers
refused(lambda: other.add("x", user_id="ann", infer=False), 403, 401)
refused(lambda: other.get_all(filters={"user_id": "ann"}), 403, 401)
refused(lambda: other.delete_all(user_id="ann"), 403, 401)
refused(lambda: other.delete_users(user_id="ann"), 403, 401)
assert other.users()["results"] == []

second = added["results"][1]["id"]
ann.delete(second)
ann.delete(first)
refused(lambda: ann.get(first), 404)
assert [e["is_deleted"] for e in ann.history(first)][-1] is True

assert [(e["type"], e["name"]) for e in ann.users()["results"]] == [("user", "ann")], ann.users()
for call in (lambda: ann.get_summary(), lambda: ann.generate_profile("ann"), lambda: ann.get_webhooks("p"), lambda: ann.project.get()):
    refused(call, 404)

assert ann.get_profile("ann")["status"] == "not_enabled"
refused(lambda: other.get_profile("ann"), 403)

ann.delete_all(user_id="ann", run_id="r2")
assert ann.get_all(filters={"user_id": "ann"})["count"] == 0
ann.add("I drink coffee.", user_id="ann", infer=False)
ann.delete_all(user_id="ann")
assert ann.get_all(filters={"user_id": "ann"})["count"] == 0
ann.add("I drink coffee.", user_id="ann", infer=False)
ann.delete_users(user_id="ann")
assert ann.get_all(filters={"user_id": "ann"})["count"] == 0
ann.add("I drink coffee.", agent_id="ann", infer=False)
ann.add("I drink coffee.", user_id="ann", infer=False)
assert sorted(e["type"] for e in ann.users()["results"]) == ["agent", "user"]
ann.reset()
assert ann.users()["results"] == []


async def the_same_without_waiting():
    async with AsyncMemoryClient(api_key=key, host=host) as plain:
        client = Counted(plain)
        messages = [{"role": "user", "content": "I am allergic to nuts."}, {"role": "assistant", "content": "I will avoid nuts."}]
        added = await client.add(messages, user_id="ann")
        assert added["status"] == "SUCCEEDED" and added["results"], added
        found = (await client.search("Is she allergic to nuts?", filters={"user_id": "ann"}))["results"]
        assert found[0]["memory"] == "I am allergic to nuts.", found
        one = found[0]["id"]
        assert (await client.update(one, text="I am allergic to peanuts."))["memory"] == "I am allergic to peanuts."
        assert (await client.get(one))["memory"] == "I am allergic to peanuts."
        assert len(await client.history(one)) == 2
        assert (await client.users())["count"] == 1
        assert (await client.batch_update([{"memory_id": one, "metadata": {"k": 1}}]))["message"]
        assert (await client.feedback(one, feedback="NEGATIVE"))["feedback"] == "NEGATIVE"
        await client.delete(one)
        await client.delete_all(user_id="ann")
        assert (await client.get_all(filters={"user_id": "ann"}))["count"] == 0


asyncio.run(the_same_without_waiting())
print(f"| `mem0ai` (Python), `MemoryClient` and `AsyncMemoryClient` | {importlib.metadata.version('mem0ai')} | {calls} | {calls} |")
