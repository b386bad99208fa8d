package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-run/belfry/app"
)

// A whole node inside another program: store, engine, API and workers.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "belfry")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	var o app.Options
	o.Database = "sqlite:" + filepath.Join(dir, "belfry.db")
	o.Listen = "127.0.0.1:0"
	node, err := app.New(o)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := node.Start(ctx); err != nil {
		panic(err)
	}
	h, err := node.Store().Health(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("serving:", node.URL() != "", "schema is current:", h.SchemaVersion == h.SchemaWanted)
	if err := node.Stop(ctx); err != nil {
		panic(err)
	}
	// Output: serving: true schema is current: true
}
