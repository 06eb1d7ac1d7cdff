// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// What the page says, in English and Chinese. {x} stands for a value.
const texts = {
  // The page.
  people: ['People', '人员'],
  signIn: ['Sign in', '登录'],
  signOut: ['Sign out', '退出'],
  signInWhy: ['Enter your key. This tab keeps it until you close it.', '请输入密钥。它只保存在此标签页，关闭即清除。'],
  key: ['Key', '密钥'],
  readOnly: ['read only', '只读'],
  other: ['中文', 'English'],
  loading: ['Loading…', '正在载入…'],
  more: ['Show more', '显示更多'],
  again: ['Try again', '重试'],
  close: ['Close', '关闭'],
  cancel: ['Cancel', '取消'],
  undo: ['Undo', '撤销'],

  // Whose memory.
  user: ['User', '用户'],
  agent: ['Agent', '智能体'],
  workspace: ['Workspace', '工作区'],
  users: ['Users', '用户'],
  agents: ['Agents', '智能体'],
  workspaces: ['Workspaces', '工作区'],
  server: ['Server', '服务器'],
  namespace: ['Namespace', '命名空间'],
  id: ['id', '编号'],
  kind: ['Kind', '类型'],
  open: ['Open', '打开'],
  openById: ['Open by id', '按编号打开'],
  findPeople: ['Find by name', '按名称查找'],
  nobodyFound: ['Nobody has this in their name.', '没有名称包含它的人。'],
  noPeople: ['No people are listed. Open one by id.', '暂无人员列表，请按编号打开。'],
  choose: ['Choose whose memory to look at', '请选择要查看的记忆'],

  // The overview.
  overview: ['Overview', '概览'],
  kept: ['Memories, with former ones', '记忆（含旧的）'],
  waiting: ['Messages waiting to be learnt from', '待学习的消息'],
  failures: ['Failures of learning', '学习失败'],
  look: ['Look', '查看'],
  nextStep: ['Nothing is remembered yet. What to do next:', '还没有任何记忆。接下来：'],
  nextTalk: ['Talk to an agent that uses this memory. What it learns appears here.', '与使用此记忆的智能体对话，学到的内容会显示在这里。'],
  nextAdd: ['Or open somebody by id, and add a fact yourself.', '或按编号打开一个人，自己添加一条事实。'],

  // Sections.
  memories: ['Memories', '记忆'],
  sessions: ['Conversations', '会话'],
  notes: ['Last replies', '最近的回复'],
  blocks: ['Always shown', '始终显示'],
  tools: ['Tools', '工具'],
  health: ['Learning', '学习状态'],

  // The list of memories.
  search: ['Search', '搜索'],
  searchHint: ['Type to filter; press Enter to ask as the agent would  ( / )', '输入以筛选，按回车像智能体一样提问（/）'],
  press: ['Nothing contains this. Press Enter to search by its meaning.', '没有内容包含它。按回车按语义搜索。'],
  anyKind: ['All kinds', '全部类型'],
  state: ['State', '状态'],
  active: ['Active', '有效'],
  superseded: ['Superseded', '已被取代'],
  expired: ['Expired', '已过期'],
  any: ['Any state', '全部状态'],
  view: ['View', '视图'],
  list: ['List', '列表'],
  timeline: ['Timeline', '时间线'],
  count: ['{n} found', '共 {n} 条'],
  best: ['{n} found, best first', '找到 {n} 条，最相关的在前'],
  alsoSaid: ['Also what was said', '也显示说过的话'],
  noFacts: ['No facts yet. “Also what was said” shows the words themselves.', '还没有事实。勾选“也显示说过的话”可查看原话。'],
  nothing: ['Nothing here yet. Talk to the agent, then look again.', '这里还没有内容。与智能体对话后再来查看。'],
  noMatch: ['Nothing matches. Try other words, or a wider filter.', '没有匹配的内容。请换个说法，或放宽筛选条件。'],
  degraded: ['A part of the search failed: {e}', '搜索的一部分失败了：{e}'],

  // Kinds of memories.
  fact: ['fact', '事实'],
  episode: ['said', '原话'],
  insight: ['insight', '推断'],
  skill: ['skill', '技能'],
  document: ['document', '文档'],
  task: ['task', '任务'],
  personal: ['personal', '个人'],
  tool: ['tool', '工具'],
  procedure: ['procedure', '步骤'],
  notYet: ['said, not learnt from yet', '已说出，尚未学习'],

  // By what a search found it.
  score: ['Score', '得分'],
  why: ['Why it was found', '为何被找到'],
  lexical: ['words', '词语'],
  vector: ['meaning', '语义'],
  rerank: ['judged by a model', '模型评分'],
  s_speaker: ['speaker', '说话者'],
  s_asks: ['is a question', '是提问'],
  s_assistant: ['long answer', '长回答'],
  s_dates: ['time', '时间'],
  s_neighbours: ['neighbours', '相邻'],
  s_answer: ['answers it', '作答'],
  s_question: ['asked for it', '引出它'],
  s_session: ['session', '会话'],

  // One memory.
  memory: ['Memory', '记忆'],
  addFact: ['Add a fact', '添加事实'],
  addFactWhy: ['One statement, as you would say it: “Prefers calls in the morning.”', '一句话即可，例如：“喜欢上午接电话。”'],
  factAdded: ['Added.', '已添加。'],
  factKnown: ['This was known already.', '这条内容已经有了。'],
  notAdded: ['It could not be added.', '无法添加。'],
  edit: ['Edit', '编辑'],
  pin: ['Pin', '置顶'],
  unpin: ['Unpin', '取消置顶'],
  stands: ['Pinned: every reply is shown it.', '已置顶：每次回复都会看到它。'],
  unpinned: ['Unpinned: replies are shown it where it answers.', '已取消置顶：只在相关时显示。'],
  save: ['Save', '保存'],
  saved: ['Saved. The former text is in the history.', '已保存。原文保留在历史中。'],
  changedTo: ['It was changed meanwhile, to “{m}” Save again to replace that, or cancel to keep it.', '其间内容已被改为“{m}”。再次保存会替换它，取消则保留。'],
  delete: ['Delete', '删除'],
  standing: ['always applies', '始终适用'],
  delicate: ['delicate', '敏感'],
  standingWhy: ['It always applies, whatever is asked', '无论问什么都适用'],
  delicateWhy: ['It is delicate: shown only where a question is about it', '敏感内容：只在问到时才显示'],
  deleteTitle: ['Delete this memory?', '删除这条记忆？'],
  deleteWhy: ['Delete it. Agents are not shown it any more; its history and the conversation stay.', '删除它。智能体不再看到它；历史和会话记录保留。'],
  erase: ['Erase it with its history and what was said. This is for good.', '连同历史和当时说的话一并清除，且无法恢复。'],
  deleting: ['Will be deleted in 8 seconds, or at once if you leave the page: “{m}”', '8 秒后删除；离开本页则立即删除：“{m}”'],
  pinTo: ['Pin to “{b}”', '固定到“{b}”'],
  pinned: ['Pinned to “{b}”: it is in every prompt now.', '已固定到“{b}”：今后每个提示都会包含它。'],
  whenToUse: ['Helps when', '适用情形'],
  said: ['Said', '说出时间'],
  since: ['Holds since', '生效时间'],
  ended: ['Ended', '失效时间'],
  expires: ['Expires', '过期时间'],
  quality: ['Quality', '质量'],
  from: ['Said by', '说话者'],
  metadata: ['Metadata', '元数据'],
  replaces: ['It replaced', '它取代了'],
  replacedBy: ['It was replaced by', '它被取代为'],
  turn: ['The turn that taught it', '学自这段对话'],
  taught: ['taught it', '学自这句'],
  noTurn: ['No conversation taught it: it was stored directly.', '它不是从对话中学到的，而是直接存入的。'],
  notShown: ['It was learnt in session {id}, which this server does not show.', '学自会话 {id}，此服务器不显示会话。'],
  turnGone: ['Its session is not kept any more, or this key does not open it.', '该会话已不再保留，或此密钥无权打开。'],
  wholeSession: ['Open the session', '打开会话'],
  history: ['History', '历史'],
  added: ['added', '新增'],
  updated: ['updated', '更新'],
  retracted: ['retracted', '撤回'],
  deleted: ['deleted', '删除'],
  unchanged: ['unchanged', '未变'],

  // Forgetting.
  forget: ['Forget…', '遗忘…'],
  forgetTitle: ['Forget {id} for good?', '永久遗忘 {id}？'],
  forgetWhy: ['This erases memories, sessions and history, and cannot be undone. Type the id to confirm:', '这将清除记忆、会话和历史，且无法撤销。请输入编号以确认：'],
  forgetNow: ['Forget for good', '永久遗忘'],
  receipt: ['Receipt', '清除回执'],
  blobs: ['Attachments', '附件'],
  elsewhere: ['Also erased elsewhere', '其他位置的清除'],
  checked: ['Read again, and empty', '复查为空'],
  outside: ['Left for the operator', '需由运维人员处理'],

  // Sessions.
  messages: ['Messages', '消息'],
  session: ['Conversation', '会话'],
  untitled: ['Conversation {id}', '会话 {id}'],
  summary: ['Summary', '摘要'],
  summaryWhy: ['The model reads this instead of the messages that left its window.', '模型读到的是这段摘要，而不是已离开窗口的消息。'],
  left: ['Left the window', '已离开窗口'],
  windowFrom: ['From here on the model sees the messages themselves', '从这里起，模型看到消息原文'],
  learnt: ['Learnt from up to here', '已学习到这里'],
  erased: ['(erased)', '（已清除）'],
  failed: ['{n} failed', '{n} 处失败'],
  failure: ['Messages {a}–{b} were not learnt from, after {n} tries: {e}', '消息 {a}–{b} 未能学习，已尝试 {n} 次：{e}'],
  retry: ['Retry', '重试'],
  retried: ['Retried.', '已重试。'],
  system: ['System', '系统'],
  assistant: ['Assistant', '助手'],

  // Trying a message.
  try: ['Try a message', '试一条消息'],
  message: ['Message', '消息'],
  tryHint: ['What the person would say to the agent', '此人会对智能体说的话'],
  tryWhy: ['What would the agent read of memory, if this message came now? Nothing is stored.', '如果现在收到这条消息，智能体会读到哪些记忆？不会保存任何内容。'],
  tryNow: ['Try', '试一试'],
  wouldRead: ['What the agent would read', '智能体会读到'],
  tokens: ['About {n} of at most {of} tokens', '约 {n} 个词元，最多 {of} 个'],
  whyEach: ['Why each line is there', '每一行为何在此'],
  becauseStanding: ['always applies', '始终适用'],
  becauseAnswers: ['answers the message', '与消息相关'],
  becauseAll: ['all fits, so it is shown', '全部放得下，因此显示'],
  leftOut: ['What was left out', '未显示的记忆'],
  tooLow: ['{by} too low: it scores {s}, and this message asks for {least}', '差 {by}：得分 {s}，此消息要求 {least}'],
  noRoom: ['no room was left, or it adds nothing', '放不下，或没有新内容'],
  leftOther: ['delicate, a question, or already said', '敏感、是提问，或已说过'],

  // Notes and core blocks.
  notesWhy: ['What the last replies were shown of memory, and why.', '最近的回复看到了哪些记忆，以及原因。'],
  note: ['What the model read', '模型读到的内容'],
  noteEmpty: ['Nothing fitted, so the model was shown nothing.', '没有合适的记忆，模型什么也没有看到。'],
  blockEmpty: ['(empty)', '（空）'],
  runes: ['{n} of {of} characters', '{n} / {of} 字符'],

  // Tools.
  successRate: ['Success rate', '成功率'],
  meanTime: ['Mean time', '平均耗时'],
  calls: ['Calls', '调用次数'],
  errors: ['Errors', '错误'],

  // Learning.
  healthWhy: ['How learning goes in all sessions of this server.', '此服务器所有会话的学习情况。'],
  healthy: ['All that was said was learnt from.', '所有对话都已学习完毕。'],
  backlog: ['Messages waiting', '待学习的消息'],
  inSessions: ['Conversations with such messages', '有待学习内容的会话'],
  oldest: ['Oldest of them', '其中最早的'],
  queued: ['Not written down yet', '尚未记录'],
  failing: ['Conversations that failed and are tried again', '失败并重试中的会话'],
  failingSince: ['Failing since', '失败始于'],
  parked: ['Given up after several tries', '多次尝试后放弃'],
  lastError: ['Last error', '最近的错误'],

  // Errors, by their codes.
  e_offline: ['The server does not answer. Check that it runs, and try again.', '服务器没有响应。请确认它在运行后重试。'],
  e_no_key: ['The server does not know this key.', '服务器不认识这个密钥。'],
  e_denied: ['This is not open to you, or to this key.', '您或此密钥无权访问。'],
  e_not_found: ['It is not there (any more).', '内容不存在或已被移除。'],
  e_conflict: ['It was changed meanwhile. Nothing was overwritten.', '其间内容已被修改，没有覆盖任何内容。'],
};

const slot = 'einomem.language';
const at = (localStorage.getItem(slot) ?? navigator.language).startsWith('zh') ? 1 : 0;

export const locale = ['en-GB', 'zh-CN'][at];

export function switchLanguage() {
  localStorage.setItem(slot, at ? 'en' : 'zh');
  location.reload();
}

// t returns a text in the language of the page; of a key that has none, otherwise.
export function t(key, values = {}, otherwise = key) {
  const text = Object.hasOwn(texts, key) ? texts[key][at] : otherwise;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}
