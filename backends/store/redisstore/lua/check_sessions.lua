-- Compares sessions with the lists of their partition. KEYS: T:meta, T:pend, T:born,
-- T:has, then the 4 of each session. ARGV: now (microseconds), "repair" to rewrite
-- what differs, "tidy" to do so unless a list was lost, or "", the session ids. Returns keys, ids and texts.
local meta, pend, born, has = unpack(KEYS, 1, 4)
local repair, wrong, sid = ARGV[2] ~= '', {}
local drift = lost(meta, 'sessions', {pend, born, has})
if drift and ARGV[2] == 'tidy' then return wrong end
local function report(...) append(wrong, ...) end
if drift then report(string.match(drift.err, 'INCOMPLETE (%S+)'), '', 'it is missing, or entries of it are') end
local function score(key) return tonumber(redis.call('ZSCORE', key, sid) or '') end
-- number returns the session's number in the list of sessions, which no other one has.
local function number()
  local highest = math.ceil(tonumber(redis.call('ZRANGE', born, -1, -1, 'WITHSCORES')[2] or '0'))
  if tonumber(redis.call('HGET', meta, 'born') or '0') < highest then
    report(meta, 'born', 'the counter is below the numbers of its list')
    if repair then redis.call('HSET', meta, 'born', int(highest)) end
  end
  local n = score(born)
  if n and n >= 1 and n % 1 == 0 and redis.call('ZCOUNT', born, n, n) == 1 then return n end
  report(born, sid, 'the session is missing, or has no number of its own')
  if not repair then return score(pend) end
  enlist(meta, born, sid)
  return score(born)
end
-- messages looks for each message of a log, and for its id, if there are fewer fields than these.
local function messages(st, seq)
  local fields = redis.call('HLEN', st)
  for _, value in ipairs(stateOf(st)) do if value then fields = fields - 1 end end
  for n = 1, fields < 2 * seq and seq or 0 do
    local text = redis.call('HGET', st, int(n))
    local readable, message = pcall(cjson.decode, text or '')
    if not text then
      report(st, int(n), 'the message is missing: restore a backup, or delete the session')
    elseif readable and redis.call('HGET', st, 'i:' .. message.id) ~= int(n) then
      report(st, int(n), 'the id of the message is missing')
      if repair then redis.call('HSET', st, 'i:' .. message.id, int(n)) end
    end
  end
end
-- list looks at the log of an earlier build.
local function list(st, log, ids, seq)
  local n = redis.call('LLEN', log)
  if n < seq then
    report(log, '', 'messages are missing: restore a backup, or delete the session')
  elseif n > seq or redis.call('SCARD', ids) ~= seq then
    report(log, '', 'messages are there twice, or their ids are missing')
    if repair then move(st, log, ids) end
  end
end
for i = 3, #ARGV do
  sid = ARGV[i]
  local st, log, ids, blobs = unpack(KEYS, 4 * i - 7, 4 * i - 4)
  local seq, mark, ends = unpack(redis.call('HMGET', st, 'seq', 'watermark', 'exp'))
  local kept = redis.call('HGET', has, sid)
  local alive = not ends or tonumber(ends) > tonumber(ARGV[1])
  if alive and lostBlobs(st, blobs, kept) then
    report(blobs, '', 'it is missing: restore a backup, or run Reindex to go on without it')
    if ARGV[2] == 'repair' then
      keep(has, sid, kept, (string.gsub(kept, 'b', '')))
      kept = redis.call('HGET', has, sid)
    end
  end
  if seq and alive then
    if redis.call('EXISTS', log) == 1 then list(st, log, ids, tonumber(seq)) else messages(st, tonumber(seq)) end
    seq, mark = unpack(redis.call('HMGET', st, 'seq', 'watermark'))
    local at = number()
    if tonumber(seq) <= tonumber(mark) then at = nil end
    if score(pend) ~= at then
      report(pend, sid, at and 'the session is missing, or is at another place' or 'the session has nothing to learn from')
      if repair then redis.call('ZREM', pend, sid) end
      if repair and at then redis.call('ZADD', pend, at, sid) end
    end
    if repair then keep(has, sid, kept, ends and 't' or 's', hasBlobs(kept, blobs)) end
  elseif not seq then -- an entry of an expired session is no mistake: the next listing removes it
    local missing = redis.call('EXISTS', log) == 1 or string.find(kept or '', 's')
    local held = missing or redis.call('EXISTS', blobs) == 1
    if missing then report(st, '', 'it is missing: restore a backup, or delete the session') end
    if held then number() end
    if repair and not held then
      redis.call('ZREM', born, sid)
      redis.call('HDEL', has, sid)
    end
    if repair and held and not missing then keep(has, sid, kept, '', true) end
    if repair then redis.call('ZREM', pend, sid) end
  end
end
if repair and redis.call('EXISTS', meta, pend, born) > 0 then note(meta, 'sessions', {pend, born, has}) end
return wrong
