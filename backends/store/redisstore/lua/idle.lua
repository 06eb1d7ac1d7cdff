-- Takes a partition without pending messages off the work queue, if it was entered
-- before ARGV[1] (microseconds). Returns 1 when the entry is to be removed.
local meta, pend = unpack(KEYS)
local since = redis.call('HGET', meta, 'work')
if redis.call('EXISTS', pend) == 1 or (since and tonumber(since) > tonumber(ARGV[1])) then return 0 end
redis.call('HDEL', meta, 'work')
return 1
