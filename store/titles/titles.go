// Package titles reads the titles of named objects, and searches in them. Pages use it for names that stand in lists of other
// objects. It writes nothing: titles lie in the rows of their objects.
package titles

import (
	"context"
	"strings"

	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// Part returns the condition that a row's name or title contains a text, in any case, and its argument. A title has no line
// end, so no text matches across name and title.
func Part(text string) (condition, argument string) {
	const both = "lower(name) || '\n' || sought"
	return "replace(" + both + ", ?, '') <> " + both, strings.ReplaceAll(title.Fold(text), "\n", " ")
}

// Store reads titles.
type Store struct{ *base.Store }

// New is the part of a store that reads them.
func New(b *base.Store) *Store { return &Store{b} }

// Titles returns the titles of named objects that have one.
func (s *Store) Titles(ctx context.Context, q view.Named) (all view.Titles, err error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all = nil
		for _, asked := range []struct {
			noun, table, where string
			names              []string
		}{
			{"task", "tasks", "namespace = $1", q.Tasks}, {"schedule", "schedules", "namespace = $1", q.Schedules}, {"monitor", "monitors", "namespace = $1", q.Monitors}, {"queue", "queues", "$1 <> ''", q.Queues},
			{"channel", "documents", "noun = 'channel' and namespace = $1", q.Channels}, {"alert_rule", "documents", "noun = 'alert_rule' and namespace = $1", q.AlertRules}, {"hook", "documents", "noun = 'hook' and namespace = $1", q.Hooks},
		} {
			if len(asked.names) == 0 {
				continue
			}
			some, err := base.Collect(ctx, tx, func(r base.Rows) (view.Title, error) {
				t := view.Title{Noun: asked.noun}
				return t, r.Scan(&t.Name, &t.Title)
			}, `
				select name, title
				from belfry.`+asked.table+`
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
