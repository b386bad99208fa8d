package sqlite

import "github.com/belfry-run/belfry/store"

// Waiting is how many transitions wait for the writer.
func Waiting(db store.DB) int { return len(db.(*DB).queue) }
