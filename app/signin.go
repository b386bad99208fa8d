package app

import (
	"fmt"
	"os"
	"strings"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/signin"
	"github.com/belfry-run/belfry/core"
)

// provider returns the OpenID Connect provider for sign-in, or nil.
func (a *App) provider() (*signin.Provider, error) {
	c := a.opt.Config
	if c.OIDCIssuer == "" {
		return nil, nil
	}
	admission, err := c.Admission()
	if err != nil {
		return nil, err
	}
	o := signin.Options{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, Scopes: c.OIDCScopes, NameClaim: c.OIDCNameClaim, GroupsClaim: c.OIDCGroupsClaim,
		Admission: admission, Logger: a.log, Now: a.clock.Now,
	}
	if c.OIDCSecretFile != "" {
		// The file is read at each use, so that it can change while the node runs. The
		// read below reports a missing file at the start.
		o.Secret = func() (string, error) { return readSecret(c) }
		if _, err := o.Secret(); err != nil {
			return nil, err
		}
	}
	return signin.New(o)
}

// maxSecret limits the client secret, in bytes.
const maxSecret = 4 << 10

func readSecret(c config.Config) (string, error) {
	text, err := os.ReadFile(c.OIDCSecretFile)
	secret := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", core.InvalidField("oidc_client_secret_file", c.OIDCSecretFile, "cannot be read: "+err.Error(), "give a file with the client's secret")
	case secret == "" || len(secret) > maxSecret:
		return "", core.InvalidField("oidc_client_secret_file", c.OIDCSecretFile, fmt.Sprintf("holds no secret of 1 to %d bytes", maxSecret), "")
	}
	return secret, nil
}
