-- Writes or removes a blob of a session, which need not exist.
-- ARGV: session id, now (microseconds), a nonce for a new partition or "", name,
-- "put" or "remove", data, the lives it began in. Returns "ok", "forgotten", or
-- "unregistered": the partition must be entered in the registry first.
local meta, st, log, ids, blobs, sess, pend, born, lives = unpack(KEYS)
local sid = ARGV[1]
if forgotten(lives, ARGV[7], ARGV[2]) then return 'forgotten' end
if ARGV[5] == 'remove' then
  redis.call('HDEL', blobs, ARGV[4])
  if redis.call('EXISTS', st, blobs) == 0 then redis.call('ZREM', born, sid) end
  return 'ok'
end
if redis.call('HEXISTS', meta, 'inc') == 0 then
  if ARGV[3] == '' then return 'unregistered' end
  redis.call('HSET', meta, 'inc', ARGV[3])
end
local ends = tonumber(redis.call('HGET', st, 'exp') or '')
if ends and ends <= tonumber(ARGV[2]) then
  redis.call('DEL', st, log, ids, blobs)
  redis.call('ZREM', sess, sid)
  redis.call('ZREM', pend, sid)
end
if redis.call('EXISTS', st) == 0 and not redis.call('ZSCORE', born, sid) then
  redis.call('ZADD', born, redis.call('HINCRBY', meta, 'born', 1), sid)
end
redis.call('HSET', blobs, ARGV[4], ARGV[6])
local left = redis.call('PTTL', st)
if left > 0 then redis.call('PEXPIRE', blobs, left) end
return 'ok'
