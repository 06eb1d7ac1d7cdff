-- Writes what was planned, if nothing of what the plan rests on has changed.
-- KEYS: those of the partition, then those of the session, if there is one.
-- ARGV: see arguments in commit.go, which must change with this. Returns
--   {"ok", version, fields of the session}
--   {"known", what T:idem holds, fields of the session}: the batch was committed before
--   {"stale"}: read again and plan again
--   {"unregistered", ...}: what must be entered in the registry first
local meta, rec, vec, chg, del, his, idem, idemt, tips, lives = unpack(KEYS, 1, 10)
local st, log, ids, blobs, pend, born = unpack(KEYS, 11)
local at = 0
local function arg() at = at + 1; return ARGV[at] end
local function int(n) return string.format('%.0f', n) end
local function session() return st and redis.call('HGETALL', st) or {} end
local now, nonce, fresh, made, seen, begun = arg(), arg(), arg(), arg(), arg(), arg()
local field, forget, results = arg(), arg(), arg()
local space, pin, newSpace, raise = arg(), arg(), arg(), arg()
local refused = forgotten(lives, begun, now) or lost(meta, 'records', {unpack(KEYS, 2, 9)})
if st then refused = refused or lost(meta, 'sessions', {pend, born}) end
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
  if tonumber(redis.call('ZSCORE', chg, id) or '0') ~= version then return {'stale'} end
end
local update
if st then
  update = {sid = arg(), upd = arg(), ver = arg(), now = arg(), state = arg(), watermark = arg(), exp = arg(), expires = arg()}
  local upd, ver = unpack(redis.call('HMGET', st, 'upd', 'ver'))
  if not upd or upd ~= update.upd or (update.ver ~= '' and update.ver ~= ver) then return {'stale'} end
end
refused = unregistered(meta, made, now, 'listed')
if refused then return refused end
-- From here on everything is written.
if seen == '' then redis.call('HSET', meta, 'inc', fresh) end
local version = tonumber(redis.call('HGET', meta, 'ver') or '0')
if raise ~= '' then -- by one for "1", else to the version that the plan gives
  version = raise == '1' and version + 1 or tonumber(raise)
  redis.call('HSET', meta, 'ver', int(version))
  redis.call('RPUSH', tips, nonce)
  redis.call('LTRIM', tips, -1000, -1)
  if newSpace ~= '' then redis.call('HSET', meta, 'space', newSpace) end
end
local stamp = int(version) .. ' '
for _ = 1, tonumber(arg()) do
  local id, own, memory, what, vector = arg(), arg(), arg(), arg(), arg()
  if memory == '' then
    redis.call('HDEL', rec, id)
    redis.call('ZREM', chg, id)
    redis.call('ZADD', del, version, id)
  else
    redis.call('HSET', rec, id, (own == '' and stamp or own .. ' ') .. memory)
    redis.call('ZADD', chg, own == '' and version or own, id)
    redis.call('ZREM', del, id)
  end
  if what == 'set' then redis.call('HSET', vec, id, vector)
  elseif what == 'none' then redis.call('HDEL', vec, id) end
end
local extra = redis.call('ZCARD', del) - 10000
if extra > 0 then
  local cut = redis.call('ZRANGE', del, extra - 1, extra - 1, 'WITHSCORES')[2]
  redis.call('ZREMRANGEBYRANK', del, 0, extra - 1)
  redis.call('HSET', meta, 'floor', cut)
end
for _ = 1, tonumber(arg()) do redis.call('HDEL', his, arg()) end
for _ = 1, tonumber(arg()) do
  local id, own, event = arg(), arg(), arg()
  redis.call('HSET', his, id, (redis.call('HGET', his, id) or '') .. (own == '' and stamp or own .. ' ') .. event .. '\n')
end
if field ~= '' then
  redis.call('HSET', idem, field, stamp .. nonce .. ' ' .. results)
  redis.call('ZADD', idemt, forget, field)
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', idemt, '-inf', now, 'LIMIT', 0, 16)) do
    redis.call('HDEL', idem, old)
    redis.call('ZREM', idemt, old)
  end
end
note(meta, 'records', {unpack(KEYS, 2, 9)})
if update then
  redis.call('HSET', st, 'state', update.state, 'watermark', update.watermark, 'updated', update.now)
  redis.call('HINCRBY', st, 'upd', 1)
  redis.call('HINCRBY', st, 'ver', 1)
  local all = {st, log, ids, blobs}
  if update.exp == 'never' then
    redis.call('HDEL', st, 'exp', 'expires')
    for _, key in ipairs(all) do redis.call('PERSIST', key) end
  elseif update.exp ~= '' then
    redis.call('HSET', st, 'exp', update.exp, 'expires', update.expires)
    local left = int(math.max(1, math.ceil((tonumber(update.exp) - tonumber(now)) / 1000)))
    for _, key in ipairs(all) do redis.call('PEXPIRE', key, left) end
  end
  if tonumber(redis.call('HGET', st, 'seq')) == tonumber(update.watermark) then redis.call('ZREM', pend, update.sid) end
  note(meta, 'sessions', {pend, born})
end
return {'ok', int(version), session()}
