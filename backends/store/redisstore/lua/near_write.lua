-- Writes changes to the index of a partition, if the lease is the caller's and the
-- index is still what the changes were worked out for.
-- ARGV: owner of the lease, its length (milliseconds), name of the index, its cursor,
-- quantisation, M, EF; the next cursor and the version it stands for, or "" when more is
-- to come before that; "release" to give the lease back; then for each change: what to
-- do ("add", "leave": it has a vector that cannot be used, "drop"), memory id, the version it
-- was read at (0: deleted), hash of the vector, vector. Returns {"ok", elements, live ones},
-- {"lost"}, or {"failed", error} when the server refused one; what came before it is done.
--
-- An element is called <hash>:<memory id>, so that another vector is another element, and
-- state[e:<memory id>] is the hash of the one that counts; "-<hash>" where it was left out.
-- An element is never updated, and one of the top level of the graph is never removed: it
-- may be the graph's entry point, whose removal crashes servers. It stays without counting.
local meta, chg, near, state = unpack(KEYS)
local owner, name, cursor, live, inc, space = unpack(redis.call('HMGET', state, 'owner', 'name', 'cursor', 'live', 'inc', 'space'))
local isInc, isSpace = unpack(redis.call('HMGET', meta, 'inc', 'space'))
if owner ~= ARGV[1] or name ~= ARGV[3] or cursor ~= ARGV[4] or inc ~= isInc or space ~= isSpace then return {'lost'} end
live = tonumber(live)

local top
local function removable(element)
  local links = redis.call('VLINKS', near, element) -- by level
  if not links then return false end
  if not top then
    top = 0
    local info = redis.call('VINFO', near)
    for i = 1, #info, 2 do
      local field = type(info[i]) == 'table' and info[i].ok or info[i] -- it comes as a status
      if field == 'max-level' then top = tonumber(info[i + 1]) end
    end
  end
  return #links - 1 < top
end

local function drop(id)
  local hash = redis.call('HGET', state, 'e:' .. id)
  if not hash then return end
  redis.call('HDEL', state, 'e:' .. id)
  if hash:sub(1, 1) == '-' then return end
  live = live - 1
  local element = hash .. ':' .. id
  if live == 0 then
    redis.call('UNLINK', near)
    top = nil
  elseif removable(element) then
    redis.call('VREM', near, element)
  end
end

local failed
for i = 11, #ARGV, 5 do
  local what, id, version, hash = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  if tonumber(redis.call('ZSCORE', chg, id) or '0') == version then -- else it changed since, and comes again
    local has = redis.call('HGET', state, 'e:' .. id)
    if what == 'drop' then
      drop(id)
    elseif what == 'leave' then
      drop(id)
      redis.call('HSET', state, 'e:' .. id, '-' .. hash)
    elseif has ~= hash then
      drop(id)
      local element = hash .. ':' .. id
      if not redis.call('VLINKS', near, element) then
        local done = redis.pcall('VADD', near, 'FP32', ARGV[i + 4], element, ARGV[5], 'EF', ARGV[7], 'M', ARGV[6])
        if type(done) == 'table' then
          failed = done.err
          break
        end
      end
      redis.call('HSET', state, 'e:' .. id, hash)
      live = live + 1
    end
  end
end
local card = redis.call('VCARD', near)
redis.call('HSET', state, 'live', live, 'card', card)
if failed then return {'failed', failed} end
if ARGV[8] ~= '' then redis.call('HSET', state, 'cursor', ARGV[8], 'ver', ARGV[9]) end
if ARGV[10] ~= '' then
  redis.call('HDEL', state, 'owner', 'ends')
else
  local t = redis.call('TIME')
  redis.call('HSET', state, 'ends', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[2]))
end
return {'ok', card, live}
