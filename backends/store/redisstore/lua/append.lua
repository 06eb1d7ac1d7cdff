-- Appends messages to a session, each once, and creates the session if need be.
-- ARGV: session id, now (microseconds), now (text), time to live (microseconds, 0: no
-- change), its end (text), a nonce, the lists of the registry it was just entered in, the lives that
-- it began in, the state of a new session (JSON), "1" if there is nothing to learn from the
-- messages or "", then for each message: id, tokens, JSON.
-- Returns the session's fields, or what must be entered in the registry first.
local meta, st, log, ids, blobs, pend, born, has, lives = unpack(KEYS)
local sid, now, life, nonce = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), ARGV[6]
local learnt = ARGV[10] ~= ''
local refused = forgotten(lives, ARGV[8], now) or lost(meta, 'sessions', {pend, born, has})
local ends = tonumber(redis.call('HGET', st, 'exp') or '')
local expired = ends and ends <= now
if not expired then
  refused = refused or lostOf(st, log, ids, redis.call('HGET', has, sid))
  if redis.call('EXISTS', st) > redis.call('HEXISTS', meta, 'inc') then refused = refused or incomplete(meta) end
end
refused = refused
  or unregistered(meta, ARGV[7], ARGV[2], 'listed', not learnt and 'waiting' or nil)
if refused then return refused end
if redis.call('HEXISTS', meta, 'inc') == 0 then redis.call('HSET', meta, 'inc', nonce) end
if expired then
  redis.call('HDEL', has, sid)
  redis.call('DEL', st, log, ids, blobs)
  redis.call('ZREM', pend, sid)
else
  move(st, log, ids)
end
local first, tokens, mark, ver = unpack(redis.call('HMGET', st, 'seq', 'tokens', 'watermark', 'ver'))
local created, fields, new = not first, {}, {}
if created then first, tokens, mark, ver = 0, 0, 0, 0 end
if created or not redis.call('ZSCORE', born, sid) then enlist(meta, born, sid) end
first, mark = tonumber(first), tonumber(mark)
local seq = first
for i = 11, #ARGV, 3 do
  if not new[ARGV[i]] and not holds(st, first, ARGV[i]) then
    new[ARGV[i]], seq, tokens = true, seq + 1, tokens + ARGV[i + 1]
    put(st, fields, int(seq), ARGV[i + 2], 'i:' .. ARGV[i], int(seq))
  end
end
if created or seq > first then
  if seq > mark and (first > mark or not learnt) then
    redis.call('ZADD', pend, redis.call('ZSCORE', born, sid), sid)
  elseif seq > mark then -- an update that was planned before would write the old watermark
    mark = seq
    append(fields, 'upd', nonce)
  end
  if created then append(fields, 'state', ARGV[9], 'upd', nonce) end
  if life > 0 then append(fields, 'exp', int(now + life), 'expires', ARGV[5]) end
  append(fields, 'seq', int(seq), 'tokens', int(tokens), 'watermark', int(mark), 'ver', int(ver + 1), 'updated', ARGV[3])
  redis.call('HSET', st, unpack(fields)) -- all at once: half of it is never there
  if life > 0 then redis.call('PEXPIRE', st, int(math.ceil(life / 1000))) end
  local left = redis.call('PTTL', st)
  if left > 0 then redis.call('PEXPIRE', blobs, left) end
  keep(has, sid, st, blobs)
end
note(meta, 'sessions', {pend, born, has})
return stateOf(st)
