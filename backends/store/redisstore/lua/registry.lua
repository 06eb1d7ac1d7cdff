-- What scripts begin with that write what the registry must list: see registry.go.

-- unregistered returns the answer that asks for entries in lists, or nil if T:meta names
-- the partition's own. made: "<list>=<generation>," for entries that were just made; fresh:
-- a new generation; now: microseconds. A script that gets nil must write.
local function unregistered(meta, enter, made, fresh, now, ...)
  local drawn, given, answer, own = redis.call('HGET', enter, 'gen'), {}, {'unregistered'}, {}
  for list, gen in string.gmatch(made, '(%w+)=([^,]*),') do given[list] = gen end
  for _, list in ipairs({...}) do
    local gen, since = string.match(redis.call('HGET', meta, list) or '', '^(%S+) (%d+)$')
    if not gen then
      gen = drawn or fresh
      if not drawn and given[list] ~= gen then
        drawn = fresh
        redis.call('HSET', enter, 'gen', fresh)
        redis.call('PEXPIRE', enter, 3600000)
      end
    end
    if given[list] == gen then
      own[#own + 1] = list
    elseif not since or math.abs(now - since) >= 60000000 then
      answer[#answer + 1], answer[#answer + 2] = list, gen
    end
  end
  if #answer > 1 then return answer end
  for _, list in ipairs(own) do redis.call('HSET', meta, list, given[list] .. ' ' .. now) end
  if #own > 0 then redis.call('DEL', enter) end
end

