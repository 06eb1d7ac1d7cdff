-- Appends messages to a session, each once, and creates the session if need be.
-- ARGV: session id, now (microseconds), now (text), time to live (microseconds, 0: no
-- change), its end (text), a nonce, the lists of the registry it was just entered in, the lives that
-- it began in, the state of a new session (JSON), "1" if there is nothing to learn from the
-- messages or "", then for each message: id, tokens, JSON.
-- Returns the session's fields, or what must be entered in the registry first.
local meta, st, log, ids, blobs, pend, born, has, lives = unpack(KEYS)
local sid, now, life, nonce = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), ARGV[6]
local learnt = ARGV[10] ~= ''
local kept, inc = redis.call('HGET', has, sid), redis.call('HEXISTS', meta, 'inc') == 1
local before, listed = stateOf(st), redis.call('LLEN', log)
local state, ver, first, tokens, mark, _, expires, upd, ends = unpack(before)
local refused = forgotten(lives, ARGV[8], now) or lost(meta, 'sessions', {pend, born, has})
local expired = ends and tonumber(ends) <= now
if not expired then refused = refused or lostOf(st, log, ids, kept, first, listed) or first and not inc and incomplete(meta) end
refused = refused
  or unregistered(meta, ARGV[7], ARGV[2], 'listed', not learnt and 'waiting' or nil)
if refused then return refused end
if not inc then redis.call('HSET', meta, 'inc', nonce) end
if expired then
  redis.call('HDEL', has, sid)
  redis.call('DEL', st, log, ids, blobs)
  redis.call('ZREM', pend, sid)
  kept, ends, first, expires = nil, nil, nil, nil
elseif listed > 0 then
  move(st, log, ids)
  before = stateOf(st)
  state, ver, first, tokens, mark, _, expires, upd, ends = unpack(before)
end
local created, fields, new = not first, {}, {}
if created then state, upd, first, tokens, mark, ver = ARGV[9], nonce, 0, 0, 0, 0 end
local place = not created and redis.call('ZSCORE', born, sid) or enlist(meta, born, sid)
first, mark = tonumber(first), tonumber(mark)
local seq = first
for i = 11, #ARGV, 3 do
  if not new[ARGV[i]] and not (first > 0 and holds(st, first, ARGV[i])) then
    new[ARGV[i]], seq, tokens = true, seq + 1, tokens + ARGV[i + 1]
    local n = int(seq)
    put(st, fields, n, ARGV[i + 2], 'i:' .. ARGV[i], n)
  end
end
if created or seq > first then
  if seq > mark and (first > mark or not learnt) then
    redis.call('ZADD', pend, place, sid)
  elseif seq > mark then -- an update that was planned before would write the old watermark
    mark, upd = seq, nonce
  end
  if created then append(fields, 'state', state) end
  if life > 0 then
    expires = ARGV[5]
    append(fields, 'exp', int(now + life), 'expires', expires)
  end
  before = {state, int(ver + 1), int(seq), int(tokens), int(mark), ARGV[3], expires or '', upd}
  append(fields, 'ver', before[2], 'seq', before[3], 'tokens', before[4], 'watermark', before[5], 'updated', before[6], 'upd', upd)
  redis.call('HSET', st, unpack(fields)) -- all at once: half of it is never there
  if life > 0 then
    redis.call('PEXPIRE', st, int(math.ceil(life / 1000)))
    redis.call('PEXPIRE', blobs, redis.call('PTTL', st))
  end
  keep(has, sid, kept, (ends or life > 0) and 't' or 's', hasBlobs(kept, blobs))
end
note(meta, 'sessions', {pend, born, has})
return before
