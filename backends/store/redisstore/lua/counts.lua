-- Counts what a partition holds, in no time. KEYS: all of the partition.
-- ARGV: how many sessions to name. Returns the sizes of T:rec, T:chg, T:vec, T:idem,
-- T:idemt, T:sess, T:pend and T:born, the version, the highest version in T:chg, the
-- number of nonces, 1 if the partition has a life, and the names of the pending
-- sessions that changed the longest ago.
local meta, rec, vec, chg, _, _, idem, idemt, tips, _, _, sess, pend, born = unpack(KEYS)
local inc, ver = unpack(redis.call('HMGET', meta, 'inc', 'ver'))
local last = redis.call('ZREVRANGE', chg, 0, 0, 'WITHSCORES')[2]
return {redis.call('HLEN', rec), redis.call('ZCARD', chg), redis.call('HLEN', vec), redis.call('HLEN', idem), redis.call('ZCARD', idemt),
  redis.call('ZCARD', sess), redis.call('ZCARD', pend), redis.call('ZCARD', born), tonumber(ver or '') or 0, tonumber(last or '') or 0,
  redis.call('LLEN', tips), inc and 1 or 0, redis.call('ZRANGE', pend, 0, tonumber(ARGV[1]) - 1)}
