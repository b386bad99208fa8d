package cycles

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestFlagsMakeMembers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]task.Member{
		"backup": {Task: "backup"},
		"report,every=24h,timeout=10m,max-attempts=3,on-failure=stop": {
			Task: "report", Every: core.Duration(24 * time.Hour), Timeout: core.Duration(10 * time.Minute), MaxAttempts: 3, OnFailure: task.FailureStop,
		},
		"a, every=7d, max_attempts=1":                   {Task: "a", Every: core.Duration(7 * 24 * time.Hour), MaxAttempts: 1},
		`a,every=1h,input={"x": [1,2], "every=": "3h"}`: {Task: "a", Every: core.Duration(time.Hour), Input: []byte(`{"x": [1,2], "every=": "3h"}`)},
		`a,input=1`: {Task: "a", Input: []byte("1")},
	} {
		if got, err := memberOf("--member", text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ",every=1h", "every=1h", "a,", "a,b", "a,every", "a,every=", "a,every=soon", "a,max-attempts=x", "a,on-failure=", "a,input={,", "a,,every=1h"} {
		got, err := memberOf("--member", text)
		if text == "a," { // a comma too many does no harm
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "--member") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
