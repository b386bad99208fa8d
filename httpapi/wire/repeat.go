package wire

// After a lost answer a hint ends with one of these if the request can have an idempotency key or an id. The command line replaces
// them by its flag, and leaves them out for a command without it.
const (
	RepeatWithKey = "; one with an idempotency key can be repeated"
	RepeatWithID  = "; one with an id can be repeated"
)
