-- Replaces messages by what is left of them, if the session is as it was read.
-- ARGV: session id, now (microseconds), the lives it began in, the session's upd, now
-- (text), its state (JSON), what its tokens change by, then the index and the text of each message.
-- Returns "ok" or "stale".
local meta, st, log, ids, blobs, pend, born, lives = unpack(KEYS)
local refused = forgotten(lives, ARGV[3], ARGV[2]) or lostOf(st, log, ids)
if refused then return refused end
if redis.call('HGET', st, 'upd') ~= ARGV[4] then return 'stale' end
redis.call('HDEL', st, '') -- a server that is full lets a script go on that has removed something
for i = 8, #ARGV, 2 do redis.call('LSET', log, ARGV[i], ARGV[i + 1]) end
redis.call('HSET', st, 'state', ARGV[6], 'updated', ARGV[5])
redis.call('HINCRBY', st, 'tokens', ARGV[7])
for _, field in ipairs({'upd', 'ver'}) do redis.call('HINCRBY', st, field, 1) end
return 'ok'
