package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// Flow is one way to the provider and back. The browser that began it keeps it,
// and shows by it that it is the one that comes back.
type Flow struct {
	State    string `json:"state"`    // comes back with the answer
	Nonce    string `json:"nonce"`    // comes back within the ID token
	Verifier string `json:"verifier"` // of PKCE: without it the code is worth nothing
}

// Person is a person who signed in.
type Person struct {
	Name   string         // as tokens are called
	Groups []string       // as the provider names them
	Grants []access.Grant // at least one
}

// Begin returns the address at the provider, which sends the person back to redirect.
func (p *Provider) Begin(ctx context.Context, redirect string) (address string, f Flow, err error) {
	e, err := p.find(ctx)
	if err != nil {
		return "", f, err
	}
	f = Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	c := p.config(e, redirect, "")
	return c.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), f, nil
}

func (p *Provider) config(e *endpoint, redirect, secret string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.opt.ClientID, ClientSecret: secret, Endpoint: e.Endpoint, RedirectURL: redirect, Scopes: p.opt.Scopes}
}

// Finish returns the person who came back to redirect, from their network, the flow
// and the query of the address. Its errors are for people; [Cause] is for the log.
func (p *Provider) Finish(ctx context.Context, from netip.Prefix, f Flow, redirect string, answer url.Values) (Person, error) {
	if err := p.checkAnswer(f, answer); err != nil {
		return Person{}, err
	}
	leave, err := p.exchanges.enter(ctx, from)
	if err != nil {
		return Person{}, err
	}
	defer leave()
	e, err := p.find(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx = p.with(ctx)
	token, err := p.exchange(ctx, e, f, redirect, answer.Get("code"))
	if err != nil {
		return Person{}, err
	}
	raw, _ := token.Extra("id_token").(string)
	said, err := p.verify(ctx, e, f, raw)
	if err != nil {
		return Person{}, err
	}
	claims, err := p.claims(ctx, e, token, said)
	if err != nil {
		return Person{}, err
	}
	return p.person(claims)
}

// checkAnswer checks the query of the answer. Nothing of it is used or shown before
// the state proves that the answer belongs to this flow.
func (p *Provider) checkAnswer(f Flow, answer url.Values) error {
	state := answer.Get("state")
	if f.State == "" || f.Nonce == "" || f.Verifier == "" || subtle.ConstantTimeCompare([]byte(state), []byte(f.State)) != 1 {
		return refuse(core.Unauthorized, nil, "begin again, and end it in the same browser within ten minutes",
			"this answer belongs to no sign-in that was begun here")
	}
	if iss := answer.Get("iss"); iss != "" && iss != p.opt.Issuer { // RFC 9207
		return refuse(core.Unauthorized, nil, "begin again", "this answer comes from another provider, %q", brief(iss))
	}
	switch code := answer.Get("error"); {
	case code == "access_denied":
		return refuse(core.Forbidden, nil, "ask its administrator", "%s did not let you in%s", p.host, described(answer))
	case code != "":
		return refuse(core.Unauthorized, nil, "begin again; if it stays, an operator compares the client's settings at the provider with oidc_*",
			"%s refused: %q%s", p.host, brief(code), described(answer))
	case answer.Get("code") == "":
		return refuse(core.Unauthorized, nil, "begin again", "%s sent no code", p.host)
	}
	return nil
}

func described(answer url.Values) string {
	if text := answer.Get("error_description"); text != "" {
		return fmt.Sprintf(", because of %q", brief(text))
	}
	return ""
}

func (p *Provider) exchange(ctx context.Context, e *endpoint, f Flow, redirect, code string) (*oauth2.Token, error) {
	secret := ""
	if p.opt.Secret != nil {
		var err error
		if secret, err = p.opt.Secret(); err != nil {
			return nil, refuse(core.Internal, err, "the server's log says more", "the secret for %s cannot be read", p.host)
		}
	}
	token, err := p.config(e, redirect, secret).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant":
		return nil, refuse(core.Unauthorized, err, "begin again", "%s does not know this code: it was used before, or is too old", p.host)
	case errors.As(err, &refused) && refused.ErrorCode != "":
		return nil, refuse(core.Unauthorized, err, "an operator compares the client's settings at the provider with oidc_*",
			"%s refused this node: %q", p.host, brief(refused.ErrorCode))
	case err != nil:
		return nil, p.unreachable(err)
	}
	return token, nil
}

// ahead is how far beyond our clock a token may have been issued.
const ahead = 5 * time.Minute

func (p *Provider) verify(ctx context.Context, e *endpoint, f Flow, raw string) (*oidc.IDToken, error) {
	clock := func(cause error, format string, args ...any) error {
		return refuse(core.Unauthorized, cause, "begin again; if it stays, the clock of this node or of the provider is wrong, and an operator sets it, such as with NTP",
			format, args...)
	}
	now := p.opt.Now()
	said, err := e.verifier.Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, clock(err, "what %s said was over at %s, and here it is %s", p.host, core.Stamp(expired.Expiry), core.Stamp(now))
	case err != nil && strings.Contains(err.Error(), "(not before)"): // it has no type
		return nil, clock(err, "what %s said is not valid yet, and here it is %s", p.host, core.Stamp(now))
	case err != nil && strings.Contains(err.Error(), "fetching keys"): // nor has this
		return nil, p.unreachable(err)
	case err != nil:
		return nil, p.unbelievable(err)
	case said.Subject == "":
		return nil, p.unbelievable(errors.New("it has no subject"))
	case subtle.ConstantTimeCompare([]byte(said.Nonce), []byte(f.Nonce)) != 1:
		return nil, p.unbelievable(errors.New("the nonce is another"))
	case said.IssuedAt.After(now.Add(ahead)):
		return nil, clock(nil, "what %s said is from %s, and here it is %s", p.host, core.Stamp(said.IssuedAt), core.Stamp(now))
	}
	var party struct {
		Authorized string `json:"azp"`
	}
	if err := said.Claims(&party); err != nil {
		return nil, p.unbelievable(err)
	}
	if party.Authorized != p.opt.ClientID && (party.Authorized != "" || len(said.Audience) > 1) {
		return nil, p.unbelievable(fmt.Errorf("issued to %q, for %q", party.Authorized, said.Audience))
	}
	return said, nil
}

func (p *Provider) unbelievable(err error) error {
	return refuse(core.Unauthorized, err, "begin again; if it stays, the server's log says why", "what %s said cannot be believed", p.host)
}

// claims returns the claims of the ID token. Some providers send groups, or all
// claims but the subject, only from userinfo, with the access token.
func (p *Provider) claims(ctx context.Context, e *endpoint, token *oauth2.Token, said *oidc.IDToken) (map[string]any, error) {
	var claims map[string]any
	if err := said.Claims(&claims); err != nil {
		return nil, p.unbelievable(err)
	}
	_, named := claims[p.opt.NameClaim]
	_, grouped := claims[p.opt.GroupsClaim]
	if named && (grouped || len(p.opt.Admission.Groups) == 0) || !Confidential(e.UserInfoEndpoint()) {
		return claims, nil
	}
	info, err := e.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, p.unreachable(err)
	}
	var more map[string]any
	if err := info.Claims(&more); err != nil || info.Subject != said.Subject {
		return nil, p.unbelievable(errors.Join(err, fmt.Errorf("told of %q when asked for %q", info.Subject, said.Subject)))
	}
	// Signed claims count before others; and whether an address is verified
	// belongs to that address.
	if mail, there := claims["email"]; there && mail != more["email"] {
		delete(more, "email_verified")
	}
	for name, value := range more {
		if _, there := claims[name]; !there {
			claims[name] = value
		}
	}
	return claims, nil
}

// person returns the person of the claims, if they are admitted.
func (p *Provider) person(claims map[string]any) (Person, error) {
	who := Person{Groups: texts(claims[p.opt.GroupsClaim])}
	who.Name, _ = claims[p.opt.NameClaim].(string)
	switch {
	case who.Name == "":
		return who, refuse(core.Forbidden, nil, "an operator chooses another oidc_name_claim, or adds what it needs to oidc_scopes",
			"%s does not say who you are: it sends no %q", p.host, p.opt.NameClaim)
	case p.opt.NameClaim == "email" && unverified(claims["email_verified"]):
		return who, refuse(core.Forbidden, nil, "confirm it there, and begin again", "%s has not verified the address %q", p.host, brief(who.Name))
	}
	who.Grants = p.opt.Admission.Grants(who.Groups)
	if len(who.Grants) == 0 {
		return who, refuse(core.Forbidden, nil, "an operator lets a group in with oidc_groups, or everybody with oidc_default",
			"you are %s, and %s", brief(who.Name), inGroups(who.Groups))
	}
	return who, nil
}

// unverified reports that a provider says so, and not merely nothing. Some do not say it as a truth value.
func unverified(claim any) bool {
	switch c := claim.(type) {
	case bool:
		return !c
	case string:
		yes, err := strconv.ParseBool(c)
		return err != nil || !yes
	case float64:
		return c != 1
	}
	return claim != nil
}

// shownGroups bounds the groups that a refusal names.
const shownGroups = 20

func inGroups(groups []string) string {
	if len(groups) == 0 {
		return "your provider names no group of yours"
	}
	text := strings.Join(groups[:min(len(groups), shownGroups)], ", ")
	if len(groups) > shownGroups {
		text += ", …"
	}
	return "none of your groups may use this node: " + brief(text)
}

// texts is a claim of one or several texts.
func texts(claim any) (list []string) {
	switch c := claim.(type) {
	case string:
		return []string{c}
	case []any:
		for _, item := range c {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}
