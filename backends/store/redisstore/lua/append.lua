-- Appends messages to a session, each once, and creates the session if need be.
-- ARGV: session id, now (microseconds), now (text), time to live (microseconds, 0: no
-- change), its end (text), a nonce, the lists of the registry it was just entered in, the lives that
-- it began in, the state of a new session (JSON), "1" if there is nothing to learn from the
-- messages or "", then for each message: id, tokens, JSON.
-- Returns the session's fields, or what must be entered in the registry first.
local meta, st, log, ids, blobs, pend, born, lives = unpack(KEYS)
local sid, now, life = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
local function int(n) return string.format('%.0f', n) end
local learnt = ARGV[10] ~= ''
local refused = forgotten(lives, ARGV[8], now) or lost(meta, 'sessions', {pend, born})
local ends = tonumber(redis.call('HGET', st, 'exp') or '')
local expired = ends and ends <= now
if not expired then refused = refused or lostOf(st, log, ids) end
refused = refused
  or unregistered(meta, ARGV[7], ARGV[2], 'listed', not learnt and 'waiting' or nil)
if refused then return refused end
redis.call('HSETNX', meta, 'inc', ARGV[6])
if expired then
  redis.call('DEL', st, log, ids, blobs)
  redis.call('ZREM', pend, sid)
end
local created = redis.call('EXISTS', st) == 0
if created then
  redis.call('DEL', log, ids)
  -- updates are counted from a number that no other session of this id had
  local ordinal = redis.call('HINCRBY', meta, 'born', 1)
  redis.call('HSET', st, 'state', ARGV[9], 'seq', 0, 'tokens', 0, 'watermark', 0, 'upd', int(ordinal * 4294967296))
  redis.call('ZADD', born, ordinal, sid)
end
local before, mark = unpack(redis.call('HMGET', st, 'seq', 'watermark'))
local backlog = tonumber(before) > tonumber(mark)
local added, tokens = 0, 0
for i = 11, #ARGV, 3 do
  if redis.call('SADD', ids, ARGV[i]) == 1 then
    redis.call('RPUSH', log, ARGV[i + 2])
    added, tokens = added + 1, tokens + tonumber(ARGV[i + 1])
  end
end
if created or added > 0 then
  local seq = redis.call('HINCRBY', st, 'seq', added)
  redis.call('HINCRBY', st, 'tokens', int(tokens))
  redis.call('HINCRBY', st, 'ver', 1)
  redis.call('HSET', st, 'updated', ARGV[3])
  if life > 0 then
    redis.call('HSET', st, 'exp', int(now + life), 'expires', ARGV[5])
    redis.call('PEXPIRE', st, int(math.ceil(life / 1000)))
  end
  local left = redis.call('PTTL', st)
  if left > 0 then
    for _, key in ipairs({log, ids, blobs}) do redis.call('PEXPIRE', key, left) end
  end
  if seq > tonumber(mark) and (backlog or not learnt) then
    redis.call('ZADD', pend, redis.call('ZSCORE', born, sid), sid)
  elseif seq > tonumber(mark) then
    redis.call('HSET', st, 'watermark', int(seq))
    redis.call('HINCRBY', st, 'upd', 1) -- an update that was planned before would write the old watermark
  end
end
note(meta, 'sessions', {pend, born})
return redis.call('HGETALL', st)
