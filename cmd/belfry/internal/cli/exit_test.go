package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		ExitOK:           {nil},
		ExitFailed:       {ExitStatus(ExitFailed), errors.New("anything"), context.Canceled},
		ExitUsage:        {core.Errorf(core.Invalid, "x"), core.Errorf(core.TooLarge, "x"), &config.FileError{What: "manifest"}},
		ExitNotFound:     {core.Errorf(core.NotFound, "x")},
		ExitConflict:     {core.Errorf(core.Conflict, "x"), ExitStatus(ExitConflict)},
		ExitUnauthorized: {core.Errorf(core.Unauthorized, "x"), core.Errorf(core.Forbidden, "x")},
		ExitUnknown:      {core.Errorf(core.Unknown, "x")},
		ExitUnavailable:  {fmt.Errorf("around: %w", core.Errorf(core.Unavailable, "x"))},
		ExitInternal:     {core.Errorf(core.Internal, "x")},
		ExitOverQuota:    {core.Errorf(core.OverQuota, "x")},
		ExitQueueFull:    {core.Errorf(core.QueueFull, "x")},
		ExitNothing:      {ExitStatus(ExitNothing)},
	} {
		for _, err := range errs {
			if got := ExitCode(err); got != want {
				t.Errorf("%v: exit code %d, want %d", err, got, want)
			}
			if want > 0 && !strings.Contains(ExitHelp, fmt.Sprintf("\n %2d  ", want)) {
				t.Errorf("the help does not tell exit code %d", want)
			}
		}
	}
}

func TestErrorsAreReportedForPeople(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	cause := core.InvalidField("rules[0].cron", "99 * * * *", "is outside 0 to 59", "a minute is 0 to 59").WithHint("belfry schedule --help")
	report(&b, fmt.Errorf("create schedule: %w", cause), false)
	want := `error: create schedule: invalid input
  rules[0].cron "99 * * * *": is outside 0 to 59 (a minute is 0 to 59)
try: belfry schedule --help
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTheHintOfALostAnswerNamesOnlyFlagsOfTheCommand(t *testing.T) {
	t.Parallel()
	plain, keyed := &cobra.Command{Use: "create"}, &cobra.Command{Use: "enqueue"}
	keyed.Flags().String("key", "", "")
	const look = "look whether it was made before you repeat the request"
	for cmd, want := range map[*cobra.Command]string{plain: look, keyed: look + "; with --key it can be repeated"} {
		err := base.OutcomeUnknown(errors.New("cut off"))
		nameRepeat(cmd, err)
		var e *core.Error
		if !errors.As(err, &e) || e.Hint != want {
			t.Errorf("%s: got %v, want the hint %q", cmd.Use, err, want)
		}
	}
}
