-- Writes or removes a blob of a session, which need not exist.
-- ARGV: session id, now (microseconds), a nonce, name, "put" or "remove", data, the lives
-- it began in, the lists of the registry it was just entered in. Returns "ok", or what must be
-- entered in the registry first.
local meta, st, log, ids, blobs, pend, born, lives = unpack(KEYS)
local sid = ARGV[1]
local refused = forgotten(lives, ARGV[7], ARGV[2]) or lost(meta, 'sessions', {pend, born})
if refused then return refused end
if ARGV[5] == 'remove' then
  redis.call('HDEL', blobs, ARGV[4])
  if redis.call('EXISTS', st, blobs) == 0 and redis.call('ZREM', born, sid) == 1 then note(meta, 'sessions', {pend, born}) end
  return 'ok'
end
refused = unregistered(meta, ARGV[8], ARGV[2], 'listed')
if refused then return refused end
redis.call('HSETNX', meta, 'inc', ARGV[3])
local ends = tonumber(redis.call('HGET', st, 'exp') or '')
if ends and ends <= tonumber(ARGV[2]) then
  redis.call('DEL', st, log, ids, blobs)
  redis.call('ZREM', pend, sid)
end
if redis.call('EXISTS', st) == 0 and not redis.call('ZSCORE', born, sid) then
  redis.call('ZADD', born, redis.call('HINCRBY', meta, 'born', 1), sid)
end
note(meta, 'sessions', {pend, born})
redis.call('HSET', blobs, ARGV[4], ARGV[6])
local left = redis.call('PTTL', st)
if left > 0 then redis.call('PEXPIRE', blobs, left) end
return 'ok'
