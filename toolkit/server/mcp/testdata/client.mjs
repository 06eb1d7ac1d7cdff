// Lists all tools, and calls some of them, by the official SDK for TypeScript.
// usage: node client.mjs SERVER, in a folder with @modelcontextprotocol/sdk installed
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command: process.argv[2], env: process.env }));
const { tools } = await client.listTools();
console.log("tools", tools.length);
for (const [name, given] of Object.entries({
  add_memory: { content: "Ann keeps bees.", thinking: null },
  search_memory: { query: "bees", limit: "5" },
  list_memories: { limit: null },
})) {
  const result = await client.callTool({ name, arguments: given });
  console.log(name, result.isError ?? false, result.content[0].text);
}
await client.close();
