package access_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

func TestGrantsOfGroups(t *testing.T) {
	grants := func(text string) []access.Grant {
		list, err := access.ParseGrants("x", text)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	a := access.Admission{Groups: map[string][]access.Grant{
		"ops": grants("*:admin"), "look": grants("*:read"), "dev": grants("shop:operate default:read"), "lead": grants("shop:admin"),
	}}
	open := a
	open.Default = grants("default:read")
	for _, tt := range []struct {
		a      access.Admission
		groups string
		want   string
	}{
		{a, "", "[]"},
		{a, "others", "[]"},
		{a, "ops", "[*:admin]"},
		{a, "dev", "[default:read shop:operate]"},
		{a, "dev lead", "[default:read shop:admin]"},
		{a, "lead dev", "[default:read shop:admin]"},
		{a, "dev look", "[*:read shop:operate]"},
		{a, "dev lead look ops", "[*:admin]"},
		{open, "", "[default:read]"},
		{open, "lead", "[default:read shop:admin]"},
		{open, "ops", "[*:admin]"},
	} {
		if got := fmt.Sprint(tt.a.Grants(strings.Fields(tt.groups))); got != tt.want {
			t.Errorf("%s with %v by default: %s, want %s", tt.groups, tt.a.Default, got, tt.want)
		}
	}
}

func TestGrantsThatAreRefused(t *testing.T) {
	for _, text := range []string{"default", "default:", ":read", "default:worker", "default:root", "a b:read", "**:read", "default:read:x", "a/b:read"} {
		if got, err := access.ParseGrants("oidc_groups", text); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "oidc_groups") {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
}

func TestNamesOfTokens(t *testing.T) {
	for name, want := range map[string]bool{
		"ci": true, "first-start-1": true, "ann@example.com": true, "o'neil+belfry@example.com": true, strings.Repeat("a", 128): true,
		"": false, "@ann": false, "a b": false, "a\nb": false, "token:ann": false, "änn": false, strings.Repeat("a", 129): false,
	} {
		err := access.Token{Name: name, Scopes: []access.Scope{access.ScopeRead}}.WithDefaults().Validate(time.Now())
		if (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
