package schemas

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite" // the driver

	"github.com/belfry-run/belfry/core"
)

func TestDigestsAreOfStatements(t *testing.T) {
	t.Parallel()
	plain := Digest([]byte("create table a (b integer);"))
	if Digest([]byte("-- A comment.\ncreate table a (\n\tb integer -- of b\n);\n")) != plain {
		t.Error("comments and spaces change the digest")
	}
	if plain != "da18129777030e57" {
		t.Errorf("digest %s is not the one that databases keep", plain)
	}
	if Digest([]byte("create table a (b integer, c integer);")) == plain {
		t.Error("another column does not change the digest")
	}
}

func TestAVersionWithoutADigestIsOfAnotherBuild(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"1.sql": {Data: []byte("create table a (b integer);")}}
	versionOf := func(string) int64 { return 1 }
	for name, table := range map[string]string{
		"no column": "create table versions (version bigint primary key, at bigint not null default 0); insert into versions (version) values (1)",
		"no text":   "create table versions (version bigint primary key, at bigint not null default 0, digest text not null default ''); insert into versions (version) values (1)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "a.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close() //nolint:errcheck // of a test
			if _, err := db.ExecContext(t.Context(), table); err != nil {
				t.Fatal(err)
			}
			if err := Same(t.Context(), db, "versions", files, versionOf); core.CodeOf(err) != core.Conflict {
				t.Errorf("Same: got %v, want a conflict", err)
			}
			if _, err := db.ExecContext(t.Context(), "delete from versions"); err != nil {
				t.Fatal(err)
			}
			if err := Same(t.Context(), db, "versions", files, versionOf); err != nil {
				t.Errorf("Same without a version: %v", err)
			}
		})
	}
}

func TestSameReadsTheTableOfANewerBuild(t *testing.T) {
	t.Parallel()
	text := []byte("create table a (b integer);")
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // of a test
	if _, err := db.ExecContext(t.Context(), `
		create table versions (version bigint primary key, at bigint not null default 0, digest text not null default '', more text not null default '');
		insert into versions (version, digest) values (1, $1)`, Digest(text)); err != nil {
		t.Fatal(err)
	}
	if err := Same(t.Context(), db, "versions", fstest.MapFS{"1.sql": {Data: text}}, func(string) int64 { return 1 }); err != nil {
		t.Error(err)
	}
}
