// Package signin lets a provider of identities say who a person is: OpenID
// Connect, the authorization code flow with PKCE.
//
// Signatures, issuer, audience and times of ID tokens are checked
// by github.com/coreos/go-oidc. This package is around that: the provider
// is found when it is there and not only at the start, its answers are bounded,
// every refusal is told to people, and groups become grants
// ([belfry.Admission]).
package signin
