package intake_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/intake"
)

// A crontab is read whole: every line says what it means, or what is wrong
// with it.
func ExampleCrontab() {
	file := `CRON_TZ=Europe/Sofia
30 2 * * MON-FRI  /usr/local/bin/report.sh
0 25 * * *        /usr/local/bin/backup.sh
`
	r, err := intake.Crontab(strings.NewReader(file), intake.Options{Now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range r.Lines {
		if l.Err != nil {
			fmt.Println(l.Err)
			continue
		}
		fmt.Println(l.Schedule+":", l.Means)
		fmt.Println("next", l.Next[0])
	}
	// Output:
	// report: At 02:30 on Monday to Friday, Europe/Sofia time.
	// next 2026-02-02 02:30:00 +0200 EET
	// line 3, column 3, hour "25": is outside 0 to 23; understood so far: minute 0
}

// Endpoints of Gatus become monitors, and the registration of a domain one of its own. A condition that cannot be said is a
// note, and the monitor has the others.
func ExampleGatus() {
	file := `endpoints:
  - name: shop
    url: https://shop.example.com/health
    interval: 30s
    conditions:
      - "[STATUS] == 200"
      - "[BODY].status == UP"
      - "[DOMAIN_EXPIRATION] > 720h"
      - "age([HEADER].Last-Modified) < 10m"
`
	r, err := intake.Gatus(strings.NewReader(file), intake.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, l := range r.Lines {
		fmt.Println(l.Monitor+":", l.Means)
		fmt.Println(r.Manifest.Monitors[i].Check.Conditions)
		for _, note := range l.Notes {
			fmt.Println(note)
		}
	}
	// Output:
	// shop: GET https://shop.example.com/health every 30s.
	// [jq('.status') == 'UP']
	// shop: conditions[3] "age([HEADER].Last-Modified) < 10m" is not carried over: it has something that Belfry has no word for
	// example.com-registration: Look up the registration of example.com every 1d.
	// []
}
