-- Compares a page of the records, or of the change log, with each other.
-- KEYS: the first 10 of the partition. ARGV: "HSCAN" for the records or "ZSCAN"
-- for the change log, a cursor, two nonces to rewrite what differs and begin a new
-- life of the partition, or none. Returns the next cursor, and keys, ids and texts.
local meta, rec, vec, chg, del, his, idem, idemt, tips, tip = unpack(KEYS)
local life, wrong = ARGV[3], {}
local function report(...) for _, text in ipairs({...}) do wrong[#wrong + 1] = text end end
local drift = lost(meta, 'records', {unpack(KEYS, 2, 10)})
if drift then report(string.match(drift.err, 'INCOMPLETE (%S+)'), '', 'it is missing, or entries of it are') end
local function compare(key, id, want)
  local has = tonumber(redis.call('ZSCORE', key, id) or '')
  if has == want then return end
  report(key, id, string.format('the version is %s, the record has %s', has or 'none', want or 'none'))
  if life and want then redis.call('ZADD', key, want, id) elseif life then redis.call('ZREM', key, id) end
end
local page = redis.call(ARGV[1], ARGV[1] == 'HSCAN' and rec or chg, ARGV[2], 'COUNT', 200)
for i = 1, #page[2], 2 do
  local record = redis.call('HGET', rec, page[2][i])
  local version = tonumber(string.match(record or '', '^(%d+) ') or '')
  if version or not record then compare(chg, page[2][i], version) end
  if record then compare(del, page[2][i], nil) end
end
local inc, ver = unpack(redis.call('HMGET', meta, 'inc', 'ver'))
if not inc and redis.call('EXISTS', rec, chg) == 0 then return {page[1], wrong} end
local top = tonumber(ver or '') or 0
for _, key in ipairs({chg, del}) do top = math.max(top, tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or '') or 0) end
if not inc then report(meta, 'inc', 'it is missing: readers find nothing') end
if tonumber(ver or '0') ~= top then report(meta, 'ver', 'it is below the versions of the records') end
if top > 0 and redis.call('EXISTS', tips, tip) == 0 then report(tip, '', 'it is missing: readers cannot go on') end
if life then
  redis.call('HSET', meta, 'inc', life, 'ver', int(top))
  if top > 0 then redis.call('HSET', tip, chunk(top), int(top) .. '=' .. ARGV[4] .. ' ') end
  redis.call('UNLINK', tips)
  note(meta, 'records', {unpack(KEYS, 2, 10)})
end
return {page[1], wrong}
