// Package weigh counts the bytes of the texts that rows of a query bring.
package weigh

import (
	"database/sql"
	"slices"
)

// Scanner scans a row.
type Scanner interface{ Scan(dest ...any) error }

// Row is a Scanner that counts.
type Row struct {
	In    Scanner
	Bytes int // of all texts that were scanned
}

// Scan scans a row and counts its texts.
func (r *Row) Scan(dest ...any) error {
	dest = slices.Clone(dest)
	for i, d := range dest {
		if s, is := d.(sql.Scanner); is {
			dest[i] = counting{s, r}
		}
	}
	err := r.In.Scan(dest...)
	for _, d := range dest {
		switch d := d.(type) {
		case *string:
			r.Bytes += len(*d)
		case **string:
			if *d != nil {
				r.Bytes += len(**d)
			}
		}
	}
	return err
}

// Result is the rows of a query.
type Result interface {
	Scanner
	Next() bool
	Err() error
	Close()
}

// Rows is a Result that counts.
type Rows struct {
	Result
	row Row
}

// Scan scans a row and counts its texts.
func (r *Rows) Scan(dest ...any) error {
	r.row.In = r.Result
	return r.row.Scan(dest...)
}

// Bytes returns the bytes of all texts that were scanned.
func (r *Rows) Bytes() int { return r.row.Bytes }

type counting struct {
	sql.Scanner
	in *Row
}

func (c counting) Scan(v any) error {
	switch v := v.(type) {
	case string:
		c.in.Bytes += len(v)
	case []byte:
		c.in.Bytes += len(v)
	}
	return c.Scanner.Scan(v)
}
