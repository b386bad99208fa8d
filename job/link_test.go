package job_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*job.Link)
		field  string
		says   string
	}{
		"a person":              {func(l *job.Link) { l.For = "ann@example.com" }, "", ""},
		"any script":            {func(l *job.Link) { l.For = "アン 🦊" }, "", ""},
		"100 bytes":             {func(l *job.Link) { l.For = strings.Repeat("x", 100) }, "", ""},
		"101 bytes":             {func(l *job.Link) { l.For = strings.Repeat("x", 101) }, "for", "must have at most 100 bytes"},
		"two lines":             {func(l *job.Link) { l.For = "ann\nbob" }, "for", "must be one line, and contains the control character U+000A"},
		"an escape":             {func(l *job.Link) { l.For = "ann\x1b[2J" }, "for", "must be one line, and contains the control character U+001B"},
		"another direction":     {func(l *job.Link) { l.For = "ann\u202ebob" }, "for", "must not contain U+202E, which changes the direction of the text around it"},
		"spaces around it":      {func(l *job.Link) { l.For = " ann" }, "for", "must not begin or end with a space"},
		"a second":              {func(l *job.Link) { l.Valid = core.Duration(time.Second) }, "", ""},
		"under a second":        {func(l *job.Link) { l.Valid = core.Duration(time.Second - 1) }, "valid", "is not between 1s and 90d"},
		"90 days":               {func(l *job.Link) { l.Valid = core.Duration(job.MaxLinkFor) }, "", ""},
		"more than 90 days":     {func(l *job.Link) { l.Valid = core.Duration(job.MaxLinkFor + 1) }, "valid", "is not between 1s and 90d"},
		"no name of the signal": {func(l *job.Link) { l.Name = "" }, "name", "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := job.Link{Name: "approved"}
			test.change(&l)
			err := l.Validate()
			if test.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var known *core.Error
			if !errors.As(err, &known) || len(known.Fields) != 1 || known.Fields[0].Field != test.field || known.Fields[0].Message != test.says {
				t.Errorf("got %v, want %s: %s", err, test.field, test.says)
			}
		})
	}
}

func TestAZeroValidityThatIsGivenIsRefused(t *testing.T) {
	t.Parallel()
	given := func(field string) bool { return field == "valid" }
	l := job.Link{Name: "approved"}
	if err := l.CheckGiven(given); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "leave it out for 7d") {
		t.Errorf("got %v", err)
	}
	if err := l.CheckGiven(func(string) bool { return false }); err != nil {
		t.Errorf("not given: %v", err)
	}
	l.Valid = core.Duration(time.Hour)
	if err := l.CheckGiven(given); err != nil {
		t.Errorf("an hour: %v", err)
	}
}
