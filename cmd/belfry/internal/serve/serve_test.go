package serve

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/config"
)

func TestANodeWithoutWorkersSaysNothingOfCommands(t *testing.T) {
	t.Parallel()
	all := []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}
	for _, row := range []struct {
		config config.Config
		want   string
	}{
		{config.Config{Roles: all}, "refused; --allow-commands"},
		{config.Config{Roles: all, AllowCommands: true}, "allowed"},
		{config.Config{Roles: all[:2]}, ""},
		{config.Config{Roles: all[:2], AllowCommands: true}, ""},
	} {
		if got := commands(row.config); !strings.HasPrefix(got, row.want) || row.want == "" && got != "" {
			t.Errorf("%v, %v: %q, want %q", row.config.Roles, row.config.AllowCommands, got, row.want)
		}
	}
}
