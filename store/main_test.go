package store_test

import (
	"os"
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
