// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The round trips of mem0's client for TypeScript and of its provider for Vercel's AI SDK:
// node mem0_client.mjs FOLDER HOST KEY. It prints a line a client: its calls, and those that were
// right.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [folder, host, key] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const counts = {};

function right(client, ok, what) {
  const [tried, good] = counts[client] ?? [0, 0];
  counts[client] = [tried + 1, good + (ok ? 1 : 0)];
  if (!ok) console.error(client, "is wrong:", JSON.stringify(what));
}

async function typescript() {
  const { MemoryClient } = require("mem0ai");
  const client = new MemoryClient({ apiKey: key, host });
  const check = async (call, ok) => {
    const out = await call.catch((e) => ({ failed: `${e.name}: ${e.message}` }));
    right("`mem0ai` (npm)", ok(out), out);
    return out;
  };
  const messages = [
    { role: "user", content: "Hi, I'm Alex. I'm a vegetarian and I'm allergic to nuts." },
    { role: "assistant", content: "Hello Alex! I'll remember that." },
  ];
  await check(client.add(messages, { userId: "ann", metadata: { foodPlan: "strict" } }), (o) => o.results.length > 0);
  const found = await check(client.search("Is Alex allergic to nuts?", { filters: { user_id: "ann" }, topK: 1 }), (o) => o.results[0].memory === messages[0].content);
  const id = found.results[0].id;
  await check(client.search("Alex", { filters: { AND: [{ user_id: "ann" }, { created_at: { gte: "2020-01-01" } }] }, fields: ["memory"], threshold: 0 }), (o) => Object.keys(o.results[0]).length === 2);
  await check(client.getAll({ filters: { user_id: "ann" }, page: 1, pageSize: 1 }), (o) => o.count === 2 && o.results.length === 1);
  await check(client.getAll({ filters: { OR: [{ user_id: "ann" }, { agent_id: "ann" }] }, startDate: "2020-01-01" }), (o) => o.count === 2);
  await check(client.get(id), (o) => o.memory === messages[0].content && o.metadata.foodPlan === "strict");
  await check(client.update(id, { text: "Alex eats no nuts.", metadata: { sure: true } }), (o) => o.memory === "Alex eats no nuts.");
  await check(client.history(id), (o) => o.length === 2 && o[1].oldMemory === messages[0].content);
  await check(client.feedback({ memoryId: id, feedback: "POSITIVE", feedbackReason: "It was right." }), (o) => o.feedback === "POSITIVE");
  await check(client.batchUpdate([{ memoryId: id, text: "Alex eats neither nuts nor meat." }]), (o) => /1 memor/.test(o.message));
  const schema = { properties: { facts: { type: "array", items: { properties: { memory: { type: "string" } } } } } };
  const made = await check(client.createMemoryExport({ schema, filters: { user_id: "ann" } }), (o) => o.id);
  await check(client.getMemoryExport({ memoryExportId: made.id }), (o) => o.facts.length === 2);
  await check(client.users(), (o) => o.results[0].name === "ann");
  await check(client.search("Alex", { filters: { user_id: "ann" }, colour: "red" }), (o) => /top_k/.test(o.failed));
  await check(client.getAll({ filters: { user_id: "bob" } }), (o) => /AuthenticationError/.test(o.failed));
  await check(client.batchDelete([id]), (o) => /1 memor/.test(o.message));
  await check(client.get(id), (o) => /MemoryNotFoundError/.test(o.failed));
  await check(client.delete((await client.getAll({ filters: { user_id: "ann" } })).results[0].id), (o) => o.message);
  await client.add("I have a heron.", { userId: "ann", runId: "r1" }).catch(() => client.add([{ role: "user", content: "I have a heron." }], { userId: "ann", runId: "r1" }));
  await check(client.deleteAll({ userId: "ann", runId: "r1" }), (o) => o.message);
  await check(client.deleteUsers({ userId: "ann" }), (o) => o.message);
}

async function vercel() {
  const { addMemories, createMem0, getMemories, retrieveMemories, searchMemories } = require("@mem0/vercel-ai-provider");
  const { generateText } = require("ai");
  const whose = { user_id: "ann", mem0ApiKey: key, host };
  const check = (ok, what) => right("`@mem0/vercel-ai-provider`, with a scripted model", ok, what);
  const messages = [{ role: "user", content: ["I love red cars.", "I like Toyota Cars.", "I prefer SUVs."].map((text) => ({ type: "text", text })) }];
  const added = await addMemories(messages, whose);
  check(added.results.length === 3, added);
  const prompt = "Suggest me a good car, Toyota or red!";
  const memories = await getMemories(prompt, whose);
  check(memories.some((m) => m.memory === "I like Toyota Cars."), memories);
  const shown = await retrieveMemories(prompt, whose);
  check(shown.includes("Memory: I like Toyota Cars."), shown);
  const found = await searchMemories(prompt, { ...whose, top_k: 1, threshold: 0, rerank: true });
  check(found.results.length === 1, found);

  // It stands for a model: it keeps what it is asked.
  const asked = [];
  const model = createServer((req, res) => {
    let body = "";
    req.on("data", (part) => (body += part));
    req.on("end", () => {
      asked.push(body);
      res.setHeader("Content-Type", "application/json");
      res.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "m", usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "A red Toyota." } }] }));
    });
  });
  await new Promise((ready) => model.listen(0, "127.0.0.1", ready));
  const mem0 = createMem0({ provider: "openai", mem0ApiKey: key, apiKey: "none", mem0Config: { host }, config: { baseURL: `http://127.0.0.1:${model.address().port}/v1` } });
  const { text } = await generateText({ model: mem0.chat("gpt-4-turbo", { user_id: "ann" }), prompt });
  model.close();
  check(text === "A red Toyota." && asked[0].includes("I like Toyota Cars."), [text, asked]);
}

await typescript();
await vercel();
for (const [client, [tried, good]] of Object.entries(counts)) {
  const name = client.split("`")[1];
  const { version } = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json")));
  console.log(`| ${client} | ${version} | ${tried} | ${good} |`);
}
process.exit(Object.values(counts).every(([tried, good]) => tried === good) ? 0 : 1);
