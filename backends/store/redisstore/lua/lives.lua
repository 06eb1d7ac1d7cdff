-- What scripts begin with that look at T:lives.

-- forgotten returns an error if one of the lives that an operation began in has ended.
-- begun: "<field>=<life>," for each of them; now: microseconds.
local function forgotten(lives, begun, now)
  for field, life in string.gmatch(begun, '([^=]*)=([^,]*),') do
    local current, ends = string.match(redis.call('HGET', lives, field) or '', '^(%S+) (%d+)$')
    if current and current ~= life and tonumber(ends) > tonumber(now) then return redis.error_reply('FORGOTTEN') end
  end
end

-- begin writes a life that is known until ends, and removes those that are not any more.
-- A server that is full lets a script go on that has removed something, or tried to.
local function begin(lives, field, life, now, ends)
  redis.call('HDEL', lives, '?')
  local all = redis.call('HGETALL', lives)
  for i = 1, #all, 2 do
    if tonumber(string.match(all[i + 1], ' (%d+)$') or '0') <= tonumber(now) then redis.call('HDEL', lives, all[i]) end
  end
  redis.call('HSET', lives, field, life .. ' ' .. ends)
  redis.call('PEXPIRE', lives, string.format('%.0f', math.ceil((tonumber(ends) - tonumber(now)) / 1000)))
end

