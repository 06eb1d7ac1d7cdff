-- Tries the commands that scripts write with, on a key that is not there before
-- nor after. Returns those that the user may not run: a script that meets one has
-- written half of what it was to write.
local key, forbidden = KEYS[1], {}
local function try(name, ...)
  local answer = redis.pcall(name, ...)
  local text = type(answer) == 'table' and answer.err or ''
  for _, words in ipairs({'permission', "can't run this command", 'NOPERM'}) do
    if string.find(text, words, 1, true) then
      forbidden[#forbidden + 1] = name
      return
    end
  end
end
try('EXISTS', key)
try('SADD', key, 'x') -- from here on the others find a set, and write nothing
try('HGET', key, 'x')
try('HMGET', key, 'x')
try('HGETALL', key)
try('HEXISTS', key, 'x')
try('HLEN', key)
try('HSET', key, 'x', 0)
try('HSETNX', key, 'x', 0)
try('HDEL', key, 'x')
try('HINCRBY', key, 'x', 0)
try('LINDEX', key, 0)
try('LLEN', key)
try('LTRIM', key, 0, -1)
try('RPUSH', key, 'x')
try('ZADD', key, 0, 'x')
try('ZCARD', key)
try('ZRANGE', key, 0, -1)
try('ZRANGEBYSCORE', key, 0, 1)
try('ZREM', key, 'x')
try('ZREMRANGEBYRANK', key, 0, -1)
try('ZSCORE', key, 'x')
try('PTTL', key)
try('PERSIST', key)
try('PEXPIRE', key, 1000)
try('DEL', key)
try('UNLINK', key)
return forbidden
