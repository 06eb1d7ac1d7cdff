-- Carries out repairs of what is still as it was seen.
-- KEYS: T:meta, T:tips, then all others that are named below. ARGV: a nonce, the
-- number of repairs, then for each: "raise" if the partition's version is to rise
-- or "", the number of its checks, each "=" and the answer that is expected or ""
-- for none, and a command; the number of its commands, and these. A command is the
-- number of its words and the words, each marked: "=" as it is, "v" the version,
-- "s" stamped with it, "b" a new number of creation, "m" one of change,
-- "c" the last number of change.
-- Returns for each repair 1, or 0 when something was not as expected.
local meta, tips = KEYS[1], KEYS[2]
local at = 2
local function arg() at = at + 1; return ARGV[at] end
local function int(n) return string.format('%.0f', n) end

local version
local function raised()
  if not version then
    version = redis.call('HINCRBY', meta, 'ver', 1)
    redis.call('RPUSH', tips, ARGV[1])
    redis.call('LTRIM', tips, -1000, -1)
  end
  return int(version)
end

local function command()
  local words = {}
  for i = 1, tonumber(arg()) do words[i] = arg() end
  return words
end

local marks = {
  ['='] = function(text) return text end,
  v = function() return raised() end,
  s = function(text) return raised() .. ' ' .. text end,
  b = function() return int(redis.call('HINCRBY', meta, 'born', 1)) end,
  c = function() return redis.call('HGET', meta, 'moved') or '0' end,
  m = function() return int(redis.call('HINCRBY', meta, 'moved', 1)) end,
}

local function run(words)
  local plain = {}
  for i, word in ipairs(words) do plain[i] = marks[string.sub(word, 1, 1)](string.sub(word, 2)) end
  return redis.call(unpack(plain))
end

local function same(answer, expected)
  if answer == false or answer == nil then return expected == '' end
  if type(answer) == 'table' then answer = answer.ok end
  if type(answer) == 'number' then answer = int(answer) end
  local text = string.sub(expected, 2)
  return expected ~= '' and (answer == text or (tonumber(answer) ~= nil and tonumber(answer) == tonumber(text)))
end

local done = {}
for n = 1, tonumber(ARGV[2]) do
  local raise, holds = arg() == 'raise', true
  for _ = 1, tonumber(arg()) do
    local expected = arg()
    local words = command()
    if holds then holds = same(run(words), expected) end
  end
  if holds and raise then raised() end
  for _ = 1, tonumber(arg()) do
    local words = command()
    if holds then run(words) end
  end
  done[n] = holds and 1 or 0
end
return done
