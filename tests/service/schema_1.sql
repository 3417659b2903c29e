-- A store of schema version 1 with one impression and one feedback. It stays as it is: what later versions must read.
BEGIN TRANSACTION;
CREATE TABLE checkpoint (
	"key" BLOB NOT NULL, 
	position INTEGER NOT NULL, 
	"query" TEXT NOT NULL, 
	item TEXT NOT NULL, 
	shown BIGINT NOT NULL, 
	clicked BIGINT NOT NULL, 
	PRIMARY KEY ("key", position)
)
 WITHOUT ROWID

;
CREATE TABLE evidence (
	"key" BLOB NOT NULL, 
	position INTEGER NOT NULL, 
	"query" TEXT NOT NULL, 
	item TEXT NOT NULL, 
	shown BIGINT NOT NULL, 
	clicked BIGINT NOT NULL, 
	PRIMARY KEY ("key", position)
)
 WITHOUT ROWID

;
CREATE TABLE feedback (
	sequence INTEGER NOT NULL, 
	event TEXT NOT NULL, 
	shown BIGINT NOT NULL, 
	clicks TEXT NOT NULL, 
	fresh TEXT NOT NULL, 
	opens BOOLEAN NOT NULL, 
	reward DOUBLE, 
	at DOUBLE NOT NULL, 
	late BOOLEAN NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (sequence), 
	UNIQUE (event)
);
INSERT INTO "feedback" VALUES(2,'e1',1,'[2]','[2]',0,NULL,1700000010.0,0,'d');
CREATE TABLE imports (
	digest TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	impressions BIGINT NOT NULL, 
	PRIMARY KEY (digest)
);
CREATE TABLE impressions (
	sequence INTEGER NOT NULL, 
	impression TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	"query" TEXT NOT NULL, 
	items TEXT NOT NULL, 
	propensity DOUBLE NOT NULL, 
	item_propensities BLOB NOT NULL, 
	policy TEXT NOT NULL, 
	model TEXT, 
	cluster TEXT, 
	user_key TEXT, 
	explored BOOLEAN NOT NULL, 
	"deferred" BOOLEAN NOT NULL, 
	counted BOOLEAN NOT NULL, 
	epoch INTEGER NOT NULL, 
	PRIMARY KEY (sequence), 
	UNIQUE (impression)
);
INSERT INTO "impressions" VALUES(1,'018bcfe568000123456789abcdef0123',1700000000.0,'shoes','["a","b"]',0.5,X'000000000000E03F000000000000D03F','ebrank',NULL,NULL,NULL,0,0,1,0);
CREATE TABLE items (
	"key" BLOB NOT NULL, 
	item TEXT NOT NULL, 
	"query" TEXT, 
	features TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY ("key")
)
 WITHOUT ROWID

;
CREATE TABLE kept (
	"key" TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	shown BIGINT NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('sequence',2);
INSERT INTO "meta" VALUES('folded_to',0);
INSERT INTO "meta" VALUES('forgotten_to',0);
INSERT INTO "meta" VALUES('generation',0);
INSERT INTO "meta" VALUES('epoch',0);
INSERT INTO "meta" VALUES('items_version',0);
INSERT INTO "meta" VALUES('model',0);
INSERT INTO "meta" VALUES('base_impressions',0);
INSERT INTO "meta" VALUES('base_feedback',0);
INSERT INTO "meta" VALUES('schema',1);
CREATE TABLE model_files (
	version INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (version, name)
);
CREATE TABLE models (
	version INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	notes TEXT NOT NULL, 
	PRIMARY KEY (version)
);
CREATE TABLE requests (
	request TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	answer BLOB NOT NULL, 
	shown BIGINT NOT NULL, 
	PRIMARY KEY (request)
);
CREATE TABLE settings (
	epoch INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	exploration DOUBLE NOT NULL, 
	randomise DOUBLE NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (epoch)
);
CREATE INDEX ix_impressions_at ON impressions (at);
CREATE INDEX ix_feedback_shown ON feedback (shown);
CREATE INDEX ix_requests_shown ON requests (shown);
CREATE INDEX ix_kept_shown ON kept (shown);
CREATE INDEX ix_items_version ON items (version);
COMMIT;
