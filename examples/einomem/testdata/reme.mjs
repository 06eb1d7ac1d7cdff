// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Calls ReMe's endpoints as its Node users do.
const post = async (path, body) => {
  const r = await fetch(process.argv[2] + path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (!r.ok) throw new Error(`${path}: ${r.status} ${await r.text()}`);
  return r.json();
};

await post("/vector_store", { workspace_id: "node", action: "delete" });
const none = await post("/retrieve_task_memory", { workspace_id: "node", query: "How to manage a project?", top_k: 1 });
console.log(JSON.stringify(none));
const kept = await post("/summary_working_memory", {
  messages: [
    { role: "system", content: "You are a helpful assistant." },
    { role: "user", content: "Read the page." },
    { role: "assistant", content: "", tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "read", arguments: "{}" } }] },
    { role: "tool", content: "ultra long context ".repeat(20000) },
    { role: "user", content: "And now?" },
  ],
  working_summary_mode: "auto", compact_ratio_threshold: 0.75, max_total_tokens: 20000,
  max_tool_message_tokens: 2000, group_token_threshold: 4000, keep_recent_count: 1, store_dir: "working", chat_id: "a",
});
if (JSON.stringify(kept.answer).length > 20000) throw new Error("nothing was shortened");
console.log(JSON.stringify({ success: kept.success }));
