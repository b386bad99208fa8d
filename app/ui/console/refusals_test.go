package console

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// Visitors who come back without having left, again and again, do not fill the log with warnings.
func TestRefusedSignInsDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Console{refusals: newRefusals()}
		warned := func(visitors int) (n int) {
			for range visitors {
				if c.refusalLevel() == slog.LevelWarn {
					n++
				}
			}
			return n
		}
		if n := warned(1000); n != warnAtOnce {
			t.Errorf("%d warnings of 1000 refusals", n)
		}
		time.Sleep(time.Second)
		if n := warned(1000); n != 1 {
			t.Errorf("%d warnings a second later", n)
		}
	})
}
