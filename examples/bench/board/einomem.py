# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""einomem as a memory provider of agent-memory-benchmark (vectorize-io), over REST.

Put this file into src/memory_bench/memory/ of that repository, register it in its __init__.py:

    from .einomem import EinomemMemoryProvider
    REGISTRY["einomem"] = EinomemMemoryProvider

start examples/einomem serve, and run the harness with the memory "einomem". The environment:
EINOMEM_URL (default http://127.0.0.1:8080), EINOMEM_KEY (a key that writes, if there are keys),
EINOMEM_BATCH (messages an add, default 20). With OPENAI_API_KEY the server learns facts from what
is ingested; without one it keeps and finds what was said. Nothing but Python is needed.
"""
from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path

from ..models import Document
from .base import MemoryProvider

ROLES = {"user", "assistant", "system", "tool"}


class EinomemMemoryProvider(MemoryProvider):
    name = "einomem"
    description = "Memory for Eino agents: words and signals, vectors where there is an embedder, facts where there is a model."
    kind = "local"
    provider = "einomem"
    variant = "http"
    link = "https://github.com/einomem/einomem"
    concurrency = 4

    def __init__(self) -> None:
        self.url = os.environ.get("EINOMEM_URL", "http://127.0.0.1:8080").rstrip("/")
        self.key = os.environ.get("EINOMEM_KEY", "")
        self.batch = int(os.environ.get("EINOMEM_BATCH", "20"))
        self.run = f"run-{uuid.uuid4().hex[:12]}"  # each run has people of its own

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None, reset: bool = True) -> None:
        """Names the run in store_dir, so that a later one with reset=False finds what this one ingested."""
        store_dir.mkdir(parents=True, exist_ok=True)
        name = store_dir / "einomem-run"
        if not reset and name.exists():
            self.run = name.read_text().strip()
        name.write_text(self.run)

    def ingest(self, documents: list[Document]) -> None:
        """Adds the documents of each person in their order, several persons at a time."""
        people: dict[str, list[Document]] = {}
        for doc in documents:
            people.setdefault(doc.user_id or "", []).append(doc)
        with ThreadPoolExecutor(self.concurrency) as pool:
            for done in [pool.submit(self._person, docs) for docs in people.values()]:
                done.result()

    def retrieve(self, query: str, k: int = 10, user_id: str | None = None,
                 query_timestamp: str | None = None) -> tuple[list[Document], dict | None]:
        body = {"scope": {"user_id": self._user(user_id)}, "query": query, "top_k": k}
        raw = self._post("/api/v1/search", body)
        return [self._found(hit, user_id) for hit in raw["hits"]], raw

    def _person(self, docs: list[Document]) -> None:
        for doc in sorted(docs, key=lambda d: d.timestamp or ""):
            messages = self._messages(doc)
            for i in range(0, len(messages), self.batch):
                part = messages[i:i + self.batch]
                self._post("/api/v1/add", {
                    "scope": {"user_id": self._user(doc.user_id), "session_id": doc.id[:200]},
                    "messages": part, "context": messages[max(0, i - 4):i],
                    "idempotency_key": f"{self.run}/{doc.id}/{i}",
                })

    def _messages(self, doc: Document) -> list[dict]:
        start = _time(doc.timestamp)
        said = doc.messages or [{"role": "user", "content": doc.content}]
        out = []
        for i, m in enumerate(said):
            text = m.get("content") or ""
            if isinstance(text, list):
                text = "\n".join(part.get("text", "") for part in text if isinstance(part, dict))
            if not text.strip():
                continue
            role = m.get("role", "user")
            when = _time(m.get("timestamp")) or (start + timedelta(seconds=i) if start else None)
            message = {"id": f"{doc.id}/{i}", "turn": f"{doc.id}/{i // 2}", "role": role if role in ROLES else "user", "content": text}
            if role not in ROLES or m.get("name"):
                message["name"] = m.get("name") or role
            if when:
                message["time"] = when.isoformat()
            out.append(message)
        return out

    def _found(self, hit: dict, user_id: str | None) -> Document:
        origin = hit.get("origin") or {}
        day = (hit.get("valid") or hit.get("observed") or "")[:10]
        who = origin.get("speaker") or origin.get("role") or ""
        text = " ".join(part for part in (day, who) if part) + ": " + (hit.get("passage") or hit["text"])
        if hit.get("before"):
            text += f" (before: {hit['before']['text']})"
        return Document(id=origin.get("session") or hit["id"], content=text, user_id=user_id, timestamp=hit.get("observed"))

    def _user(self, user_id: str | None) -> str:
        return f"{self.run}:{user_id or 'everyone'}"

    def _post(self, path: str, body: dict) -> dict:
        """Sends a request; what failed on the way is repeated, which is harmless."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        if self.key:
            request.add_header("Authorization", "Bearer " + self.key)
        for attempt in range(5):
            try:
                with urllib.request.urlopen(request, timeout=600) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as e:
                if e.code < 500 and e.code != 429 or attempt == 4:
                    raise RuntimeError(f"einomem: {path}: {e.code} {e.read().decode(errors='replace')[:500]}") from e
            except OSError:
                if attempt == 4:
                    raise
            time.sleep(2 ** attempt)
        raise AssertionError("unreachable")


def _time(text: str | None) -> datetime | None:
    try:
        when = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=timezone.utc)
