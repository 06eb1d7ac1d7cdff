-- What scripts begin with that look whether a partition has lost a key: see whole.go.

local function int(n) return string.format('%.0f', n) end

local function incomplete(key) return redis.error_reply('INCOMPLETE ' .. key) end

-- which returns a 1 or a 0 for each of the keys.
local function which(keys)
  local out = {}
  for i, key in ipairs(keys) do out[i] = redis.call('EXISTS', key) end
  return table.concat(out)
end

-- lost returns an error if a key is missing that T:meta has in a field. One more than it has
-- comes from half a write.
local function lost(meta, field, keys)
  local known, must = redis.call('HGET', meta, field), {}
  if not known then -- if there is one, an earlier build wrote it last
    local n = redis.call('EXISTS', unpack(keys))
    return n > 0 and redis.call('HEXISTS', meta, 'inc') == 0 and incomplete(meta) or nil
  end
  for i, key in ipairs(keys) do
    if string.sub(known, i, i) == '1' then must[#must + 1] = key end
  end
  if #must == 0 or redis.call('EXISTS', unpack(must)) == #must then return end
  for _, key in ipairs(must) do
    if redis.call('EXISTS', key) == 0 then return incomplete(key) end
  end
end

-- note writes to a field of T:meta which of the keys are there. It writes always: Redis
-- brackets the two commands of a script in its file, but not one alone, and what follows
-- half a transaction there and is not bracketed is cut off with it.
local function note(meta, field, keys) redis.call('HSET', meta, field, which(keys)) end

