package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/belfry-run/belfry"
)

// Migrate brings a schema to the newest version in migrations and reports
// where it came from and where it is. A schema that is newer than the program
// is refused and left alone. With dry, nothing is changed.
func Migrate(ctx context.Context, dialect goose.Dialect, db *sql.DB, migrations fs.FS, dry bool, o ...goose.ProviderOption) (from, to int64, err error) {
	o = append(o, goose.WithTableName("belfry_schema"), goose.WithDisableGlobalRegistry(true))
	p, err := goose.NewProvider(dialect, db, migrations, o...)
	if err != nil {
		return 0, 0, fmt.Errorf("read migrations: %w", err)
	}
	from, to, err = p.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	if from > to {
		return from, to, newer(from, to)
	}
	if dry || from == to {
		return from, to, nil
	}
	if _, err := p.Up(ctx); err != nil {
		return from, from, fmt.Errorf("migrate schema from version %d to %d: %w", from, to, err)
	}
	return from, to, nil
}

// LastMigration is the number of the last file in the folder migrations. It
// panics when there is none, because they are built in.
func LastMigration(files fs.FS) int64 {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprint("no migrations: ", err))
	}
	n, err := goose.NumericComponent(names[len(names)-1]) // they are sorted
	if err != nil {
		panic(err)
	}
	return n
}

func newer(have, want int64) error {
	return belfry.Errorf(belfry.Conflict, "the database has schema version %d, and this belfry knows versions up to %d", have, want).
		WithHint("run the belfry that migrated it, or a newer one; schemas go forward only")
}
