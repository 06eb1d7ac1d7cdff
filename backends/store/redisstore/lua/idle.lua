-- Takes a partition without pending messages off the work queue, if T:meta has still
-- ARGV[1]. Returns 1 when its entries are dead.
local meta, pend = unpack(KEYS)
if redis.call('EXISTS', pend) == 1 or redis.call('HGET', meta, 'waiting') ~= ARGV[1] then return 0 end
return redis.call('HDEL', meta, 'waiting')
