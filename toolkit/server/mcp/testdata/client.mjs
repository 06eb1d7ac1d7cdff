// Lists all tools, and makes the calls of a file, by the official SDK for TypeScript.
// usage: node client.mjs CALLS SERVER, in a folder with @modelcontextprotocol/sdk installed
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [calls, command] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: {} }));
await client.connect(new StdioClientTransport({ command, env: process.env }));
const { tools } = await client.listTools();
const { version } = JSON.parse(readFileSync("node_modules/@modelcontextprotocol/sdk/package.json"));
console.log(JSON.stringify({ version, tools: tools.map((tool) => tool.name) }));
let id = "";
for (const { tool, arguments: given } of JSON.parse(readFileSync(calls))) {
  const args = given.id ? { ...given, id } : given;
  const result = await client.callTool({ name: tool, arguments: args });
  const { text } = result.content[0];
  id ||= /added: \[(\w+)\]/.exec(text)?.[1] ?? "";
  console.log(JSON.stringify({ tool, failed: result.isError ?? false, text }));
}
await client.close();
