package cron

import "github.com/belfry-run/belfry/cron/internal/refusal"

// Error is why a text was refused. Field is the part that is wrong, such as "minute", "BYDAY" or "zone", and "" for the
// whole text. Value is the words refused, as written, and Pos the column of the first wrong character, from 1, or 0 when
// there is no single place. Msg is what is wrong; Seen, which may be empty, what was understood up to there; Hint, which may
// be empty, what to do. Its text is one sentence for a person.
type Error = refusal.Error
