// Package titles finds what people have given a title, and the titles of what is named.
package titles

import (
	"context"
	"strings"

	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// Part is a condition of rows whose name or title has a text in it, whatever
// its case, and its argument. No title has a line end, so none is found over
// the seam.
func Part(text string) (condition, argument string) {
	const both = "lower(name) || '\n' || sought"
	return "replace(" + both + ", ?, '') <> " + both, strings.ReplaceAll(title.Fold(text), "\n", " ")
}

// Store reads titles.
type Store struct{ *base.Store }

// New is the part of a store that reads them.
func New(b *base.Store) *Store { return &Store{b} }

// Titles are those of named things that have one.
func (s *Store) Titles(ctx context.Context, q view.Named) (all view.Titles, err error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all = nil
		for _, asked := range []struct {
			noun, where string
			names       []string
		}{{"task", "namespace = $1", q.Tasks}, {"schedule", "namespace = $1", q.Schedules}, {"monitor", "namespace = $1", q.Monitors}, {"queue", "$1 <> ''", q.Queues}} {
			if len(asked.names) == 0 {
				continue
			}
			some, err := base.Collect(ctx, tx, func(r base.Rows) (view.Title, error) {
				t := view.Title{Noun: asked.noun}
				return t, r.Scan(&t.Name, &t.Title)
			}, `
				select name, title
				from belfry.`+asked.noun+`s
				where `+asked.where+` and `+s.SQL.In("name", 2)+` and title <> ''
				order by name`, base.NamespaceOr(q.Namespace), s.SQL.List(base.Unique(asked.names)))
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return nil
	})
	return all, err
}
