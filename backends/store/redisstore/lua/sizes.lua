-- Reads how long the values of some fields of a hash are, without the values.
-- ARGV: the fields. Returns the length of each, -1 for one that does not exist.
local sizes = {}
for i, field in ipairs(ARGV) do
  sizes[i] = redis.call('HSTRLEN', KEYS[1], field)
  if sizes[i] == 0 and redis.call('HEXISTS', KEYS[1], field) == 0 then sizes[i] = -1 end
end
return sizes
