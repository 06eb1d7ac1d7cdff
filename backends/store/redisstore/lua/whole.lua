-- What scripts begin with that look whether a partition has lost a key: see whole.go.

local counting = {rec = 'HLEN', vec = 'HLEN', chg = 'ZCARD', del = 'ZCARD', his = 'HLEN', idem = 'HLEN', idemt = 'ZCARD',
  tips = 'LLEN', pend = 'ZCARD', born = 'ZCARD'}

local function incomplete(key) return redis.error_reply('INCOMPLETE ' .. key) end

local function sizes(keys)
  local out = {}
  for i, key in ipairs(keys) do out[i] = redis.call(counting[string.match(key, '%a+$')], key) end
  return out
end

-- lost returns an error if one of the keys has not the size that T:meta has in a field.
local function lost(meta, field, keys)
  local known, at = redis.call('HGET', meta, field), {}
  if not known and redis.call('HEXISTS', meta, 'inc') == 1 then return end -- an earlier build wrote it last
  for n in string.gmatch(known or '', '%d+') do at[#at + 1] = tonumber(n) end
  for i, n in ipairs(sizes(keys)) do
    if n ~= (at[i] or 0) then return incomplete(known and keys[i] or meta) end
  end
end

-- note writes the sizes of the keys to a field of T:meta.
local function note(meta, field, keys) redis.call('HSET', meta, field, table.concat(sizes(keys), ' ')) end

-- lostOf returns an error if a session that is not expired has lost a key.
local function lostOf(st, log, ids)
  local seq = tonumber(redis.call('HGET', st, 'seq') or '')
  if not seq then return redis.call('EXISTS', log, ids) > 0 and incomplete(st) or nil end
  if redis.call('LLEN', log) ~= seq then return incomplete(log) end
  if redis.call('SCARD', ids) ~= seq then return incomplete(ids) end
end

