-- What scripts begin with that write what the registry must list: see registry.go.

-- unregistered returns the answer that asks for entries in lists, or nil if they are there.
-- made: the lists in which entries were just made; now: microseconds. A script that gets
-- nil must write.
local function unregistered(meta, made, now, ...)
  local answer = {'unregistered'}
  for _, list in ipairs({...}) do
    if not string.find(made, list, 1, true) then
      local since = tonumber(redis.call('HGET', meta, list) or '')
      if not since or math.abs(now - since) >= 60000000 then answer[#answer + 1] = list end
    end
  end
  if #answer > 1 then return answer end
  for list in string.gmatch(made, '%a+') do redis.call('HSET', meta, list, now) end
end

