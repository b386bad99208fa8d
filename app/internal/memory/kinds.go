package memory

import "context"

// First is what a body takes at most until as much of it has come.
const First = 16 << 10

// Kinds has shares of each kind. A body takes its share of Large only once its first bytes have come. Clients who send slowly, or
// nothing, so hold up other bodies, and large ones at most, but no answers.
type Kinds struct{ Answers, Bodies, Large *Shares }

// NewKinds returns shares of [All] bytes of each kind.
func NewKinds() Kinds { return Kinds{New(), New(), New()} }

// TakeBody waits for the first bytes of a body of n bytes. When they have come, rest waits for all. The request gives back both with
// the returned function. goesOn is called after each wait: the client could not send while it lasted.
func (k Kinds) TakeBody(ctx context.Context, holder string, n int64, goesOn func()) (rest func() error, give func(), err error) {
	giveFirst, err := k.Bodies.Take(ctx, holder, min(n, First))
	if err != nil {
		return nil, nil, err
	}
	goesOn()
	giveLarge := func() {}
	rest = func() error {
		large, err := k.Large.Take(ctx, holder, n)
		if err == nil {
			giveLarge = large
		}
		goesOn()
		return err
	}
	return rest, func() { giveLarge(); giveFirst() }, nil
}
