package core_test

import (
	"fmt"

	"github.com/belfry-run/belfry/core"
)

func ExampleParseDuration() {
	for _, text := range []string{"90s", "7d", "1w2d", "1d12h", "5"} {
		d, err := core.ParseDuration(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(d)
	}
	// Output:
	// 1m30s
	// 7d
	// 9d
	// 36h
	// "5" has no unit, write "5s" or "5m"
}
