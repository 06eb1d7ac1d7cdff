-- Writes or removes a blob of a session, which need not exist.
-- ARGV: session id, now (microseconds), a nonce, name, "put" or "remove", data, the lives
-- it began in, the lists of the registry it was just entered in. Returns "ok", or what must be
-- entered in the registry first.
local meta, st, log, ids, blobs, pend, born, has, lives = unpack(KEYS)
local sid, name = ARGV[1], ARGV[4]
local kept = redis.call('HGET', has, sid)
local ends, seq = unpack(redis.call('HMGET', st, 'exp', 'seq'))
local expired = ends and tonumber(ends) <= tonumber(ARGV[2])
local state = not seq and '' or ends and 't' or 's'
local refused = forgotten(lives, ARGV[7], ARGV[2]) or lost(meta, 'sessions', {pend, born, has})
if not expired then refused = refused or lostBlobs(st, blobs, kept) end
if refused then return refused end
if ARGV[5] == 'remove' then
  if redis.call('HEXISTS', blobs, name) == 0 then return 'ok' end
  redis.call('HDEL', st, '') -- a server that is full lets a script go on that has removed something
  if redis.call('HLEN', blobs) == 1 then keep(has, sid, kept, state) end
  redis.call('HDEL', blobs, name)
  if redis.call('EXISTS', st, blobs) == 0 then redis.call('ZREM', born, sid) end
  note(meta, 'sessions', {pend, born, has})
  return 'ok'
end
refused = unregistered(meta, ARGV[8], ARGV[2], 'listed')
if refused then return refused end
if redis.call('HEXISTS', meta, 'inc') == 0 then redis.call('HSET', meta, 'inc', ARGV[3]) end
if expired then
  redis.call('HDEL', has, sid)
  redis.call('DEL', st, log, ids, blobs)
  redis.call('ZREM', pend, sid)
  kept, state = nil, ''
end
if state == '' and not redis.call('ZSCORE', born, sid) then enlist(meta, born, sid) end
redis.call('HSET', blobs, name, ARGV[6])
local left = redis.call('PTTL', st)
if left > 0 then redis.call('PEXPIRE', blobs, left) end
keep(has, sid, kept, state, true)
note(meta, 'sessions', {pend, born, has})
return 'ok'
