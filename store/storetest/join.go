package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("machines join as often as a join token says, and each gets a token of its own", caseMachinesJoinAsOftenAsAJoinTokenSays)
	add("a token that a machine got works on when its join token does not", caseATokenThatAMachineGotWorksOnWhen)
	add("a token has a bounded number of living sessions, and others are not refused for it", caseATokenHasABoundedNumberOfLivingSessions)
	add("workers with a token create tasks for their handlers up to a limit, and work on without new ones", caseWorkersCreateABoundedNumberOfTasks)
	add("a join token that could be used for ever is refused", caseAJoinTokenThatCouldBeUsedForEver)
	add("a token whose creation is repeated, because the answer was lost, is not made twice", caseATokenWhoseCreationIsRepeated)
}

func caseMachinesJoinAsOftenAsAJoinTokenSays(b *bench) {
	ctx := access.WithActor(b.ctx, "ada")
	t, secret, err := b.st.CreateJoinToken(ctx, access.JoinToken{Name: "builders", Namespace: "team", Uses: 3, Labels: map[string]string{"pool": "build"}})
	ok(b, err)
	if !strings.HasPrefix(secret, "belfry_join_") || t.CreatedBy != "ada" || !t.ExpiresAt.Equal(Epoch.Add(job.DefaultJoinLife)) {
		b.Fatalf("join token: got %+v with a secret of %d bytes", t, len(secret))
	}
	want(b, "rows with the secret", b.count(`select count(*) from belfry.join_tokens where hash = $1 or name = $1`, secret), 0)
	want(b, "audit rows with the secret", b.count(`select count(*) from belfry.audit where replace(after, $1, '') <> after`, secret), 0)
	_, err = b.st.Authenticate(b.ctx, secret)
	wantCode(b, err, core.Unauthorized, "unknown")

	var wg sync.WaitGroup
	var mu sync.Mutex
	var joined, refused int
	for range 8 {
		wg.Go(func() {
			made, own, err := b.st.Join(context.WithoutCancel(b.ctx), secret, "build-1")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && strings.HasPrefix(own, "belfry_") && made.Namespace == "team" && made.Labels["pool"] == "build":
				joined++
			case core.CodeOf(err) == core.Unauthorized && strings.Contains(err.Error(), "3 times"):
				refused++
			default:
				b.Errorf("join: got %+v, %v, want a token, or a refusal after 3 uses", made, err)
			}
		})
	}
	wg.Wait()
	want(b, "joined", joined, 3)
	want(b, "refused", refused, 5)
	all := must(b.st.JoinTokens(b.ctx))(b)
	want(b, "join belfry.tokens", len(all), 1)
	want(b, "used", all[0].Used, 3)
	want(b, "last used", all[0].LastUsedAt, Epoch)
	want(b, "labels", all[0].Labels["pool"], "build")
	want(b, "tokens", len(must(b.st.Tokens(b.ctx))(b)), 3)
	want(b, "audit rows", b.count(`select count(*) from belfry.audit where noun = 'token' and actor = 'join:builders'`), 3)
}

func caseATokenThatAMachineGotWorksOnWhen(b *bench) {
	t, secret, err := b.st.CreateJoinToken(b.ctx, access.JoinToken{Name: "j", Uses: 9, ExpiresAt: Epoch.Add(time.Minute)})
	ok(b, err)
	_, _, err = b.st.Join(b.ctx, secret, "not a name")
	wantCode(b, err, core.Invalid, "name")
	made, own, err := b.st.Join(b.ctx, secret, "m")
	ok(b, err)
	want(b, "used", must(b.st.JoinTokens(b.ctx))(b)[0].Used, 1)
	b.clock.Move(time.Minute)
	_, _, err = b.st.Join(b.ctx, secret, "m")
	wantCode(b, err, core.Unauthorized, "expired")
	got := must(b.st.Authenticate(b.ctx, own))(b)
	want(b, "token", got.ID, made.ID)
	want(b, "scopes", len(got.Scopes), 1)
	want(b, "scope", got.Scopes[0], access.ScopeWorker)
	want(b, "namespace", got.Namespace, core.DefaultNamespace)
	want(b, "made by", got.CreatedBy, "join:j")
	ok(b, b.st.RevokeJoinToken(b.ctx, t.ID))
	ok(b, b.st.RevokeJoinToken(b.ctx, t.ID))
	_, _, err = b.st.Join(b.ctx, secret, "m")
	wantCode(b, err, core.Unauthorized, "revoked")
	must(b.st.Authenticate(b.ctx, own))(b)
	_, _, err = b.st.Join(b.ctx, own, "m")
	wantCode(b, err, core.Unauthorized, "unknown")
	wantCode(b, b.st.RevokeJoinToken(b.ctx, 1<<40), core.NotFound)
	want(b, "audit rows", b.count(`select count(*) from belfry.audit where noun = 'join_token'`), 2)
}

func caseAJoinTokenThatCouldBeUsedForEver(b *bench) {
	_, _, err := b.st.CreateJoinToken(b.ctx, access.JoinToken{Name: "a b", Uses: -1, ExpiresAt: Epoch.Add(31 * 24 * time.Hour), Labels: map[string]string{"x y": "z"}})
	wantCode(b, err, core.Invalid, "name", "uses", "expires_at", "labels")
	_, _, err = b.st.CreateJoinToken(b.ctx, access.JoinToken{Name: "late", ExpiresAt: Epoch})
	wantCode(b, err, core.Invalid, "has passed")
}

func caseATokenHasABoundedNumberOfLivingSessions(b *bench) {
	var w [2]job.WorkerInfo
	for i := range w {
		t, _, err := b.st.CreateToken(b.ctx, access.Token{Name: fmt.Sprint("builder-", i), Namespace: "team", Scopes: []access.Scope{access.ScopeWorker}})
		ok(b, err)
		w[i] = job.WorkerInfo{Name: "w", Token: t.ID, Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{"default": 1}}
	}
	s := must(b.st.OpenSession(b.ctx, w[0]))(b)
	b.sql(`
		insert into belfry.sessions (id, name, namespace, token, doc, ttl, started_at, renewed_at, expires_at)
		with recursive n(i) as (select 2 union all select i + 1 from n where i < $2)
		select 'copy-' || i, name, namespace, token, doc, ttl, started_at, renewed_at, expires_at from belfry.sessions, n where id = $1`, s.ID, job.MaxSessions)
	_, err := b.st.OpenSession(b.ctx, w[0])
	wantCode(b, err, core.Unavailable, "5000 sessions are open with this token")
	must(b.st.OpenSession(b.ctx, w[1]))(b)
	ok(b, b.st.CloseSession(b.ctx, s.ID))
	must(b.st.OpenSession(b.ctx, w[0]))(b)
}

func caseWorkersCreateABoundedNumberOfTasks(b *bench) {
	t, _, err := b.st.CreateToken(b.ctx, access.Token{Name: "builder", Namespace: "team", Scopes: []access.Scope{access.ScopeWorker}})
	ok(b, err)
	w := func(token int64, funcs ...string) job.WorkerInfo {
		return job.WorkerInfo{Name: "w", Token: token, Namespace: "team", Kinds: []task.Kind{task.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 1}}
	}
	must(b.st.OpenSession(b.ctx, w(t.ID, "first")))(b)
	b.sql(`
		insert into belfry.tasks (id, namespace, name, kind, queue, generation, doc, created_at, updated_at)
		with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)
		select 1000000 + i, namespace, 'copy-' || i, kind, queue, generation, doc, created_at, updated_at from belfry.tasks, n where name = 'first'`, tasks.MaxEnsured-2)
	_, err = b.st.OpenSession(b.ctx, w(t.ID, "first", "second", "third"))
	wantCode(b, err, core.Invalid, `funcs "2": new tasks in namespace "team", and workers create none beyond 10000`, "belfry apply")
	want(b, "tasks", b.count(`select count(*) from belfry.tasks where namespace = 'team'`), tasks.MaxEnsured-1)
	must(b.st.OpenSession(b.ctx, w(t.ID, "first", "second")))(b)
	must(b.st.OpenSession(b.ctx, w(t.ID, "first", "second")))(b)
	must(b.st.OpenSession(b.ctx, w(0, "third")))(b) // a node's own worker
	want(b, "tasks", b.count(`select count(*) from belfry.tasks where namespace = 'team'`), tasks.MaxEnsured+1)
}

func caseATokenWhoseCreationIsRepeated(b *bench) {
	ctx, other := access.WithActor(b.ctx, "token:ada"), access.WithActor(b.ctx, "token:bob")
	ci := access.Token{Name: "ci", Scopes: []access.Scope{access.ScopeRead}, ExpiresAt: Epoch.Add(time.Hour)}
	create := func(ctx context.Context, t access.Token) (access.Token, error) {
		t, _, err := b.st.CreateToken(ctx, t)
		return t, err
	}
	first := must(create(ctx, ci))(b)
	_, err := create(ctx, ci)
	wantCode(b, err, core.Conflict, "ci", fmt.Sprint("id ", first.ID))
	must(create(other, ci))(b)
	elsewhere := ci
	elsewhere.Namespace = "team"
	must(create(ctx, elsewhere))(b)
	ok(b, b.st.RevokeToken(b.ctx, first.ID))
	must(create(ctx, ci))(b)
	b.clock.Move(2 * time.Hour)
	ci.ExpiresAt = time.Time{}
	must(create(ctx, ci))(b)
	for range 2 { // people may sign in as often as they like
		_, _, err := b.st.IssueToken(access.WithActor(b.ctx, "oidc:ann"), access.Token{Name: "ann", Scopes: []access.Scope{access.ScopeRead}})
		ok(b, err)
	}

	made, errs := make([]access.Token, 8), make([]error, 8)
	again := ci
	again.Name = "again"
	together(len(made), func(i int) { made[i], errs[i] = create(ctx, again) })
	want(b, "made of those that come together", len(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err != nil })), 1)
	for _, err := range errs {
		if err != nil {
			wantCode(b, err, core.Conflict, "again")
		}
	}

	join := access.JoinToken{Name: "builders", Namespace: "team", Uses: 1}
	j, secret, err := b.st.CreateJoinToken(ctx, join)
	ok(b, err)
	_, _, err = b.st.CreateJoinToken(ctx, join)
	wantCode(b, err, core.Conflict, "builders", fmt.Sprint("id ", j.ID))
	_, _, err = b.st.Join(b.ctx, secret, "build-1")
	ok(b, err)
	_, _, err = b.st.CreateJoinToken(ctx, join) // the first token is used up
	ok(b, err)
}
