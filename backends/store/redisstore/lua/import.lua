-- Makes what was imported into keys of its own the partition, which must hold nothing.
-- KEYS: the 14 of the partition, the 14 that were imported, then for each session
-- its 4 keys and the 4 that were imported. ARGV: the life, a nonce or "" at version 0,
-- how many entries each of the keys 2 to 8 and 12 to 14 must have, the number of
-- fields of T:meta, these with their values, then for each session how many messages
-- and blobs it must have and the milliseconds that it has to live or "".
-- Returns {"ok"}, {"holds"} for a partition that is not empty, or {"lost", key, has, wants}.
local real, staged, session = 0, 14, 28
local at = 2
local function arg() at = at + 1; return ARGV[at] end
local function size(key)
  local kind = redis.call('TYPE', key)
  kind = type(kind) == 'table' and kind.ok or kind
  local count = ({hash = 'HLEN', zset = 'ZCARD', list = 'LLEN', set = 'SCARD'})[kind]
  return count and redis.call(count, key) or 0
end
local function wrong(key, wants)
  local has = size(key)
  if has ~= tonumber(wants) then return {'lost', key, has, tonumber(wants)} end
end
local function move(from, to, left)
  if redis.call('EXISTS', from) == 0 then return redis.call('DEL', to) end
  redis.call('RENAME', from, to)
  if left ~= '' then redis.call('PEXPIRE', to, left) else redis.call('PERSIST', to) end
end

if redis.call('HGET', KEYS[1], 'inc') == ARGV[1] then return {'ok'} end -- a repeat
local content = {2, 3, 4, 5, 6, 7, 8, 12, 13, 14}
for _, i in ipairs(content) do
  if redis.call('EXISTS', KEYS[i]) == 1 then return {'holds'} end
end
for _, i in ipairs(content) do
  local bad = wrong(KEYS[staged + i], arg())
  if bad then return bad end
end
local fields = {}
for i = 1, 2 * tonumber(arg()) do fields[i] = arg() end
local sessions = at
for i = session + 1, #KEYS, 8 do
  local messages, blobs = arg(), arg()
  arg()
  local bad = wrong(KEYS[i + 5], messages) or wrong(KEYS[i + 6], messages) or wrong(KEYS[i + 7], blobs)
  if bad then return bad end
end

at = sessions
for i = session + 1, #KEYS, 8 do
  at = at + 2
  local left = arg()
  for n = 0, 3 do move(KEYS[i + 4 + n], KEYS[i + n], left) end
end
for i = 2, 14 do
  if i ~= 9 then move(KEYS[staged + i], KEYS[i], '') end
end
redis.call('DEL', KEYS[9], KEYS[1])
if ARGV[2] ~= '' then redis.call('RPUSH', KEYS[9], ARGV[2]) end
redis.call('HSET', KEYS[1], 'inc', ARGV[1], unpack(fields))
return {'ok'}
