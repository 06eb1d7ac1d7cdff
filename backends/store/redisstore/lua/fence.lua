-- Writes the life of another partition. KEYS: T:lives. ARGV: its field, the life, now and
-- its end (microseconds).
begin(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return 'ok'
