-- Takes sessions that the server removed, because their time was over, off the
-- indexes of the partition.
-- KEYS: T:sess, T:pend, T:born, then the state and the blobs of each session.
-- ARGV: their ids.
local sess, pend, born = KEYS[1], KEYS[2], KEYS[3]
for i, id in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[2 + 2 * i]) == 0 then
    redis.call('ZREM', sess, id)
    redis.call('ZREM', pend, id)
    if redis.call('EXISTS', KEYS[3 + 2 * i]) == 0 then redis.call('ZREM', born, id) end
  end
end
return 'ok'
