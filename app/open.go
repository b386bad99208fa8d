package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/seal"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
)

// OpenStore opens the database that a configuration names, and brings its
// schema up to date. Without artifacts no program can be uploaded through it;
// observer may be nil.
func OpenStore(ctx context.Context, c config.Config, artifacts *Artifacts, logger *slog.Logger, observer store.Observer) (*store.Store, error) {
	c = c.WithDefaults()
	if err := config.CheckDatabase(c.Database); err != nil {
		return nil, err
	}
	key, own := c.SealKey()
	o := store.Options{
		SessionTTL: c.SessionTTL.D(),
		Keep:       store.Keep{Age: c.RetentionAge.D(), Jobs: c.RetentionJobs, Results: c.RetentionResults.D(), Uploads: c.RetentionUploads.D()},
		Vet:        Vet,
		Logger:     logger,
		Observer:   observer,
		Sealer:     &seal.File{Path: key, Own: own},
	}
	if artifacts != nil {
		o.Bytes = artifacts
	}
	if path := c.SQLitePath(); path != "" {
		return sqlite.Open(ctx, path, sqlite.Options{Options: o, Prefix: c.TablePrefix(), Look: true})
	}
	return postgres.Open(ctx, c.Database, postgres.Options{Options: o, Wakeups: c.Wakeups, MaxConns: c.MaxConns, Schema: c.Schema})
}

// checkSealKey finds a mistake in the operator's key file when a node starts,
// and not when the first secret is needed.
func checkSealKey(c config.Config) error {
	path, own := c.WithDefaults().SealKey()
	return (&seal.File{Path: path, Own: own}).Check()
}

// Migrate brings the schema of the database up to date and opens nothing. It creates an SQLite file, and no folder for it.
func Migrate(ctx context.Context, c config.Config) (from, to int64, err error) {
	c = c.WithDefaults()
	if err := config.CheckDatabase(c.Database); err != nil {
		return 0, 0, err
	}
	if path := c.SQLitePath(); path != "" {
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) { // a node makes it; here it is a mistyped path
			return 0, 0, core.InvalidField("database", path, "must be in a folder that exists", "correct the path, or create the folder")
		}
		return sqlite.Options{Prefix: c.TablePrefix()}.Migrate(ctx, path)
	}
	return postgres.Options{Schema: c.Schema}.Migrate(ctx, c.Database)
}
