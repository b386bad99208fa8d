package base

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/weigh"
)

// MaxPage is about how many bytes a page of a list reads. A page of large items ends there, with a cursor for the rest.
const MaxPage = 2 << 20

// CollectSome is [Collect] up to limit rows and room bytes, and at least one row. It takes what it reads off room; nil is
// [MaxPage]. more reports whether there are further rows.
func CollectSome[T any](ctx context.Context, tx Tx, limit int, room *int, scan func(Rows) (T, error), query string, args ...any) (all []T, more bool, err error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	if room == nil {
		room = new(MaxPage)
	}
	w := &weigh.Rows{Result: rows}
	defer func() { *room -= w.Bytes() }()
	for rows.Next() {
		if len(all) == limit || w.Bytes() > *room {
			return all, true, nil
		}
		v, err := scan(w)
		if err != nil {
			return nil, false, fmt.Errorf("scan: %w\n%s", err, query)
		}
		all = append(all, v)
	}
	return all, false, rows.Err()
}

// CollectPage makes a page of a query that reads one row more than limit.
func CollectPage[T any](ctx context.Context, tx Tx, limit int, scan func(Rows) (T, error), cursor func(last T) string, query string, args ...any) (core.Page[T], error) {
	all, more, err := CollectSome(ctx, tx, limit, nil, scan, query, args...)
	p := Page(all, len(all), cursor)
	if more {
		p.Next = cursor(all[len(all)-1])
	}
	return p, err
}
