-- Replaces messages by what is left of them, if the session is as it was read.
-- ARGV: session id, now (microseconds), the lives it began in, the session's upd, now
-- (text), its state (JSON), what its tokens change by, a nonce, then the number and the text of
-- each message. Returns "ok" or "stale".
local meta, st, log, ids, blobs, pend, born, has, lives = unpack(KEYS)
local refused = forgotten(lives, ARGV[3], ARGV[2]) or lostOf(st, log, ids, redis.call('HGET', has, ARGV[1]), redis.call('HGET', st, 'seq'), redis.call('LLEN', log))
if refused then return refused end
redis.call('HDEL', st, '') -- a server that is full lets a script go on that has removed something
move(st, log, ids)
local upd, tokens, ver = unpack(redis.call('HMGET', st, 'upd', 'tokens', 'ver'))
if upd ~= ARGV[4] then return 'stale' end
local fields = {}
for i = 9, #ARGV, 2 do put(st, fields, ARGV[i], ARGV[i + 1]) end
append(fields, 'state', ARGV[6], 'updated', ARGV[5], 'tokens', int(tokens + ARGV[7]), 'upd', ARGV[8], 'ver', int(ver + 1))
redis.call('HSET', st, unpack(fields))
note(meta, 'sessions', {pend, born, has})
return 'ok'
