package truth_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// node is a whole node in this process, on SQLite, and its client.
func node(t *testing.T, change ...func(*app.Options)) (*app.App, *client.Client) {
	t.Helper()
	o := app.Options{Config: config.Config{
		Database: filepath.Join(t.TempDir(), "belfry.db"), Listen: "127.0.0.1:0", AllowCommands: true,
		AllowAddresses: []string{"loopback"}, Grace: core.Duration(5 * time.Second), Name: t.Name(),
	}}
	for _, c := range change {
		c(&o)
	}
	a, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	token, err := app.ReadToken(a.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(a.URL(), token, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return a, c
}

// slack is what a busy machine may add to a time, besides a fifth of it.
const slack = 60 * time.Millisecond

// near returns how got differs from a known time, or nothing. No timer rings
// early, so less than the truth is a fault of any size.
func near(name string, got core.Duration, want time.Duration) string {
	least, most := want-want/50, want+want/5+slack
	if got.D() < least || got.D() > most {
		return fmt.Sprintf("%s is %s, and in truth %s", name, got, want)
	}
	return ""
}

// truly compares once, and up to four times more when that failed: the machine may have been
// short of time, which the last comparison says.
func truly(t *testing.T, compare func() []string) {
	t.Helper()
	wrong := compare()
	for tries := 1; len(wrong) > 0 && tries < 5; tries++ {
		fmt.Fprintf(os.Stderr, "%s: compared again, in case that the machine was starved: %v\n", t.Name(), wrong)
		wrong = compare()
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 3 minutes: %s", what)
		}
	}
}
