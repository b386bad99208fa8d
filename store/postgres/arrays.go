package postgres

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// A batch is sent as one array for each column. The driver's codec plans and boxes each element. These plans write the columns
// of a [base.Batch] in one go, in the driver's own format, and leave everything else to the driver.

func registerArrays(_ context.Context, conn *pgx.Conn) error {
	types := conn.TypeMap()
	for _, of := range []struct {
		name    string
		element uint32
		array   uint32
	}{{"int8", pgtype.Int8OID, pgtype.Int8ArrayOID}, {"text", pgtype.TextOID, pgtype.TextArrayOID}} {
		if element, ok := types.TypeForOID(of.element); ok {
			types.RegisterType(&pgtype.Type{Name: "_" + of.name, OID: of.array, Codec: arrayCodec{&pgtype.ArrayCodec{ElementType: element}}})
		}
	}
	return nil
}

type arrayCodec struct{ *pgtype.ArrayCodec }

func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []int64:
			if oid == pgtype.Int8ArrayOID {
				return arrayPlan[int64]{oid: pgtype.Int8OID, size: func(int64) int { return 8 }, put: putInt}
			}
		case []string:
			if oid == pgtype.TextArrayOID {
				return arrayPlan[string]{oid: pgtype.TextOID, size: func(s string) int { return len(s) }, put: putText}
			}
		}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

func putInt(buf []byte, n int64) []byte   { return binary.BigEndian.AppendUint64(buf, uint64(n)) } //nolint:gosec // two's complement is the format
func putText(buf []byte, s string) []byte { return append(buf, s...) }

// arrayPlan writes an array of one dimension without nulls.
type arrayPlan[T any] struct {
	oid  uint32
	size func(T) int
	put  func([]byte, T) []byte
}

func (p arrayPlan[T]) Encode(value any, buf []byte) ([]byte, error) {
	all, ok := value.([]T)
	if !ok || all == nil {
		return nil, nil
	}
	be := binary.BigEndian
	const head, dimensions, lowest = 20, 1, 1
	room := head
	for _, v := range all {
		room += 4 + p.size(v)
	}
	buf = slices.Grow(buf, room)
	buf = be.AppendUint32(be.AppendUint32(be.AppendUint32(buf, dimensions), 0), p.oid)
	buf = be.AppendUint32(be.AppendUint32(buf, uint32(len(all))), lowest) //nolint:gosec // a batch is small
	for _, v := range all {
		buf = be.AppendUint32(buf, uint32(p.size(v))) //nolint:gosec // and so are its texts
		buf = p.put(buf, v)
	}
	return buf, nil
}
