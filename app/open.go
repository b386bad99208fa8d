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

// OpenStore opens the database of a configuration, and migrates its schema.
// Without artifacts no program can be uploaded through the store; observer may
// be nil.
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

// checkSealKey checks the operator's key file when a node starts, instead of
// when the first secret is used.
func checkSealKey(c config.Config) error {
	path, own := c.WithDefaults().SealKey()
	return (&seal.File{Path: path, Own: own}).Check()
}

// Migrate migrates the schema of the database without opening a store. It creates an SQLite file, but not its folder.
func Migrate(ctx context.Context, c config.Config) (from, to int64, err error) {
	c = c.WithDefaults()
	if err := config.CheckDatabase(c.Database); err != nil {
		return 0, 0, err
	}
	if path := c.SQLitePath(); path != "" {
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) { // a node creates the folder; here the path is likely mistyped
			return 0, 0, core.InvalidField("database", path, "must be in a folder that exists", "correct the path, or create the folder")
		}
		return sqlite.Options{Prefix: c.TablePrefix()}.Migrate(ctx, path)
	}
	return postgres.Options{Schema: c.Schema}.Migrate(ctx, c.Database)
}
