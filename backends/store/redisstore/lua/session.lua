-- What scripts begin with that look at a session: see sessions.go.

-- stateOf returns the fields of a session in the order of stateFields, and exp.
local function stateOf(st)
  return redis.call('HMGET', st, 'state', 'ver', 'seq', 'tokens', 'watermark', 'updated', 'expires', 'upd', 'exp')
end

-- lostOf returns an error if a session has lost its state or messages. kept: its entry of
-- T:has; seq: how many messages it has, if it is there; listed: how many of them in a list.
local function lostOf(st, log, ids, kept, seq, listed)
  if not seq then return (listed > 0 or string.find(kept or '', 's')) and incomplete(st) or nil end
  if listed > 0 then return listed < tonumber(seq) and incomplete(log) or nil end
  if kept or seq == '0' or redis.call('HEXISTS', st, seq) == 1 then return end
  return incomplete(redis.call('EXISTS', ids) == 1 and log or st)
end

local function append(list, ...)
  for _, text in ipairs({...}) do list[#list + 1] = text end
end

-- put adds two fields of a session to those that are to be written, and writes those of a
-- thousand messages.
local function put(st, fields, name, value, other, another)
  local n = #fields
  fields[n + 1], fields[n + 2], fields[n + 3], fields[n + 4] = name, value, other, another
  if n < 3996 then return end
  redis.call('HSET', st, unpack(fields))
  for i = #fields, 1, -1 do fields[i] = nil end
end

-- move brings the log of an earlier build, a list, into the hash of its session. A message
-- that half a write left there twice is there once then. While there is a list it counts.
local function move(st, log, ids)
  local all, n, tokens, learnt, fields, seen = redis.call('LRANGE', log, 0, -1), 0, 0, 0, {}, {}
  if #all == 0 then return end
  local mark, upd = unpack(redis.call('HMGET', st, 'watermark', 'upd'))
  for at, text in ipairs(all) do
    local readable, message = pcall(cjson.decode, text)
    local id = readable and message.id or nil
    if not id or not seen[id] then
      n = n + 1
      put(st, fields, int(n), text)
      if id then
        seen[id], tokens = true, tokens + (message.tokens or 0)
        put(st, fields, 'i:' .. id, int(n))
      end
    end
    if at <= tonumber(mark) then learnt = n end
  end
  if n < #all then append(fields, 'seq', int(n), 'tokens', int(tokens), 'watermark', int(learnt), 'upd', upd .. '.') end
  if #fields > 0 then redis.call('HSET', st, unpack(fields)) end
  redis.call('UNLINK', log, ids)
end

-- holds reports whether one of the first messages of a session has an id. Half a write
-- leaves ids behind whose places other messages have taken.
local function holds(st, first, id)
  local n = tonumber(redis.call('HGET', st, 'i:' .. id) or '')
  if not n or n > first then return false end
  local readable, message = pcall(cjson.decode, redis.call('HGET', st, int(n)) or '')
  return not readable or message.id == id
end

-- enlist gives a session the next number of its partition.
local function enlist(meta, born, sid)
  local n = int(tonumber(redis.call('HGET', meta, 'born') or '0') + 1)
  redis.call('HSET', meta, 'born', n)
  redis.call('ZADD', born, n, sid)
  return n
end

-- keep writes to T:has which keys a session has: s, or t if its time ends, and b for blobs.
-- It follows the writing of these keys.
local function keep(has, sid, kept, state, blobs)
  local now = state .. (blobs and 'b' or '')
  if now == (kept or '') then return end
  if now == '' then redis.call('HDEL', has, sid) else redis.call('HSET', has, sid, now) end
end

-- hasBlobs reports whether a session has blobs, also if they were lost. An earlier build kept
-- no entry of them.
local function hasBlobs(kept, blobs)
  if kept then return string.find(kept, 'b') end
  return redis.call('EXISTS', blobs) == 1
end

-- lostBlobs returns an error if a session has lost its blobs.
local function lostBlobs(st, blobs, kept)
  if not string.find(kept or '', 'b') or redis.call('EXISTS', blobs) == 1 then return end
  if string.find(kept, 't') and redis.call('EXISTS', st) == 0 then return end -- they ended together
  return incomplete(blobs)
end

