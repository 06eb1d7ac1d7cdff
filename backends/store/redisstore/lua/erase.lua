-- Erases sessions and, if asked to and no other session is left, the partition.
-- KEYS: the 11 of the partition, T:sess of earlier builds, T:lives, then 4 of each session. ARGV: now (microseconds),
-- "all" to erase the partition or "", a life that begins or "", its end (microseconds), the
-- session ids. Returns {"ok" or "more",
-- records, sessions, messages, blobs}: "more" when other sessions are left.
local now = tonumber(ARGV[1])
local chg, del, pend, born = KEYS[4], KEYS[5], KEYS[10], KEYS[11]
local sessions, messages, blobs = 0, 0, 0
if ARGV[3] ~= '' then begin(KEYS[13], '', ARGV[3], now, ARGV[4]) end
for i = 5, #ARGV do
  local at = 14 + (i - 5) * 4
  local ends = tonumber(redis.call('HGET', KEYS[at], 'exp') or '')
  if not ends or ends > now then -- an expired session counts as gone
    if redis.call('EXISTS', KEYS[at]) == 1 then
      sessions = sessions + 1
      messages = messages + redis.call('LLEN', KEYS[at + 1])
    end
    blobs = blobs + redis.call('HLEN', KEYS[at + 3])
  end
  redis.call('UNLINK', KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3])
  for _, index in ipairs({pend, born}) do redis.call('ZREM', index, ARGV[i]) end
end
redis.call('UNLINK', KEYS[12])
if redis.call('EXISTS', KEYS[1]) == 1 then note(KEYS[1], 'sessions', {pend, born}) end
if ARGV[2] ~= 'all' or redis.call('ZCARD', born) > 0 then return {'more', 0, sessions, messages, blobs} end
local records = redis.call('ZCARD', chg) + redis.call('ZCARD', del)
redis.call('UNLINK', unpack(KEYS, 1, 11))
return {'ok', records, sessions, messages, blobs}
