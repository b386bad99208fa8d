package api

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/internal/attempttoken"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Attempts are the operations that the token of an attempt allows. The store
// implements it. Each call except SigningKeys and Now checks that the attempt
// still runs under this lease, and is [core.Unauthorized] otherwise.
type Attempts interface {
	Now(ctx context.Context) (time.Time, error)
	SigningKeys(ctx context.Context) ([]access.SigningKey, error)
	CheckAttempt(ctx context.Context, session string, ref job.Ref) error
	// RunningPrograms returns which of the attempts run programs under the session
	// and were not asked to end, with their namespaces. Other attempts are left
	// out, without an error.
	RunningPrograms(ctx context.Context, session string, refs []job.Ref) (map[job.Ref]string, error)
	BeatAttempt(ctx context.Context, session string, ref job.Ref, seq int64) (job.AttemptBeat, error)
	// FinishAttempt returns Stale, and no error, if the lease was lost.
	FinishAttempt(ctx context.Context, session string, f job.Finish) (job.Finished, error)
	ArtifactLink(ctx context.Context, session string, ref job.Ref) (task.SignedRequest, error)
}

// signing caches the keys that sign tokens of attempts.
type signing struct {
	From Attempts

	Mu    sync.Mutex
	keys  []access.SigningKey
	Again time.Time // of the next read of keys; monotonic clock

	ahead time.Duration // of the database clock, to the clock of this node

	Issued map[holder]time.Time // time of the last token, or of a check that found none due
}

// holder is an attempt of a session, as reported by its worker.
type holder struct {
	session string
	ref     job.Ref
}

const (
	// keysFor is how long keys are cached. A new key of another node is read after
	// this time, or when a token names it.
	keysFor = time.Minute
	// keysFloor is the minimum interval of reads for unknown key names.
	keysFloor = time.Second
	// KeyKnown is the age at which a key starts to sign, if there is an older one.
	// By then every node has read it: a node with older keys would refuse its tokens.
	KeyKnown  = 2 * keysFor
	maxIssued = 10_000
)

// current returns the keys, the newest first. With fresh, it reads them again, at most once in keysFloor.
func (g *signing) current(ctx context.Context, fresh bool) ([]access.SigningKey, error) {
	if g.From == nil {
		return nil, core.Errorf(core.Unavailable, "this server gives no tokens to attempts")
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	now := time.Now()
	if len(g.keys) > 0 && now.Before(g.Again) && (!fresh || now.Before(g.Again.Add(keysFloor-keysFor))) {
		return g.keys, nil
	}
	keys, err := g.From.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	decided, err := g.From.Now(ctx)
	if err != nil {
		return nil, err
	}
	g.keys, g.ahead, g.Again = keys, time.Until(decided), now.Add(keysFor)
	return keys, nil
}

// Now returns the time of the database clock. It uses the difference of clocks
// that was measured when the keys were read.
func (g *signing) Now(ctx context.Context) (time.Time, error) {
	if _, err := g.current(ctx, false); err != nil {
		return time.Time{}, err
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return time.Now().Add(g.ahead), nil
}

// public finds a key by its name.
func (g *signing) public(ctx context.Context, id string) (ed25519.PublicKey, error) {
	for _, fresh := range []bool{false, true} {
		keys, err := g.current(ctx, fresh)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if k.ID == id {
				public, _ := ed25519.NewKeyFromSeed(k.Seed).Public().(ed25519.PublicKey)
				return public, nil
			}
		}
	}
	return nil, core.Errorf(core.NotFound, "no key signs under this name")
}

// Token signs a token for a right.
func (g *signing) Token(ctx context.Context, r attempttoken.Right) (string, error) {
	keys, err := g.current(ctx, false)
	if err != nil {
		return "", err
	}
	now, err := g.Now(ctx)
	if err != nil {
		return "", err
	}
	for i, k := range keys {
		if now.Sub(k.CreatedAt) >= KeyKnown || i == len(keys)-1 {
			return attempttoken.Sign(k, r, now)
		}
	}
	return "", core.Errorf(core.Unavailable, "there is no key to sign tokens with")
}

// right verifies the attempt token of a request, and returns its right.
func (g *signing) right(ctx context.Context, r *http.Request) (attempttoken.Right, error) {
	text, err := bearerOf(r, attempttoken.MaxLen)
	if err != nil {
		return attempttoken.Right{}, err
	}
	now, err := g.Now(ctx)
	if err != nil {
		return attempttoken.Right{}, err
	}
	return attempttoken.Verify(text, func(id string) (ed25519.PublicKey, error) { return g.public(ctx, id) }, now)
}

// Note records that an attempt has a token as of now.
func (g *signing) Note(session string, ref job.Ref) {
	h := holder{session, ref}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if g.Issued == nil {
		g.Issued = map[holder]time.Time{}
	}
	if len(g.Issued) >= maxIssued {
		DropOne(g.Issued)
	}
	g.Issued[h] = time.Now()
}

// Due returns the attempts of a session whose tokens must be renewed.
func (g *signing) Due(session string, holding []job.Holding) (due []job.Ref) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for _, h := range holding {
		if at, known := g.Issued[holder{session, h.Ref}]; !known || time.Since(at) > attempttoken.Life/2 {
			due = append(due, h.Ref)
		}
	}
	return due
}

// authorizeAttempt authenticates an attempt, and checks that the path names the same attempt.
func (a *API) authorizeAttempt(ctx context.Context, r *http.Request) (context.Context, error) {
	right, err := a.Signing.right(ctx, r)
	if err == nil {
		asked := job.Ref{JobID: number(r.PathValue("job")), Lease: number(r.PathValue("lease"))}
		if asked != right.Ref {
			err = core.Errorf(core.Unauthorized, "the token is for another attempt than that of job %d under lease %d", asked.JobID, asked.Lease)
		}
	}
	if err != nil {
		return ctx, asTokenProblem(err)
	}
	c := CallOf(ctx)
	c.Right = right
	return access.WithActor(ctx, fmt.Sprintf("attempt:%d/%d", right.Ref.JobID, right.Ref.Lease)), nil
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
