-- Reads a page of what changed in a partition.
-- ARGV: the cursor's inc, version, version of its nonce and nonce; page size; how
-- many records the script may return itself. Returns nothing for a partition that
-- does not exist, else {inc, version, space, nonce, reset, end of the page, removed
-- ids, ids, their versions, records, vectors}; the last two are empty when the page
-- has too many records: they are read by other commands.
local meta, rec, vec, chg, del, his, idem, idemt, tips, tip = unpack(KEYS)
local refused = lost(meta, 'records', {unpack(KEYS, 2, 10)})
if refused then return refused end
local inc, ver, space, floor = unpack(redis.call('HMGET', meta, 'inc', 'ver', 'space', 'floor'))
if not inc then return {} end
local version, since = tonumber(ver or '0'), tonumber(ARGV[2])
-- nonce returns that of a version: earlier builds have them in a list.
local function nonce(of)
  if redis.call('EXISTS', tips) == 0 then return nonceOf(tip, of) end
  return redis.call('LINDEX', tips, int(of - version - 1))
end
local reset = 0
if ARGV[1] ~= '' then
  local seen = tonumber(ARGV[3])
  if ARGV[1] ~= inc or seen > version or (since > 0 and since < tonumber(floor or '0')) then
    reset = 1
  elseif seen > 0 and nonce(seen) ~= ARGV[4] then
    reset = 1
  end
end
if reset == 1 then since = 0 end
local stop, ids, versions, removed, records, vectors = version, {}, {}, {}, {}, {}
if since < version then
  local page, after = tonumber(ARGV[5]), '(' .. int(since)
  for _, index in ipairs({chg, del}) do
    if index == chg or since > 0 then
      local last = redis.call('ZRANGEBYSCORE', index, after, '+inf', 'WITHSCORES', 'LIMIT', page - 1, 1)
      if last[2] then stop = math.min(stop, tonumber(last[2])) end
    end
  end
  local both = redis.call('ZRANGEBYSCORE', chg, after, int(stop), 'WITHSCORES')
  for i = 1, #both, 2 do
    ids[#ids + 1], versions[#versions + 1] = both[i], both[i + 1]
  end
  if since > 0 then removed = redis.call('ZRANGEBYSCORE', del, after, int(stop)) end
  if #ids > 0 and #ids <= tonumber(ARGV[6]) then
    records, vectors = redis.call('HMGET', rec, unpack(ids)), redis.call('HMGET', vec, unpack(ids))
  end
end
return {inc, int(version), space or '', nonce(version) or '', reset, int(stop), removed, ids, versions, records, vectors}
