-- Gives the lease of an index back. ARGV: its owner.
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then redis.call('HDEL', KEYS[1], 'owner', 'ends') end
return 1
