-- Adds messages to a log that is being imported, once: a repeat finds it longer.
-- ARGV: how long it must be, the messages.
if redis.call('LLEN', KEYS[1]) ~= tonumber(ARGV[1]) then return 0 end
for i = 2, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
return 1
