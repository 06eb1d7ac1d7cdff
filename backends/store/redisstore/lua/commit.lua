-- Writes what was planned, if nothing of what the plan rests on has changed.
-- KEYS: those of the partition, then those of the session, if there is one.
-- ARGV: see arguments in commit.go, which must change with this. Returns
--   {"ok", version, fields of the session}
--   {"known", what T:idem holds, fields of the session}: the batch was committed before
--   {"stale"}: read again and plan again
--   {"unregistered", ...}: what must be entered in the registry first
local meta, rec, vec, chg, del, his, idem, idemt, tips, tip, lives = unpack(KEYS, 1, 11)
local st, log, ids, blobs, pend, born, has = unpack(KEYS, 12)
local at = 0
local function arg() at = at + 1; return ARGV[at] end
local function session() return st and stateOf(st) or {} end
local now, nonce, fresh, made, seen, begun = arg(), arg(), arg(), arg(), arg(), arg()
local field, forget, results = arg(), arg(), arg()
local space, pin, newSpace, raise = arg(), arg(), arg(), arg()
local refused = forgotten(lives, begun, now) or lost(meta, 'records', {unpack(KEYS, 2, 10)})
if st then refused = refused or lost(meta, 'sessions', {pend, born, has}) end
if refused then return refused end
if field ~= '' then
  local known = redis.call('HGET', idem, field)
  if known then return {'known', known, session()} end
end
if (redis.call('HGET', meta, 'inc') or '') ~= seen then return {'stale'} end
if (redis.call('HGET', meta, 'space') or '') ~= space then return {'stale'} end
if pin ~= '' and (redis.call('HGET', meta, 'ver') or '0') ~= pin then return {'stale'} end
for _ = 1, tonumber(arg()) do
  local id, version = arg(), tonumber(arg())
  local current = string.match(redis.call('HGET', rec, id) or '', '^%d+')
  if tonumber(current or '0') ~= version then return {'stale'} end
end
local update
if st then
  update = {sid = arg(), upd = arg(), ver = arg(), now = arg(), state = arg(), watermark = arg(), exp = arg(), expires = arg()}
  local upd, ver = unpack(redis.call('HMGET', st, 'upd', 'ver'))
  if not upd or upd ~= update.upd or (update.ver ~= '' and update.ver ~= ver) then return {'stale'} end
end
refused = unregistered(meta, made, now, 'listed')
if refused then return refused end
-- From here on everything is written, in an order in which a beginning of it, that a server
-- which died left in its file, harms no one: what nobody reads yet, all records at once, the
-- session, what makes a repeat replay, the version.
if seen == '' then redis.call('HSET', meta, 'inc', fresh) end
local before = tonumber(redis.call('HGET', meta, 'ver') or '0')
local version = before -- raised by one for "1", else to the version that the plan gives
if raise ~= '' then version = raise == '1' and before + 1 or tonumber(raise) end
local stamp = int(version) .. ' '
local puts, back, gone, bare = {}, {}, {}, {}
for _ = 1, tonumber(arg()) do
  local id, own, memory, what, vector = arg(), arg(), arg(), arg(), arg()
  if memory == '' then
    append(gone, id)
  else
    redis.call('ZADD', chg, own == '' and version or own, id)
    append(puts, id, (own == '' and stamp or own .. ' ') .. memory)
    append(back, id)
  end
  if what == 'set' then redis.call('HSET', vec, id, vector)
  elseif what == 'none' then append(bare, id) end
end
local erased = {}
for _ = 1, tonumber(arg()) do erased[arg()] = true end
local added, texts = {}, {}
for _ = 1, tonumber(arg()) do
  local id, own, event = arg(), arg(), arg()
  if not texts[id] then
    append(added, id)
    texts[id] = not erased[id] and redis.call('HGET', his, id) or ''
  end
  texts[id] = texts[id] .. (own == '' and stamp or own .. ' ') .. event .. '\n'
end
for _, id in ipairs(added) do redis.call('HSET', his, id, texts[id]) end
for from = 1, #puts, 4000 do redis.call('HSET', rec, unpack(puts, from, math.min(from + 3999, #puts))) end
for _, id in ipairs(back) do redis.call('ZREM', del, id) end
for _, id in ipairs(gone) do
  redis.call('ZADD', del, version, id)
  redis.call('HDEL', rec, id)
  redis.call('ZREM', chg, id)
end
for _, id in ipairs(bare) do redis.call('HDEL', vec, id) end
for id in pairs(erased) do
  if not texts[id] then redis.call('HDEL', his, id) end
end
if update then
  local all, ver = {st, log, ids, blobs}, redis.call('HGET', st, 'ver')
  local fields = {'state', update.state, 'watermark', update.watermark, 'updated', update.now, 'upd', nonce, 'ver', int(ver + 1)}
  if update.exp ~= '' and update.exp ~= 'never' then append(fields, 'exp', update.exp, 'expires', update.expires) end
  redis.call('HSET', st, unpack(fields))
  if update.exp == 'never' then
    redis.call('HDEL', st, 'exp', 'expires')
    for _, key in ipairs(all) do redis.call('PERSIST', key) end
  elseif update.exp ~= '' then
    local left = int(math.max(1, math.ceil((tonumber(update.exp) - tonumber(now)) / 1000)))
    for _, key in ipairs(all) do redis.call('PEXPIRE', key, left) end
  end
  local kept = redis.call('HGET', has, update.sid)
  keep(has, update.sid, kept, redis.call('HEXISTS', st, 'exp') == 1 and 't' or 's', hasBlobs(kept, blobs))
  if tonumber(redis.call('HGET', st, 'seq')) == tonumber(update.watermark) then redis.call('ZREM', pend, update.sid) end
  note(meta, 'sessions', {pend, born, has})
end
if field ~= '' then
  redis.call('HSET', idem, field, stamp .. nonce .. ' ' .. results)
  redis.call('ZADD', idemt, forget, field)
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', idemt, '-inf', now, 'LIMIT', 0, 16)) do
    redis.call('HDEL', idem, old)
    redis.call('ZREM', idemt, old)
  end
end
local extra = redis.call('ZCARD', del) - 10000
if extra > 0 then
  local cut = redis.call('ZRANGE', del, extra - 1, extra - 1, 'WITHSCORES')[2]
  redis.call('HSET', meta, 'floor', cut)
  redis.call('ZREMRANGEBYSCORE', del, '-inf', cut)
end
if raise ~= '' then
  local listed = redis.call('EXISTS', tips) == 1 -- by an earlier build
  if listed then addNonce(tip, before, redis.call('LINDEX', tips, -1)) end
  addNonce(tip, version, nonce, raise ~= '1')
  if listed then redis.call('UNLINK', tips) end
  redis.call('HSET', meta, 'ver', int(version))
  if newSpace ~= '' then redis.call('HSET', meta, 'space', newSpace) end
end
note(meta, 'records', {unpack(KEYS, 2, 10)})
return {'ok', int(version), session()}
