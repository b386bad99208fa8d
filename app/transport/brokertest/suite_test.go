package brokertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestEveryTicketArrivesOnceWhenAllIsWell(t *testing.T) {
	onEach(t, long, func(t *testing.T, p *place, c transport.Carrier) {
		sent := tickets(1, 57)
		left, err := c.Publish(t.Context(), sent)
		if err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		got := map[job.Ticket]int{}
		for _, r := range receive(t, p.client(t), len(sent)) {
			got[r.Ticket]++
			if r.Count != 1 {
				t.Errorf("%+v", r)
			}
			must(t, c.Ack(t.Context(), []job.Delivery{r}))
		}
		for _, want := range sent {
			if got[want] != 1 {
				t.Errorf("%+v arrived %d times", want, got[want])
			}
		}
		wantNone(t, c)
	})
}

func TestNoMoreIsReceivedThanAskedFor(t *testing.T) {
	onEach(t, long, func(t *testing.T, _ *place, c transport.Carrier) {
		_, err := c.Publish(t.Context(), tickets(1, 40))
		must(t, err)
		for _, n := range []int{1, 3, 10, 26} {
			got := receive(t, c, n)
			if len(got) != n {
				t.Errorf("got %d, asked for %d", len(got), n)
			}
			must(t, c.Ack(t.Context(), got))
		}
		wantNone(t, c)
	})
}

func TestAReceiverIsWokenByTheFirstTicket(t *testing.T) {
	onEach(t, long, func(t *testing.T, p *place, c transport.Carrier) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got := make(chan []job.Delivery)
		go func() {
			for ctx.Err() == nil {
				deliveries, err := c.Receive(ctx, 50, 20*time.Second)
				if err != nil {
					t.Error(err)
				}
				if len(deliveries) > 0 {
					got <- deliveries
					return
				}
			}
		}()
		_, err := p.client(t).Publish(t.Context(), tickets(7, 7))
		must(t, err)
		if deliveries := <-got; len(deliveries) != 1 || deliveries[0].JobID != 7 {
			t.Errorf("%+v", deliveries)
		}
	})
}

func TestAReceiveEndsWithItsContext(t *testing.T) {
	onEach(t, long, func(t *testing.T, _ *place, c transport.Carrier) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := c.Receive(ctx, 5, 20*time.Second)
			ended <- err
		}()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestMessagesWithoutAcknowledgementComeAgain(t *testing.T) {
	onEach(t, brief, func(t *testing.T, p *place, c transport.Carrier) {
		_, err := c.Publish(t.Context(), tickets(1, 12))
		must(t, err)
		worker := p.client(t)
		first := receive(t, worker, 12)
		must(t, worker.Ack(t.Context(), first[:5]))
		must(t, worker.Close()) // it died
		missing := map[int64]bool{}
		for _, r := range first[5:] {
			missing[r.JobID] = true
		}
		for len(missing) > 0 {
			again := receive(t, c, 1)
			must(t, c.Ack(t.Context(), again))
			delete(missing, again[0].JobID)
			if again[0].Count < 2 {
				t.Errorf("%+v", again)
			}
		}
	})
}

func TestALateAcknowledgementHarmsNothing(t *testing.T) {
	onEach(t, brief, func(t *testing.T, _ *place, c transport.Carrier) {
		_, err := c.Publish(t.Context(), tickets(1, 1))
		must(t, err)
		late := receive(t, c, 1)
		must(t, c.Ack(t.Context(), receive(t, c, 1)))
		if err := c.Ack(t.Context(), late); err != nil {
			wantCode(t, err, core.Unavailable)
		}
		if err := c.Later(t.Context(), late, time.Second); err != nil {
			wantCode(t, err, core.Unavailable)
		}
		_, err = c.Publish(t.Context(), tickets(2, 2))
		must(t, err)
		for receive(t, c, 1)[0].JobID != 2 { // a slow machine may see the first again
		}
	})
}

func TestAPostponedTicketIsNotDeliveredNow(t *testing.T) {
	onEach(t, long, func(t *testing.T, _ *place, c transport.Carrier) {
		_, err := c.Publish(t.Context(), tickets(1, 11))
		must(t, err)
		got := receive(t, c, 11)
		far, soon := got[0], got[1:]
		must(t, c.Later(t.Context(), []job.Delivery{far}, time.Hour)) // bounded by a quarter
		must(t, c.Later(t.Context(), soon, 0))
		for _, r := range receive(t, c, 10) {
			if r.JobID == far.JobID || r.Count != 2 {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestTwoReceiversShareTheTickets(t *testing.T) {
	onEach(t, brief, func(t *testing.T, p *place, c transport.Carrier) {
		const all = 200
		_, err := c.Publish(t.Context(), tickets(1, all))
		must(t, err)
		var (
			mu      sync.Mutex
			seen    = map[int64]bool{}
			workers sync.WaitGroup
		)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for range 3 {
			one := p.client(t)
			workers.Go(func() {
				for ctx.Err() == nil {
					deliveries, err := one.Receive(ctx, 7, time.Second)
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					if err := one.Ack(context.WithoutCancel(ctx), deliveries); err != nil {
						t.Error(err)
					}
					mu.Lock()
					for _, r := range deliveries {
						seen[r.JobID] = true // twice is allowed: this machine may be slow
					}
					if len(seen) == all {
						cancel()
					}
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		if len(seen) != all {
			t.Errorf("%d of %d arrived", len(seen), all)
		}
	})
}

func TestAPoisonMessageIsPutAsideAndHoldsNothingUp(t *testing.T) {
	onEach(t, brief, func(t *testing.T, p *place, c transport.Carrier) {
		p.giveUpAfter(t, 2)
		for _, body := range []string{"poison", "{}", `{"v":1,"job_id":3}`, strings.Repeat("x", 100_000)} {
			p.send(t, body)
		}
		_, err := c.Publish(t.Context(), tickets(1, 1))
		must(t, err)
		must(t, c.Ack(t.Context(), receive(t, c, 1)))
		eventually(t, "all four are put aside", func() bool {
			must(t, second(c.Receive(t.Context(), 10, time.Second)))
			return p.dead(t) >= 4
		})
		if n := strings.Count(p.log.String(), "cannot be read"); n != 4 || strings.Contains(p.log.String(), "poison") {
			t.Errorf("%d lines in the log:\n%s", n, p.log)
		}
	})
}

func TestATicketAtWhichWorkersDieIsPutAside(t *testing.T) {
	onEach(t, brief, func(t *testing.T, p *place, c transport.Carrier) {
		p.giveUpAfter(t, 3)
		_, err := c.Publish(t.Context(), tickets(1, 1))
		must(t, err)
		for n := 1; n <= 3; n++ {
			if got := receive(t, c, 1); got[0].Count != n {
				t.Fatalf("%+v is delivery %d", got, n)
			}
		}
		eventually(t, "it is put aside", func() bool {
			must(t, second(c.Receive(t.Context(), 10, time.Second)))
			return p.dead(t) == 1
		})
	})
}

func TestOneMessageOfABatchThatIsRefusedIsNamed(t *testing.T) {
	onEach(t, long, func(t *testing.T, p *place, c transport.Carrier) {
		p.refuse(t)
		left, err := c.Publish(t.Context(), tickets(1, 3))
		wantCode(t, err, core.Unavailable)
		if len(left) != 1 {
			t.Fatal(left, err)
		}
		got := receive(t, c, 2)
		must(t, c.Ack(t.Context(), got))
		eventually(t, "it is taken", func() bool { // once there is room
			left, err = c.Publish(t.Context(), left)
			return err == nil && len(left) == 0
		})
		if last := receive(t, c, 1); last[0].JobID+got[0].JobID+got[1].JobID != 6 {
			t.Errorf("%+v %+v", got, last)
		}
	})
}

func TestABrokerThatWasAwayIsUsedAgain(t *testing.T) {
	onEach(t, brief, func(t *testing.T, p *place, c transport.Carrier) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := c.Publish(ctx, tickets(1, 5))
		must(t, err)
		held := receive(t, c, 1)
		p.shut()
		eventually(t, "a receive fails", func() bool {
			deliveries, err := c.Receive(ctx, 1, time.Second)
			if len(deliveries) > 0 {
				t.Fatal("received from nowhere")
			}
			return core.CodeOf(err) == core.Unavailable
		})
		left, err := c.Publish(ctx, tickets(6, 30))
		wantCode(t, err, core.Unavailable)
		if len(left) != 25 {
			t.Errorf("%d of 25 are left", len(left))
		}
		wantCode(t, c.Ack(ctx, held), core.Unavailable)
		wantCode(t, c.Check(ctx), core.Unavailable)
		p.open(t)
		eventually(t, "it is found again", func() bool {
			left, err = c.Publish(ctx, left)
			return err == nil
		})
		seen := map[int64]bool{}
		for len(seen) < 30 {
			deliveries := receive(t, c, 1)
			must(t, c.Ack(ctx, deliveries))
			seen[deliveries[0].JobID] = true
		}
	})
}

func TestAPlaceThatIsMissingSaysSoAndCanBeMade(t *testing.T) {
	t.Parallel()
	for kind, newPlace := range places {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := newPlace(t, long).client(t)
			for what, err := range map[string]error{
				"check":   c.Check(t.Context()),
				"receive": second(c.Receive(t.Context(), 1, time.Second)),
				"publish": second(c.Publish(t.Context(), tickets(1, 1))),
			} {
				if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "belfry broker setup") && !strings.Contains(hint(err), "belfry broker setup") {
					t.Errorf("%s: %v", what, err)
				}
			}
			must(t, c.Setup(t.Context()))
			must(t, c.Check(t.Context()))
			must(t, c.Setup(t.Context()))
			_, err := c.Publish(t.Context(), tickets(1, 1))
			must(t, err)
			receive(t, c, 1)
		})
	}
}

func second[T any](_ T, err error) error { return err }

func hint(err error) string {
	var e *core.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
