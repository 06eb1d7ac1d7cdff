-- Takes a partition without pending messages off the list of work, if it has
-- been there for long. ARGV: the time before which it must have been entered
-- (microseconds). Returns 1 when it is to be taken off.
local meta, pend = unpack(KEYS)
local since = redis.call('HGET', meta, 'work')
if redis.call('EXISTS', pend) == 1 or (since and tonumber(since) > tonumber(ARGV[1])) then return 0 end
redis.call('HDEL', meta, 'work')
return 1
