// Comparisons with other libraries, which thus stay out of Belfry's own module.
module github.com/belfry-run/belfry/bench

go 1.26.0

require (
	github.com/belfry-run/belfry v0.0.0
	github.com/netresearch/go-cron v0.9.1
	github.com/robfig/cron/v3 v3.0.1
	github.com/teambition/rrule-go v1.8.2
)

replace github.com/belfry-run/belfry => ../
