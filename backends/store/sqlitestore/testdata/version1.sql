-- A file of schema version 1 before sessions had titles, as the shell dumps it.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE partitions (
		pk        INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that a dropped partition has other cursors
		namespace TEXT NOT NULL,
		kind      TEXT NOT NULL,
		id        TEXT NOT NULL,
		version   INTEGER NOT NULL DEFAULT 0,
		model     TEXT NOT NULL DEFAULT '',
		dim       INTEGER NOT NULL DEFAULT 0,
		UNIQUE (namespace, kind, id)
	);
INSERT INTO partitions VALUES(1,'app','user','ann',2,'m',2);
CREATE TABLE records (
		pk      INTEGER PRIMARY KEY,
		part    INTEGER NOT NULL,
		id      TEXT NOT NULL,
		version INTEGER NOT NULL,
		memory  TEXT NOT NULL,
		vector  BLOB,
		UNIQUE (part, id)
	);
INSERT INTO records VALUES(1,1,'f1',1,'{"id":"f1","kind":"fact","text":"lives in Bergen","scope":{},"created":"2026-11-01T12:00:00Z","updated":"2026-11-01T12:00:00Z","version":1}',X'0102');
CREATE TABLE tombstones (
		part    INTEGER NOT NULL,
		id      TEXT NOT NULL,
		version INTEGER NOT NULL,
		PRIMARY KEY (part, id)
	) WITHOUT ROWID;
INSERT INTO tombstones VALUES(1,'f2',2);
CREATE TABLE events (
		pk    INTEGER PRIMARY KEY,
		part  INTEGER NOT NULL,
		id    TEXT NOT NULL,
		event TEXT NOT NULL
	);
INSERT INTO events VALUES(1,1,'f1','{"memory_id":"f1","type":"added","new":"lives in Bergen","time":"2026-11-01T12:00:00Z","version":1}');
INSERT INTO events VALUES(2,1,'f2','{"memory_id":"f2","type":"added","new":"x","time":"2026-11-01T12:00:00Z","version":1}');
INSERT INTO events VALUES(3,1,'f2','{"memory_id":"f2","type":"deleted","old":"x","time":"2026-11-01T12:00:00Z","version":2}');
CREATE TABLE batches (
		part    INTEGER NOT NULL,
		key     TEXT NOT NULL,
		created INTEGER NOT NULL,
		version INTEGER NOT NULL,
		results TEXT NOT NULL,
		PRIMARY KEY (part, key)
	) WITHOUT ROWID;
INSERT INTO batches VALUES(1,'k',1793534400000000,1,'[{"id":"f1","event":"added"},{"id":"f2","event":"added"}]');
CREATE TABLE sessions (
		pk      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: listings point to it
		part    INTEGER NOT NULL,
		id      TEXT NOT NULL,
		changed INTEGER NOT NULL,
		pending INTEGER NOT NULL,
		expires INTEGER,
		state   TEXT NOT NULL,
		UNIQUE (part, id)
	);
INSERT INTO sessions VALUES(1,1,'chat',5,0,NULL,'{"partition":{"namespace":"app","kind":"user","id":"ann"},"id":"chat","scope":{"user_id":"ann","session_id":"chat"},"version":4,"last_seq":2,"tokens":6,"watermark":2,"summary":"Ann moved to Bergen.","summary_upto":2,"lease":{"token":1793534400000000},"created":"2026-11-01T12:00:00Z","updated":"2026-11-01T12:00:00Z"}');
CREATE TABLE messages (
		session INTEGER NOT NULL,
		seq     INTEGER NOT NULL,
		id      TEXT NOT NULL,
		entry   TEXT NOT NULL,
		PRIMARY KEY (session, seq),
		UNIQUE (session, id)
	) WITHOUT ROWID;
INSERT INTO messages VALUES(1,1,'m1','{"seq":1,"id":"m1","turn":"t1","time":"2026-11-01T12:00:00Z","role":"user","content":"I moved to Bergen","tokens":4}');
INSERT INTO messages VALUES(1,2,'m2','{"seq":2,"id":"m2","turn":"t1","time":"2026-11-01T12:00:00Z","role":"assistant","content":"Noted.","done":true,"tokens":2}');
CREATE TABLE blobs (
		pk      INTEGER PRIMARY KEY,
		part    INTEGER NOT NULL,
		session TEXT NOT NULL,
		name    TEXT NOT NULL,
		data    BLOB NOT NULL,
		UNIQUE (part, session, name)
	);
INSERT INTO blobs VALUES(1,1,'chat','turn/t1',X'7761697473');
INSERT INTO blobs VALUES(2,1,'chat','turn/t2',X'');
INSERT INTO blobs VALUES(3,1,'chat','other',X'00ff');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('partitions',1);
INSERT INTO sqlite_sequence VALUES('sessions',1);
CREATE INDEX records_changed ON records (part, version);
CREATE INDEX tombstones_changed ON tombstones (part, version);
CREATE INDEX events_of ON events (part, id);
CREATE INDEX batches_created ON batches (created);
CREATE INDEX sessions_changed ON sessions (changed);
CREATE INDEX sessions_pending ON sessions (changed) WHERE pending = 1;
CREATE INDEX sessions_expires ON sessions (expires) WHERE expires IS NOT NULL;
COMMIT;
PRAGMA application_id = 1701408367;
PRAGMA user_version = 1;
