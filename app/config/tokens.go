package config

import (
	"os"
	"regexp"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// GivenToken is a token with a secret that the operator chose, for unattended
// installation.
type GivenToken struct {
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"` // default: default; * for all
	Scopes    []access.Scope `json:"scopes"`
	Secret    core.Secret    `json:"secret"`
}

// Token returns the token without its secret.
func (g GivenToken) Token() access.Token {
	return access.Token{Name: g.Name, Namespace: g.Namespace, Scopes: g.Scopes}.WithDefaults()
}

// givenSecret matches chosen secrets. They must be as hard to guess as generated
// ones, because the database holds only an unsalted hash.
var givenSecret = regexp.MustCompile(`^belfry_[A-Za-z0-9_-]{43,128}$`)

// ReadTokens reads a file of tokens: a document with a list "tokens". Errors
// contain the file and the field, but no secret.
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
