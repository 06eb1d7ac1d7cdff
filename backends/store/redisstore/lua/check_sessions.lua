-- Compares sessions with the lists of their partition. KEYS: T:meta, T:pend, T:born,
-- then the 4 of each session. ARGV: now (microseconds), "repair" to rewrite
-- what differs, "tidy" to do so unless a list was lost, or "", the session ids. Returns keys, ids and texts.
local meta, pend, born = unpack(KEYS, 1, 3)
local repair, wrong, sid = ARGV[2] ~= '', {}
local drift = lost(meta, 'sessions', {pend, born})
if drift and ARGV[2] == 'tidy' then return wrong end
local function report(...) for _, word in ipairs({...}) do wrong[#wrong + 1] = word end end
if drift then report(string.match(drift.err, 'INCOMPLETE (%S+)'), '', 'it is missing, or entries of it are') end
local function score(key) return tonumber(redis.call('ZSCORE', key, sid) or '') end
-- number returns the session's number in the list of sessions, which no other one has.
local function number()
  local highest = math.ceil(tonumber(redis.call('ZRANGE', born, -1, -1, 'WITHSCORES')[2] or '0'))
  if tonumber(redis.call('HGET', meta, 'born') or '0') < highest then
    report(meta, 'born', 'the counter is below the numbers of its list')
    if repair then redis.call('HSET', meta, 'born', string.format('%.0f', highest)) end
  end
  local n = score(born)
  if n and n >= 1 and n % 1 == 0 and redis.call('ZCOUNT', born, n, n) == 1 then return n end
  report(born, sid, 'the session is missing, or has no number of its own')
  if not repair then return score(pend) end
  n = redis.call('HINCRBY', meta, 'born', 1)
  redis.call('ZADD', born, n, sid)
  return n
end
for i = 3, #ARGV do
  sid = ARGV[i]
  local st, log, ids, blobs = unpack(KEYS, 4 * i - 8, 4 * i - 5)
  local seq, mark, ends = unpack(redis.call('HMGET', st, 'seq', 'watermark', 'exp'))
  if seq and (not ends or tonumber(ends) > tonumber(ARGV[1])) then
    if redis.call('LLEN', log) ~= tonumber(seq) then
      report(log, '', 'messages are missing: restore a backup, or delete the session')
    elseif redis.call('SCARD', ids) ~= tonumber(seq) then
      report(ids, '', 'it is missing, or ids of messages are')
      for _, text in ipairs(repair and redis.call('LRANGE', log, 0, -1) or {}) do
        local readable, message = pcall(cjson.decode, text)
        if readable then redis.call('SADD', ids, message.id) end
      end
      if redis.call('PTTL', st) > 0 then redis.call('PEXPIRE', ids, redis.call('PTTL', st)) end
    end
    local at = number()
    if tonumber(seq) <= tonumber(mark) then at = nil end
    if score(pend) ~= at then
      report(pend, sid, at and 'the session is missing, or is at another place' or 'the session has nothing to learn from')
      if repair then redis.call('ZREM', pend, sid) end
      if repair and at then redis.call('ZADD', pend, at, sid) end
    end
  elseif not seq then -- an entry of an expired session is no mistake: the next listing removes it
    local held = redis.call('EXISTS', log, blobs) > 0
    if redis.call('EXISTS', log) == 1 then report(st, '', 'it is missing: restore a backup, or delete the session') end
    if held then number() end
    if repair and not held then redis.call('ZREM', born, sid) end
    if repair then redis.call('ZREM', pend, sid) end
  end
end
if repair and redis.call('EXISTS', meta, pend, born) > 0 then note(meta, 'sessions', {pend, born}) end
return wrong
