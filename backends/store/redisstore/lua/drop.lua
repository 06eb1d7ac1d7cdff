-- Erases sessions of a partition and, when they are all it has, the partition.
-- KEYS: the 14 of the partition, then 4 of each session. ARGV: now
-- (microseconds), the session ids. Returns {"ok" or "more", records,
-- sessions, messages, blobs}: "more" when there are other sessions.
local now = tonumber(ARGV[1])
local chg, del, sess, pend, born = KEYS[4], KEYS[5], KEYS[12], KEYS[13], KEYS[14]
local sessions, messages, blobs, records = 0, 0, 0, 0
for i = 2, #ARGV do
  local at = 15 + (i - 2) * 4
  local ends = tonumber(redis.call('HGET', KEYS[at], 'exp') or '')
  if not ends or ends > now then -- what is expired is gone already
    if redis.call('EXISTS', KEYS[at]) == 1 then
      sessions = sessions + 1
      messages = messages + redis.call('LLEN', KEYS[at + 1])
    end
    blobs = blobs + redis.call('HLEN', KEYS[at + 3])
  end
  redis.call('UNLINK', KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3])
  for _, index in ipairs({sess, pend, born}) do redis.call('ZREM', index, ARGV[i]) end
end
local word = 'more'
if redis.call('ZCARD', born) == 0 then
  word, records = 'ok', redis.call('ZCARD', chg) + redis.call('ZCARD', del)
  redis.call('UNLINK', unpack(KEYS, 1, 14))
end
return {word, records, sessions, messages, blobs}
