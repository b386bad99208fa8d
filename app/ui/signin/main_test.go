package signin_test

import (
	"testing"

	"github.com/belfry-run/belfry/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
