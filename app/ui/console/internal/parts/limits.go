package parts

import (
	"time"

	"github.com/belfry-run/belfry/view"
)

// LimitUse is a limit and how it is used, for the parts of limits.
type LimitUse struct {
	view.LimitUse
	Keys []LimitKey
}

// LimitKey is a key of a limit.
type LimitKey struct {
	view.KeyUse
	Next Moment // by the rate
}

// limitUses are limits as a page shows them, with times in its zone.
func limitUses(page interface{ When(t time.Time) Moment }, all []view.LimitUse) []LimitUse {
	uses := make([]LimitUse, len(all))
	for i, u := range all {
		uses[i].LimitUse = u
		for _, k := range u.Keys {
			uses[i].Keys = append(uses[i].Keys, LimitKey{KeyUse: k, Next: page.When(k.NextAt)})
		}
	}
	return uses
}
