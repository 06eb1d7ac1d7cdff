-- Reads the names of some fields of a hash, without their values.
-- ARGV: where the scan stands, how many to look at. Returns {where it stands, names}.
local page, names = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2]), {}
for i = 1, #page[2], 2 do names[#names + 1] = page[2][i] end
return {page[1], names}
