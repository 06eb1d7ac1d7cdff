-- Erases sessions and, if asked to and no other session is left, the partition.
-- KEYS: the 13 of the partition, T:sess of earlier builds, T:lives, then 4 of each session. ARGV: now (microseconds),
-- "all" to erase the partition or "", a life that begins or "", its end (microseconds), the
-- session ids. Returns {"ok" or "more",
-- records, sessions, messages, blobs}: "more" when other sessions are left.
local now = tonumber(ARGV[1])
local chg, del, pend, born, has = KEYS[4], KEYS[5], KEYS[11], KEYS[12], KEYS[13]
local sessions, messages, blobs = 0, 0, 0
if ARGV[3] ~= '' then begin(KEYS[15], '', ARGV[3], now, ARGV[4]) end
for i = 5, #ARGV do
  local at = 16 + (i - 5) * 4
  local ends, seq = unpack(redis.call('HMGET', KEYS[at], 'exp', 'seq'))
  if not ends or tonumber(ends) > now then -- an expired session counts as gone
    if seq then sessions, messages = sessions + 1, messages + seq end
    blobs = blobs + redis.call('HLEN', KEYS[at + 3])
  end
  redis.call('HDEL', has, ARGV[i])
  redis.call('UNLINK', KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3])
  for _, index in ipairs({pend, born}) do redis.call('ZREM', index, ARGV[i]) end
end
redis.call('UNLINK', KEYS[14])
if redis.call('EXISTS', KEYS[1]) == 1 then note(KEYS[1], 'sessions', {pend, born, has}) end
if ARGV[2] ~= 'all' or redis.call('ZCARD', born) > 0 then return {'more', 0, sessions, messages, blobs} end
local records = redis.call('ZCARD', chg) + redis.call('ZCARD', del)
redis.call('UNLINK', unpack(KEYS, 1, 13))
return {'ok', records, sessions, messages, blobs}
