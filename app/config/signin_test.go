package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

const signInFile = `public_url: https://belfry.example.com
oidc_issuer: https://accounts.example.com/
oidc_client_id: belfry
oidc_groups:
  /ops: "*:admin"
  cn=dev,ou=groups: shop:operate default:read
oidc_default: default:read
console_life: 8h
console_idle: 30m
`

func TestSignInIsReadFromFileAndText(t *testing.T) {
	t.Parallel()
	l, err := Load(Input{File: file(t, signInFile), Env: env()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Admission()
	if got := fmt.Sprint(a.Grants([]string{"cn=dev,ou=groups"}), a.Grants([]string{"/ops"}), a.Grants(nil)); err != nil || got != "[default:read shop:operate] [*:admin] [default:read]" {
		t.Errorf("%s %v", got, err)
	}
	if got := l.WebLimits(); got.Life.String() != "8h" || got.Idle.String() != "30m" {
		t.Errorf("%+v", got)
	}
	l, err = Load(Input{
		Env:   env("BELFRY_OIDC_ISSUER", "http://127.0.0.1:9", "BELFRY_OIDC_CLIENT_ID", "belfry", "BELFRY_OIDC_SCOPES", "openid,groups"),
		Flags: map[string]string{"oidc_groups": "ops=*:admin,dev=shop:operate default:read"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.OIDCGroups) != 2 || l.OIDCGroups["dev"] != "shop:operate default:read" || len(l.OIDCScopes) != 2 || l.OIDCNameClaim != "email" {
		t.Errorf("%+v", l.Config)
	}
}

func TestSignInFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string // fields and what of them
	}{
		"fine":                {func(*Config) {}, ""},
		"none":                {func(c *Config) { *c = Default() }, ""},
		"on this machine":     {func(c *Config) { c.PublicURL, c.OIDCIssuer = "", "http://localhost:9" }, ""},
		"no issuer":           {func(c *Config) { c.OIDCIssuer = "" }, "oidc_issuer: is missing"},
		"issuer in the clear": {func(c *Config) { c.OIDCIssuer = "http://accounts.example.com" }, "oidc_issuer: is not a URL with https"},
		"issuer with a query": {func(c *Config) { c.OIDCIssuer += "?x=y" }, "oidc_issuer: is not a URL with https"},
		"issuer by name":      {func(c *Config) { c.OIDCIssuer = "accounts.example.com" }, "oidc_issuer: is not a URL with https"},
		"no client":           {func(c *Config) { c.OIDCClientID = "" }, "oidc_client_id: is missing"},
		"back in the clear":   {func(c *Config) { c.PublicURL = "http://belfry.example.com" }, "public_url: is not https"},
		"back to nowhere":     {func(c *Config) { c.PublicURL, c.Listen = "", ":7420" }, "public_url: is missing"},
		"no openid":           {func(c *Config) { c.OIDCScopes = []string{"email"} }, "oidc_scopes: has no openid"},
		"nobody":              {func(c *Config) { c.OIDCGroups = nil }, "oidc_groups: lets nobody in"},
		"a group for nothing": {func(c *Config) { c.OIDCGroups = map[string]string{"ops": " "} }, "oidc_groups: may do nothing"},
		"no scope":            {func(c *Config) { c.OIDCGroups["ops"] = "*:root" }, "oidc_groups: is not a namespace and a scope"},
		"no default":          {func(c *Config) { c.OIDCDefault = "read" }, "oidc_default: is not a namespace and a scope"},
		"a short life":        {func(c *Config) { c.ConsoleLife = 1 }, "console_life: is outside"},
	} {
		c := Default()
		c.PublicURL, c.OIDCIssuer, c.OIDCClientID = "https://belfry.example.com", "https://accounts.example.com", "belfry"
		c.OIDCGroups = map[string]string{"ops": "*:admin"}
		tt.change(&c)
		err := c.Validate()
		var got []string
		if be, ok := err.(*core.Error); ok { //nolint:errorlint // nothing wraps it
			for _, f := range be.Fields {
				got = append(got, f.Field+": "+f.Message)
			}
		}
		if said := strings.Join(got, "; "); !strings.HasPrefix(said, tt.want) || (tt.want == "") != (said == "") || len(got) > 1 {
			t.Errorf("%s: %v, want %q", name, got, tt.want)
		}
	}
}
