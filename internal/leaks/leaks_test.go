package leaks

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestGoroutinesHaveAMinuteToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, found := range map[time.Duration]bool{0: false, 50 * time.Second: false, time.Hour: true} {
			begun := time.Now()
			err := await(func() error {
				if time.Since(begun) < after {
					return errors.New("left")
				}
				return nil
			})
			if (err != nil) != found || time.Since(begun) > 2*patience {
				t.Errorf("goroutines that end after %s: %v after %s", after, err, time.Since(begun))
			}
		}
	})
}
