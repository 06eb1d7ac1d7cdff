-- Tries the commands that scripts write with, on a key that does not exist before
-- or after. ARGV: the commands, without the key. Returns those that the user may not
-- run: a script that meets one in the middle has already written a part.
local forbidden = {}
for _, command in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(command, '%S+') do words[#words + 1] = word end
  local answer = redis.pcall(words[1], KEYS[1], unpack(words, 2))
  local text = type(answer) == 'table' and answer.err or ''
  if string.find(text, 'permission') or string.find(text, "can't run this command") or string.find(text, 'NOPERM') then
    forbidden[#forbidden + 1] = words[1]
  end
end
return forbidden
