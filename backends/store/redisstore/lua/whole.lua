-- What scripts begin with that look whether a partition has lost a key: see whole.go.

local function incomplete(key) return redis.error_reply('INCOMPLETE ' .. key) end

-- which returns a 1 or a 0 for each of the keys.
local function which(keys)
  local out = {}
  for i, key in ipairs(keys) do out[i] = redis.call('EXISTS', key) end
  return table.concat(out)
end

local noted = {} -- the fields of T:meta, as lost has read them

-- lost returns an error if not those of the keys are there that T:meta has in a field.
local function lost(meta, field, keys)
  local known, n = redis.call('HGET', meta, field), redis.call('EXISTS', unpack(keys))
  noted[field] = known
  if not known then -- if there is more, an earlier build wrote it last
    return n > 0 and redis.call('HEXISTS', meta, 'inc') == 0 and incomplete(meta) or nil
  end
  if n == select(2, string.gsub(known, '1', '')) then return end
  local now = which(keys)
  for i, key in ipairs(keys) do
    if string.byte(now, i) ~= string.byte(known, i) then return incomplete(key) end
  end
end

-- note writes to a field of T:meta which of the keys are there.
local function note(meta, field, keys)
  local now = which(keys)
  if now ~= noted[field] then redis.call('HSET', meta, field, now) end
end

-- lostOf returns an error if a session that is not expired has lost a key.
local function lostOf(st, log, ids)
  local seq = tonumber(redis.call('HGET', st, 'seq') or '')
  if not seq then return redis.call('EXISTS', log, ids) > 0 and incomplete(st) or nil end
  if redis.call('LLEN', log) ~= seq then return incomplete(log) end
  if redis.call('SCARD', ids) ~= seq then return incomplete(ids) end
end

