package sqlite

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite/vtab"

	"github.com/belfry-run/belfry/store/base"
)

// SQLite reads a batch in place, through a virtual table: unpacking it from JSON took two thirds of the time of a busy writer.
// The writing connection has this table. A user's own connection does not, and gets JSON.

const (
	batchTable  = "belfry_batch"
	batchWidth  = 32 // columns, more than any batch has
	createBatch = "create virtual table temp." + batchTable + " using " + batchTable
)

func init() {
	if err := vtab.RegisterModule(nil, batchTable, batchModule{}); err != nil {
		panic(fmt.Sprintf("register the module of batches: %v", err)) // the name is registered twice
	}
}

// batches are the batches that statements in progress can read, by the number that is bound in their place.
var (
	batches   sync.Map // of int64 to []any, column by column
	batchLast atomic.Int64
)

// batchArg is a batch on its way to the writer, which assigns it a number.
type batchArg struct{ batch base.Batch }

func lend(columns []any) int64 {
	n := batchLast.Add(1)
	batches.Store(n, columns)
	return n
}

type batchModule struct{}

func (batchModule) Create(ctx vtab.Context, args []string) (vtab.Table, error) {
	return batchModule{}.Connect(ctx, args)
}

func (batchModule) Connect(ctx vtab.Context, _ []string) (vtab.Table, error) {
	var cols strings.Builder
	for i := range batchWidth {
		fmt.Fprintf(&cols, "c%d, ", i)
	}
	return batchView{}, ctx.Declare("create table batch (" + cols.String() + "number hidden)")
}

type batchView struct{}

// BestIndex requires the number, which is always given.
func (batchView) BestIndex(info *vtab.IndexInfo) error {
	info.EstimatedCost, info.EstimatedRows = 1e15, 1e15
	for i := range info.Constraints {
		c := &info.Constraints[i]
		if c.Column == batchWidth && c.Op == vtab.OpEQ && c.Usable {
			c.ArgIndex, c.Omit = 0, true
			info.IdxNum, info.EstimatedCost, info.EstimatedRows = 1, 10, 100
		}
	}
	return nil
}

func (batchView) Open() (vtab.Cursor, error) { return &batchCursor{}, nil }
func (batchView) Disconnect() error          { return nil }
func (batchView) Destroy() error             { return nil }

type batchCursor struct {
	cols []any
	row  int
	rows int
}

func (c *batchCursor) Filter(_ int, _ string, vals []vtab.Value) error {
	*c = batchCursor{}
	if len(vals) == 0 {
		return fmt.Errorf("a batch is asked for without its number")
	}
	n, _ := vals[0].(int64)
	cols, ok := batches.Load(n)
	if !ok {
		return fmt.Errorf("batch %v is not there", vals[0])
	}
	c.cols = cols.([]any)        //nolint:forcetypeassert // only lend stores
	for _, col := range c.cols { // a column of nulls has no values
		c.rows = max(c.rows, length(col))
	}
	return nil
}

func length(col any) int {
	switch col := col.(type) {
	case []int64:
		return len(col)
	case []string:
		return len(col)
	case []*int64:
		return len(col)
	case []*string:
		return len(col)
	}
	return 0
}

func (c *batchCursor) Column(i int) (vtab.Value, error) {
	if i >= len(c.cols) {
		return nil, nil
	}
	switch col := c.cols[i].(type) {
	case []int64:
		return col[c.row], nil
	case []string:
		return col[c.row], nil
	case []*int64:
		if col != nil && col[c.row] != nil {
			return *col[c.row], nil
		}
	case []*string:
		if col != nil && col[c.row] != nil {
			return *col[c.row], nil
		}
	}
	return nil, nil
}

func (c *batchCursor) Next() error           { c.row++; return nil }
func (c *batchCursor) Eof() bool             { return c.row >= c.rows }
func (c *batchCursor) Rowid() (int64, error) { return int64(c.row), nil }
func (c *batchCursor) Close() error          { return nil }
