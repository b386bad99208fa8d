// Package signin signs people in through a provider of identities: OpenID Connect,
// the authorization code flow with PKCE. The console calls it; [Provider] is its
// main type.
//
// Signatures, issuer, audience and times of ID tokens are checked by
// github.com/coreos/go-oidc. This package adds the rest: the provider is looked for
// until it is there and not only at the start, its answers are bounded, people see
// the reason of a refusal, and groups become grants ([access.Admission]).
package signin
