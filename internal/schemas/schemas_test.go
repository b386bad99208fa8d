package schemas

import "testing"

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
