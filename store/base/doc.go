// Package base holds what all packages of the store stand on: the transaction, the dialect, batches, wake-ups, the clock and
// caches of rows. [Store] has the options and the database, and each package of a noun embeds it. [Change] is a transition:
// one transaction with its time, its audit entries and its wake-ups, which are sent after the commit. A function that gets a
// Change never commits, and may be called again with a new one after a conflict. The dialects in store/sqlite and
// store/postgres implement [DB], [Tx] and [Dialect]. Nothing here knows a table of a noun, except for the few that claims and
// audit need.
package base
