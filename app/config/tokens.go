package config

import (
	"os"
	"regexp"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// GivenToken is a token whose secret the operator chose, so that an installation
// starts by itself.
type GivenToken struct {
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"` // default: default; * for everywhere
	Scopes    []access.Scope `json:"scopes"`
	Secret    core.Secret    `json:"secret"`
}

// Token is the token without its secret.
func (g GivenToken) Token() access.Token {
	return access.Token{Name: g.Name, Namespace: g.Namespace, Scopes: g.Scopes}.WithDefaults()
}

// givenSecret is what a chosen secret must look like: as long and as hard to
// guess as one that Belfry makes, since only a plain hash of it is kept.
var givenSecret = regexp.MustCompile(`^belfry_[A-Za-z0-9_-]{43,128}$`)

// ReadTokens reads a file of tokens: a document with a list "tokens". Errors
// name the file and the field and hold no secret.
func ReadTokens(path string) ([]GivenToken, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, core.InvalidField("initial_tokens", path, "cannot be read: "+err.Error(), "name a file that this user can read")
	}
	var file struct {
		Tokens []GivenToken `json:"tokens"`
	}
	if err := Decode(Source{Name: path, Text: text}, "tokens", &file); err != nil {
		return nil, err
	}
	e := &core.Error{Code: core.Invalid, Message: "initial_tokens " + path}
	for i, t := range file.Tokens {
		if !givenSecret.MatchString(string(t.Secret)) {
			e.Fields = append(e.Fields, core.FieldError{
				Field: "tokens[" + strconv.Itoa(i) + "].secret", Message: "must be belfry_ and 43 to 128 letters, digits, - or _",
				Hint: "make one: echo belfry_$(head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d =)",
			})
		}
	}
	if len(file.Tokens) == 0 {
		e.Fields = append(e.Fields, core.FieldError{Field: "tokens", Message: "must have at least one token", Hint: "leave initial_tokens out if there is none"})
	}
	if len(e.Fields) > 0 {
		return nil, e
	}
	return file.Tokens, nil
}
