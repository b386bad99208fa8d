package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// WebLimits returns the time limits of sessions in the web interface.
func (c Config) WebLimits() access.WebSessionLimits {
	return access.WebSessionLimits{Idle: c.ConsoleIdle, Life: c.ConsoleLife}
}

// Admission returns which users of the provider may sign in.
func (c Config) Admission() (a access.Admission, err error) {
	if a.Default, err = access.ParseGrants("oidc_default", c.OIDCDefault); err != nil {
		return a, err
	}
	a.Groups = map[string][]access.Grant{}
	for group, text := range c.OIDCGroups {
		if a.Groups[group], err = access.ParseGrants("oidc_groups", text); err != nil {
			return a, err
		}
	}
	return a, nil
}

// checkSignIn checks oidc_*. Without an issuer, these settings have no effect.
func (c Config) checkSignIn() (bad []core.FieldError) {
	say := func(field, value, message, hint string) {
		bad = append(bad, core.FieldError{Field: field, Value: value, Message: message, Hint: hint})
	}
	if c.OIDCIssuer == "" {
		if c.OIDCClientID != "" || c.OIDCSecretFile != "" || len(c.OIDCGroups) > 0 || c.OIDCDefault != "" {
			say("oidc_issuer", "", "is missing, and other keys of oidc are given", "such as https://accounts.example.com")
		}
		return bad
	}
	if u, err := url.Parse(c.OIDCIssuer); err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil || !confidential(u) {
		say("oidc_issuer", c.OIDCIssuer, "is not a URL with https", "such as https://accounts.example.com; http is for this machine alone")
	}
	if c.OIDCClientID == "" {
		say("oidc_client_id", "", "is missing", "the provider shows it where the client was made")
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || !confidential(u)) {
		say("public_url", c.PublicURL, "is not https, and people who sign in through a provider come back there", "end TLS in front of this node or in it")
	} else if c.PublicURL == "" && !IsLoopback(c.Listen) {
		say("public_url", "", "is missing, and people who sign in through a provider come back there", "such as https://belfry.example.com")
	}
	if !slices.Contains(c.OIDCScopes, "openid") {
		say("oidc_scopes", strings.Join(c.OIDCScopes, ","), "has no openid", "such as openid,profile,email")
	}
	if len(c.OIDCGroups) == 0 && strings.TrimSpace(c.OIDCDefault) == "" {
		say("oidc_groups", "", "lets nobody in, and neither does oidc_default", "such as ops=*:admin")
	}
	for group, text := range c.OIDCGroups {
		if strings.TrimSpace(text) == "" {
			say("oidc_groups", group, "may do nothing", "such as default:read, or leave it out")
		}
	}
	if _, err := c.Admission(); err != nil {
		bad = append(bad, err.(*core.Error).Fields...) //nolint:errorlint // created by the call above
	}
	return bad
}

// confidential reports whether the connection to u is encrypted or local.
func confidential(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && IsLoopback(u.Host))
}
