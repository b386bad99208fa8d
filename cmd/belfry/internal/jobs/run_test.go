package jobs

import (
	"encoding/json"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestRunInputKeepsEverythingRight(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, ``},
		{[]string{"--name=World"}, `{"name":"World"}`},
		{[]string{"--name", "World"}, `{"name":"World"}`},
		{[]string{"--flag"}, `{"flag":true}`},
		{[]string{"--flag", "--other=1"}, `{"flag":true,"other":1}`},
		{[]string{"--a=b=c"}, `{"a":"b=c"}`},
		{[]string{"--a", "b=c"}, `{"a":"b=c"}`},
		{[]string{"--a="}, `{"a":""}`},
		{[]string{"--a", "-5"}, `{"a":-5}`},
		{[]string{"--a=--b"}, `{"a":"--b"}`},
		{[]string{"--zip=0123", "--v=1.10", "--text=\"1.10\""}, `{"zip":"0123","v":1.10,"text":"1.10"}`},
		{[]string{"--o={\"x\": [1]}", "--n=null", "--t=true"}, `{"o":{"x": [1]},"n":null,"t":true}`},
		{[]string{"--l=1", "--m=x", "--l", "two"}, `{"l":[1,"two"],"m":"x"}`},
		{[]string{"--dash-ed_key.x=1"}, `{"dash-ed_key.x":1}`},
		{[]string{"--quote=\"half"}, `{"quote":"\"half"}`},
	} {
		got, err := runInput(tc.args, "")
		if err != nil || string(got) != tc.want {
			t.Errorf("%q: got %s, %v, want %s", tc.args, got, err, tc.want)
		}
		if len(got) > 0 && !json.Valid(got) {
			t.Errorf("%q: %s is not JSON", tc.args, got)
		}
	}
	for _, args := range [][]string{{"name=World"}, {"-n", "5"}, {"--"}, {"--=x"}, {"--a=1", "stray", "x"}} {
		if got, err := runInput(args, ""); core.CodeOf(err) != core.Invalid {
			t.Errorf("%q: got %s, %v", args, got, err)
		}
	}
}
