# Copyright 2026 The einomem Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the provider in argv[1] against a server, with what it needs of agent-memory-benchmark made here."""
import importlib.util
import pathlib
import sys
import types
from dataclasses import dataclass


@dataclass
class Document:
    id: str
    content: str
    user_id: str | None = None
    messages: list[dict] | None = None
    timestamp: str | None = None
    context: str | None = None


for name, members in {"board": {}, "board.memory": {}, "board.models": {"Document": Document},
                      "board.memory.base": {"MemoryProvider": object}}.items():
    module = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(members)
    sys.modules[name] = module
spec = importlib.util.spec_from_file_location("board.memory.einomem", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

provider = module.EinomemMemoryProvider()
provider.prepare(pathlib.Path(sys.argv[2]))
provider.ingest([
    Document("s1", "", "ann", [{"role": "user", "content": f"Day {i}: I watered the garden."} for i in range(45)] +
             [{"role": "user", "content": "I moved to Hangzhou."}], "2026-03-01T10:00:00"),
    Document("s2", "Bob keeps a heron.", "bob"),
])
docs, raw = provider.retrieve("Hangzhou", 3, "ann")
assert docs and docs[0].id == "s1" and "Hangzhou" in docs[0].content and "2026-03-01" in docs[0].content, docs
docs, raw = provider.retrieve("Hangzhou heron", 3, "bob")
assert all("Hangzhou" not in d.content for d in docs), docs

again = module.EinomemMemoryProvider()
again.prepare(pathlib.Path(sys.argv[2]), reset=False)
docs, raw = again.retrieve("heron", 3, "bob")
assert docs and "heron" in docs[0].content, docs
print("ok")
