package cron

import (
	"testing"
	"time"
)

// A search whose end is open and that finds nothing used to begin again from
// before the start, as often as its budget let it: minutes for one rule.
func TestARuleThatNeverMatchesIsRefusedInBoundedWork(t *testing.T) {
	for _, rule := range []string{
		"FREQ=MINUTELY;BYYEARDAY=172;BYMONTHDAY=1",
		"FREQ=MINUTELY;BYYEARDAY=172;BYMONTHDAY=1;INTERVAL=17",
		"FREQ=MINUTELY;BYYEARDAY=172;BYMONTHDAY=1;BYSETPOS=1",
	} {
		done := make(chan error, 1)
		go func() {
			_, err := ParseRRule("DTSTART;TZID=Pacific/Apia:20100316T230000\nRRULE:"+rule, Options{})
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s is accepted", rule)
			}
		case <-time.After(time.Minute): // it takes under a millisecond; minutes before
			t.Fatalf("%s holds a CPU", rule)
		}
	}
}
