-- What scripts begin with that look at T:tip: the nonces of the newest versions, those of 32
-- in each field, as "<version>=<nonce> ".

local function chunk(version) return int(math.floor(version / 32)) end

local function nonceOf(tip, version)
  return string.match(' ' .. (redis.call('HGET', tip, chunk(version)) or ''), ' ' .. int(version) .. '=(%S+)')
end

-- addNonce writes the nonce of the next version, and cuts off those before the last thousand.
-- jumped: versions were left out.
local function addNonce(tip, version, nonce, jumped)
  local before = version % 32 == 0 and '' or redis.call('HGET', tip, chunk(version)) or ''
  redis.call('HSET', tip, chunk(version), before .. int(version) .. '=' .. nonce .. ' ')
  if before == '' then redis.call('HDEL', tip, chunk(version - 1056)) end
  for _, old in ipairs(jumped and redis.call('HKEYS', tip) or {}) do
    if tonumber(old) < version / 32 - 33 then redis.call('HDEL', tip, old) end
  end
end

