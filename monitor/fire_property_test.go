package monitor

import (
	"time"

	"pgregory.net/rapid"
)

func minutesAfter(t *rapid.T, from time.Time, least, most int, label string) time.Time {
	return from.Add(time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute)
}
