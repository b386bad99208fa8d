package brokertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/job"
)

// unruly is a broker on its worst day. It loses one message in five on their
// way in, doubles and replays others, shuffles what is left, delivers twice, and
// forgets acknowledgements. It never invents a message.
type unruly struct {
	transport.Carrier
	calm atomic.Bool

	mu   sync.Mutex
	rnd  *rand.Rand
	past []job.Ticket // to be replayed

	lost, doubled, replayed, forgotten int
}

func newUnruly(c transport.Carrier, seed uint64) *unruly {
	return &unruly{Carrier: c, rnd: rand.New(rand.NewPCG(seed, 11))}
}

// Publish reports success for all messages, whatever became of them.
func (u *unruly) Publish(ctx context.Context, ts []job.Ticket) (left []job.Ticket, err error) {
	left, err = u.Carrier.Publish(ctx, u.spoil(ts))
	if err != nil {
		return ts, err // and so some come twice
	}
	return nil, nil
}

func (u *unruly) spoil(ts []job.Ticket) (sent []job.Ticket) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, t := range ts {
		switch roll := u.rnd.IntN(100); {
		case u.calm.Load() || roll >= 50:
			sent = append(sent, t)
		case roll < 20:
			u.lost++
		case roll < 40:
			u.doubled++
			sent = append(sent, t, t)
		default:
			sent = append(sent, t)
			if len(u.past) > 0 {
				u.replayed++
				sent = append(sent, u.past[u.rnd.IntN(len(u.past))])
			}
		}
	}
	u.past = append(u.past, ts...)
	u.rnd.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
	return sent
}

// Receive may deliver some a second time, as one message of two.
func (u *unruly) Receive(ctx context.Context, n int, wait time.Duration) ([]job.Delivery, error) {
	deliveries, err := u.Carrier.Receive(ctx, n, wait)
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range slices.Clone(deliveries) {
		if len(deliveries) < n && !u.calm.Load() && u.rnd.IntN(10) == 0 {
			u.doubled++
			deliveries = append(deliveries, r)
		}
	}
	u.rnd.Shuffle(len(deliveries), func(i, j int) { deliveries[i], deliveries[j] = deliveries[j], deliveries[i] })
	return deliveries, err
}

// Ack may not arrive.
func (u *unruly) Ack(ctx context.Context, rs []job.Delivery) error {
	u.mu.Lock()
	var heard []job.Delivery
	for _, r := range rs {
		if u.calm.Load() || u.rnd.IntN(10) > 0 {
			heard = append(heard, r)
		} else {
			u.forgotten++
		}
	}
	u.mu.Unlock()
	return u.Carrier.Ack(ctx, heard)
}
