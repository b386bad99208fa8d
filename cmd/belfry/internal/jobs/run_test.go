package jobs

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
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

// asked is a server that notes what it is asked for, and refuses it.
type asked struct {
	httpapi.Service
	jobs []job.NewJob
}

func (a *asked) Enqueue(_ context.Context, jobs []job.NewJob) ([]job.Enqueued, error) {
	a.jobs = append(a.jobs, jobs...)
	return nil, core.Errorf(core.Unavailable, "later")
}

// A request whose answer was lost is repeated only with a key, and each run is one of its own.
func TestARunHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	server := &asked{}
	for range 2 {
		if err := runElsewhere(t.Context(), &cli.CLI{}, &cli.Conn{Service: server}, task.Task{Namespace: "default", Name: "greet"}, nil); err == nil {
			t.Error("what was refused is said to be done")
		}
	}
	if len(server.jobs) != 2 || server.jobs[0].Key == "" || server.jobs[0].Key == server.jobs[1].Key {
		t.Errorf("got %+v, want two jobs with a key each", server.jobs)
	}
}
