package schemas

import (
	"database/sql"
	"errors"
	"maps"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

func TestDigestsAreOfStatements(t *testing.T) {
	t.Parallel()
	plain := Digest([]byte("create table a (b integer);"))
	if Digest([]byte("-- A comment.\ncreate table a (\n\tb integer -- of b\n);\n")) != plain {
		t.Error("comments and spaces make another digest")
	}
	if Digest([]byte("create table a (b integer, c integer);")) == plain {
		t.Error("another column makes the same digest")
	}
}

func TestATableFromBeforeDigestsGetsThem(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // of a test
	do := func(do func(tx *sql.Tx) error) {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		if err == nil {
			err = errors.Join(do(tx), tx.Commit())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	do(func(tx *sql.Tx) error {
		_, err := tx.Exec("create table versions (version bigint primary key, at bigint not null default 0); insert into versions (version) values (1)")
		return err
	})
	for version := int64(2); version < 4; version++ {
		do(func(tx *sql.Tx) error {
			err := Keep(t.Context(), tx, "versions")
			_, inserted := tx.Exec("insert into versions (version, digest) values ($1, 'a')", version)
			return errors.Join(err, inserted)
		})
	}
	made, err := digests(t.Context(), db, "versions")
	if err != nil || !maps.Equal(made, map[int64]string{1: "", 2: "a", 3: "a"}) {
		t.Errorf("%v, %v", made, err)
	}
}
