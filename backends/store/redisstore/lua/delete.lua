-- Removes a session with its messages and blobs. ARGV: session id.
local st, log, ids, blobs, sess, pend, born = unpack(KEYS)
redis.call('UNLINK', st, log, ids, blobs)
for _, index in ipairs({sess, pend, born}) do redis.call('ZREM', index, ARGV[1]) end
return 'ok'
