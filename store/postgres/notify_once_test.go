package postgres

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5/pgxpool"
)

// TestALostServerIsLoggedOnce has a node look in vain for a server five times.
func TestALostServerIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, err := pgxpool.ParseConfig("postgres://belfry@127.0.0.1/belfry?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no server") }
		ctx, stop := context.WithCancel(t.Context())
		pool, err := pgxpool.NewWithConfig(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		var log bytes.Buffer
		n := newNotifier(pool, "belfry", slog.New(slog.NewTextHandler(&log, nil)))
		turns := 0
		if err := n.Run(ctx, func(string) { // heard after each connection that was lost or refused
			if turns++; turns == 5 {
				stop()
			}
		}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Count(log.String(), "wake-ups interrupted"); said != 1 {
			t.Errorf("interruption logged %d times, want once:\n%s", said, &log)
		}
	})
}
