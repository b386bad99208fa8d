package setting

import (
	"reflect"
	"testing"

	"github.com/belfry-run/belfry/core"
)

type auth struct {
	User string      `json:"user,omitempty"`
	Key  core.Secret `json:"key"`
}

type site struct {
	URL     string                 `json:"url"`
	Token   core.Secret            `json:"token"`
	Headers map[string]core.Secret `json:"headers"`
	Auth    *auth                  `json:"auth"`
}

type document struct{ Site *site }

func TestAnEditLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	part := At(func(d *document) **site { return &d.Site }, nil, func(site) error { return nil })
	old := document{Site: &site{URL: "a", Auth: &auth{User: "me"}}}
	edited := old
	s := part.Edit(&edited)
	Value(s, "url").SetString("b")
	Value(s, "auth.user").SetString("you")
	if old.Site.URL != "a" || old.Site.Auth.User != "me" || edited.Site.URL != "b" || edited.Site.Auth.User != "you" {
		t.Errorf("old %+v, edited %+v", *old.Site, *edited.Site)
	}
	var empty document
	if part.Given(&empty) {
		t.Error("an empty document has settings")
	}
	Value(part.Edit(&empty), "auth.user").SetString("new")
	if !part.Given(&empty) || empty.Site.Auth.User != "new" {
		t.Errorf("the new settings are %+v", empty.Site)
	}
	if Value(s, "auth.nobody").IsValid() || Value(s, "url.user").IsValid() {
		t.Error("a path that does not exist has a value")
	}
}

func TestEverySecretIsMapped(t *testing.T) {
	t.Parallel()
	headers := map[string]core.Secret{"B": "2", "A": "1"}
	s := site{URL: "u", Token: "t", Headers: headers}
	var paths []string
	MapSecrets(&s, func(path string, s core.Secret) core.Secret {
		paths = append(paths, path)
		return s + "!"
	})
	if want := []string{"token", "headers.A", "headers.B"}; !reflect.DeepEqual(paths, want) {
		t.Errorf("the secrets are %v, want %v", paths, want)
	}
	if s.Token != "t!" || s.Headers["A"] != "1!" || headers["A"] != "1" || s.URL != "u" {
		t.Errorf("mapped to %+v, the map before is %v", s, headers)
	}
}
