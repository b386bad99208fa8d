package postgres

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// TestArraysAreWrittenAsTheDriverWritesThem: byte for byte.
func TestArraysAreWrittenAsTheDriverWritesThem(t *testing.T) {
	driver := pgtype.NewMap()
	int8s, _ := driver.TypeForOID(pgtype.Int8OID)
	texts, _ := driver.TypeForOID(pgtype.TextOID)
	one, none := "one", (*string)(nil)
	for name, c := range map[string]struct {
		codec arrayCodec
		oid   uint32
		value any
	}{
		"ints":          {arrayCodec{&pgtype.ArrayCodec{ElementType: int8s}}, pgtype.Int8ArrayOID, []int64{0, 1, -1, 1 << 62, -1 << 63}},
		"no ints":       {arrayCodec{&pgtype.ArrayCodec{ElementType: int8s}}, pgtype.Int8ArrayOID, []int64{}},
		"null ints":     {arrayCodec{&pgtype.ArrayCodec{ElementType: int8s}}, pgtype.Int8ArrayOID, []int64(nil)},
		"other ints":    {arrayCodec{&pgtype.ArrayCodec{ElementType: int8s}}, pgtype.Int8ArrayOID, []int32{1, 2}},
		"many ints":     {arrayCodec{&pgtype.ArrayCodec{ElementType: int8s}}, pgtype.Int8ArrayOID, slices.Repeat([]int64{7}, 1000)},
		"texts":         {arrayCodec{&pgtype.ArrayCodec{ElementType: texts}}, pgtype.TextArrayOID, []string{"", "a", "ä\n\"{}", strings.Repeat("long", 10_000)}},
		"no texts":      {arrayCodec{&pgtype.ArrayCodec{ElementType: texts}}, pgtype.TextArrayOID, []string{}},
		"null texts":    {arrayCodec{&pgtype.ArrayCodec{ElementType: texts}}, pgtype.TextArrayOID, []string(nil)},
		"texts or null": {arrayCodec{&pgtype.ArrayCodec{ElementType: texts}}, pgtype.TextArrayOID, []*string{&one, none}},
	} {
		own := pgtype.NewMap()
		own.RegisterType(&pgtype.Type{Name: "own", OID: c.oid, Codec: c.codec})
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			before := []byte("before")
			want, err := driver.Encode(c.oid, format, c.value, slices.Clone(before))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := own.Encode(c.oid, format, c.value, slices.Clone(before))
			if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("%s in format %d:\n%.80q, %v, want\n%.80q", name, format, got, err, want)
			}
		}
	}
}
