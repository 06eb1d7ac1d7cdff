-- Notes the entries of a partition. KEYS: T:meta, T:enter. ARGV: see unregistered.
return unregistered(KEYS[1], KEYS[2], unpack(ARGV)) or 'ok'
