"""Lists all tools, and makes the calls of a file, by the official SDK for Python.

usage: python client.py CALLS stdio SERVER, or http URL, or sse URL, with the key in EINOMEM_KEY
"""

import asyncio
import importlib.metadata
import json
import os
import re
import sys

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitResult


async def agree(_context, _params):
    return ElicitResult(action="accept", content={})


def transport(kind, where):
    headers = {"Authorization": "Bearer " + os.environ.get("EINOMEM_KEY", ""), "X-Memory-Session": "s1"}
    if kind == "sse":
        return sse_client(where, headers=headers)
    if kind == "http":
        return streamable_http_client(where, http_client=create_mcp_http_client(headers))
    return StdioServerParameters(command=where, env=dict(os.environ))


async def main(calls, kind, where):
    async with Client(transport(kind, where), elicitation_callback=agree) as client:
        print(json.dumps({"version": importlib.metadata.version("mcp"), "tools": [t.name for t in (await client.list_tools()).tools]}))
        shown = ""
        for call in json.load(open(calls)):
            given = call["arguments"]
            if "id" in given:
                given["id"] = shown
            result = await client.call_tool(call["tool"], given)
            text = result.content[0].text
            added = re.search(r"added: \[(\w+)\]", text)
            shown = shown or (added.group(1) if added else "")
            print(json.dumps({"tool": call["tool"], "failed": result.is_error, "text": text}))


asyncio.run(main(*sys.argv[1:]))
