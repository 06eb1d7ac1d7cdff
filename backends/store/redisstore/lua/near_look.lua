-- Looks at the index of a partition and, when it is behind by no more than the
-- caller is ready to do, takes the lease to bring it up to date; an index that does
-- not fit the partition is emptied first.
-- ARGV: format, quantisation, owner of the lease, its length (milliseconds), how
-- many changes the caller is ready to do, name of a new index. Returns
--   {version of the server, what VCARD said}: it has no vector sets
--   {version of the server}: there is nothing to index
--   {version, inc, version of the partition, space, elements, live elements, name of the
--    index, version that it has reached, cursor, changes to do, what others' lease has
--    left (milliseconds), 1 if the caller has the lease}
local meta, chg, del, near, state = unpack(KEYS)
local server = redis.REDIS_VERSION or ''
local card = redis.pcall('VCARD', near)
if type(card) == 'table' then return {server, card.err} end
local inc, ver, space, floor = unpack(redis.call('HMGET', meta, 'inc', 'ver', 'space', 'floor'))
if not inc or not space then return {server} end
local function int(n) return string.format('%.0f', n) end
local function num(text) return tonumber(text or '') or 0 end

local format, quant, isInc, isSpace, isCard, isLive, name, at, cursor, owner, ends = unpack(redis.call('HMGET', state,
  'format', 'quant', 'inc', 'space', 'card', 'live', 'name', 'ver', 'cursor', 'owner', 'ends'))
local live, version = num(isLive), num(ver)
at = num(at)
local fits = format == ARGV[1] and quant == ARGV[2] and isInc == inc and isSpace == space and num(isCard) == card and at <= version
  and (at == 0 or at >= num(floor)) and card - live <= 64 + live / 4
if not fits then name, at, cursor = '', 0, '' end

local todo = 0
if at < version or not fits then
  local after = '(' .. int(at)
  todo = redis.call('ZCOUNT', chg, after, '+inf')
  if at > 0 then todo = todo + redis.call('ZCOUNT', del, after, '+inf') end
end
local t = redis.call('TIME')
local now, left, mine = t[1] * 1000 + math.floor(t[2] / 1000), 0, 0
if owner and owner ~= ARGV[3] then left = math.max(0, num(ends) - now) end
if left == 0 and todo <= tonumber(ARGV[5]) and (at < version or not fits) then
  mine = 1
  if not fits then
    redis.call('UNLINK', near, state)
    card, live, name = 0, 0, ARGV[6]
    redis.call('HSET', state, 'format', ARGV[1], 'quant', ARGV[2], 'inc', inc, 'space', space, 'card', 0, 'live', 0,
      'name', name, 'ver', 0, 'cursor', '')
  end
  redis.call('HSET', state, 'owner', ARGV[3], 'ends', int(now + ARGV[4]))
end
return {server, inc, int(version), space, card, live, name, int(at), cursor, todo, int(left), mine}
