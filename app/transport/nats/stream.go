// Package nats carries tickets through a stream of NATS JetStream.
//
// The stream has work-queue retention and one durable consumer, "workers", that
// all workers share. Beside it stands a stream NAME_dead: messages that cannot be
// read are moved there, and JetStream's notice of a message that it gave up is kept
// there. Nothing reads it; an alarm on its length tells a person.
//
// A node needs the right to publish to belfry.tickets.NAME. A worker needs
// $JS.API.CONSUMER.INFO.NAME.workers, $JS.API.CONSUMER.MSG.NEXT.NAME.workers,
// $JS.ACK.NAME.> and belfry.dead.NAME. Both subscribe to _INBOX.>. A check needs
// $JS.API.STREAM.INFO.NAME besides, a setup $JS.API.STREAM.> and
// $JS.API.CONSUMER.>.
package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Options of a stream. The zero value works.
type Options struct {
	// Name is the name of this client at the server. Default: "belfry".
	Name string
	// Hold is how long a message that was received is kept from others, as Setup
	// writes it down. Default: [transport.Hold].
	Hold time.Duration
	// Logger is told of messages that cannot be read. Default: none.
	Logger *slog.Logger
}

// Stream is a stream of JetStream.
type Stream struct {
	place Place
	hold  time.Duration
	log   *slog.Logger
	conn  *nats.Conn
	js    jetstream.JetStream
	end   context.CancelFunc // of its connections

	mu      sync.Mutex
	workers jetstream.Consumer // once it was found
}

var _ transport.Carrier = (*Stream)(nil)

const (
	consumer = "workers"
	// publishing is how many messages may be under way at the same time.
	publishing = 256
	// shortWait is how long the server may take for an answer without waiting.
	shortWait = 10 * time.Second
)

// Open reads the credentials and begins to connect. It does not wait for the
// server, so that a program starts while that is away, and comes back to it
// whenever it was lost: see [Stream.Check].
func Open(place Place, o Options) (*Stream, error) {
	if err := place.check(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Name == "" {
		o.Name = "belfry"
	}
	if o.Hold == 0 {
		o.Hold = transport.Hold
	}
	settings, err := place.settings()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	first, giveUp := context.WithCancel(life)
	hurry := time.AfterFunc(openWait, giveUp)
	d := &dialer{ctx: first}
	conn, err := nats.Connect(place.urls(), append(settings, nats.Name(o.Name), nats.SetCustomDialer(d))...)
	hurry.Stop()
	d.use(life)
	if err != nil {
		end()
		return nil, core.Errorf(core.Invalid, "the client of NATS cannot be made: %w", err)
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(publishing), jetstream.WithPublishAsyncTimeout(shortWait))
	if err != nil {
		conn.Close()
		end()
		return nil, core.Errorf(core.Invalid, "the client of JetStream cannot be made: %w", err)
	}
	return &Stream{place: place, hold: o.Hold, log: o.Logger, conn: conn, js: js, end: end}, nil
}

func (p Place) settings() ([]nats.Option, error) {
	list := []nats.Option{
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, time.Second), nats.IgnoreAuthErrorAbort(),
		nats.Timeout(shortWait), nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
		// A message without a listener is an error now and not a surprise later.
		nats.ReconnectBufSize(-1),
	}
	if p.TLS {
		list = append(list, nats.Secure())
	}
	if p.CA != "" {
		list = append(list, nats.RootCAs(p.CA))
	}
	if p.Cert != "" {
		list = append(list, nats.ClientCert(p.Cert, p.Key))
	}
	if p.Creds != "" {
		// The client reads it at each connection, and would try for ever without it.
		if _, err := os.ReadFile(p.Creds); err != nil {
			return nil, transport.BadAddress("names a file of creds that cannot be read")
		}
		list = append(list, nats.UserCredentials(p.Creds))
	}
	if p.Nkey != "" {
		nkey, err := nats.NkeyOptionFromSeed(p.Nkey)
		if err != nil {
			return nil, transport.BadAddress("names a file of an nkey that cannot be read")
		}
		list = append(list, nkey)
	}
	return list, nil
}

// Close gives up the connection. Messages received and not acknowledged come
// again to others.
func (s *Stream) Close() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.conn.Close()
	}()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	s.end()
	<-closed
	return nil
}

// Publish sends tickets. A ticket that is sent again within two minutes is one
// message.
func (s *Stream) Publish(ctx context.Context, ts []job.Ticket) (left []job.Ticket, err error) {
	if err := s.connected(ctx); err != nil {
		return ts, err
	}
	sent := make([]jetstream.PubAckFuture, 0, len(ts))
	for _, t := range ts {
		if err = ctx.Err(); err != nil {
			break
		}
		var future jetstream.PubAckFuture
		if future, err = s.js.PublishAsync(s.place.subject(), transport.Encode(t), jetstream.WithMsgID(messageID(t))); err != nil {
			break
		}
		sent = append(sent, future)
	}
	for i, future := range sent {
		if failed := await(ctx, future); failed != nil {
			left = append(left, ts[i])
			if err == nil {
				err = failed
			}
		}
	}
	return append(left, ts[len(sent):]...), s.fault("publish to", err)
}

func await(ctx context.Context, f jetstream.PubAckFuture) error {
	select {
	case <-f.Ok():
		return nil
	case err := <-f.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// messageID identifies tickets without their secrets. A ticket that is made again gets another id: the stream drops a repeated
// one, also if it has lost the first.
func messageID(t job.Ticket) string {
	sum := sha256.Sum256([]byte(t.Secret))
	return strconv.FormatInt(t.JobID, 10) + "." + hex.EncodeToString(sum[:8]) + "." + strconv.FormatInt(t.Made, 10)
}

// Receive takes messages. One that cannot be read is moved to the stream of the
// dead.
func (s *Stream) Receive(ctx context.Context, n int, wait time.Duration) (deliveries []job.Delivery, err error) {
	workers, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	deliveries, err = s.take(ctx, func() (jetstream.MessageBatch, error) { return workers.FetchNoWait(n) })
	if err != nil || len(deliveries) > 0 || wait <= 0 {
		return deliveries, s.lost(err)
	}
	// The first message, and then those that came with it: a wait for n would delay
	// the first.
	first, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	deliveries, err = s.take(ctx, func() (jetstream.MessageBatch, error) {
		return workers.Fetch(1, jetstream.FetchContext(first))
	})
	if err != nil || len(deliveries) == 0 || n == 1 {
		return deliveries, s.lost(err)
	}
	more, _ := s.take(ctx, func() (jetstream.MessageBatch, error) { return workers.FetchNoWait(n - 1) })
	return append(deliveries, more...), nil
}

// take reads one batch to its end. Messages that arrived count, whatever came after them.
func (s *Stream) take(ctx context.Context, fetch func() (jetstream.MessageBatch, error)) (deliveries []job.Delivery, err error) {
	batch, err := fetch()
	if err != nil {
		return nil, s.ended(ctx, err)
	}
	for m := range batch.Messages() {
		if r, ok := s.read(ctx, m); ok {
			deliveries = append(deliveries, r)
		}
	}
	if len(deliveries) > 0 {
		return deliveries, nil
	}
	return nil, s.ended(ctx, batch.Error())
}

// ended tells the normal end of a wait from a fault.
func (s *Stream) ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if isOver(err) {
		return s.connected(ctx) // a server that is away ends waits too
	}
	return s.fault("receive from", err)
}

func (s *Stream) read(ctx context.Context, m jetstream.Msg) (job.Delivery, bool) {
	meta, err := m.Metadata()
	if err != nil {
		return job.Delivery{}, false // no message of JetStream
	}
	t, err := transport.Decode(m.Data())
	if err != nil {
		s.bury(ctx, m, meta.Sequence.Stream, err)
		return job.Delivery{}, false
	}
	return job.Delivery{Ticket: t, Count: int(meta.NumDelivered), Receipt: m.Reply()}, true
}

// bury moves a message to the dead. If it cannot, the message comes again.
func (s *Stream) bury(ctx context.Context, m jetstream.Msg, sequence uint64, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortWait)
	defer cancel()
	dead := &nats.Msg{Subject: s.place.deadSubject(), Data: m.Data(), Header: nats.Header{"Belfry-Reason": []string{why.Error()}}}
	_, err := s.js.PublishMsg(ctx, dead, jetstream.WithMsgID(fmt.Sprintf("%s.%d", s.place.Stream, sequence)))
	if err == nil {
		err = m.TermWithReason(why.Error())
	}
	s.log.Warn("message of broker cannot be read and is moved to the dead-letter stream",
		"stream", s.place.Stream, "sequence", sequence, "why", why, "error", err)
}

// find asks for the consumer, once.
func (s *Stream) find(ctx context.Context) (jetstream.Consumer, error) {
	if err := s.connected(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	known := s.workers
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, shortWait)
	defer cancel()
	found, err := s.js.Consumer(ctx, s.place.Stream, consumer)
	if err != nil {
		return nil, s.fault("look for", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = found
	return found, nil
}

// lost lets the consumer be looked for again after an error: it may be gone.
func (s *Stream) lost(err error) error {
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.workers = nil
	}
	return err
}

// Ack acknowledges messages, which then need not come again. Those that come nevertheless,
// because this was lost, find their tickets void.
func (s *Stream) Ack(ctx context.Context, rs []job.Delivery) error {
	return s.reply(ctx, rs, "+ACK")
}

// Later lets messages come again after d.
func (s *Stream) Later(ctx context.Context, rs []job.Delivery, d time.Duration) error {
	d = min(max(d, 0), transport.MaxLater)
	return s.reply(ctx, rs, fmt.Sprintf(`-NAK {"delay": %d}`, d.Nanoseconds()))
}

// reply answers deliveries in JetStream's own words, which the client speaks only
// through the message that it was given.
func (s *Stream) reply(ctx context.Context, rs []job.Delivery, word string) error {
	if err := s.connected(ctx); err != nil {
		return err
	}
	for _, r := range rs {
		if err := s.conn.Publish(r.Receipt, []byte(word)); err != nil {
			return s.fault("answer", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, shortWait)
	defer cancel()
	return s.fault("answer", s.conn.FlushWithContext(ctx))
}
