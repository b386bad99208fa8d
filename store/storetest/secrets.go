package storetest

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a secret is kept sealed, opened for a program, and never shown", caseASecretIsKeptSealed)
	add("the key of secrets is changed, and all of them open", caseTheKeyOfSecretsIsChanged)
}

func caseASecretIsKeptSealed(b *bench) {
	k := must(b.st.SetSecret(b.ctx, "", "db", "hunter2"))(b)
	want(b, "namespace", k.Namespace, "default")
	b.task("t", runs("one"), func(t *task.Task) {
		t.Program.Secrets = map[string]string{"PASSWORD": "db", "AGAIN": "db", "KEY": "key"}
	})
	programs{b}.upload("one")
	j := b.enqueue(job.NewJob{Task: "t"})
	if w := must(b.st.Why(b.ctx, "default", j.ID))(b); !strings.Contains(w.Summary+w.Next, "belfry secret set key") && !strings.Contains(jsonOf(w.Checks), "belfry secret set key") {
		b.Fatalf("why without the secret: got %s, want the command that sets it", jsonOf(w))
	}
	s := programs{b}.runner()
	want(b, "claimed without", len(b.claim(s, 5).Jobs), 0)
	failed := b.wantState(j.ID, job.Failed)
	if failed.Reason != schedule.ReasonNoRetry || !strings.Contains(failed.Error, `"key"`) {
		b.Fatalf("job without the secret: got %+v, want failed, with the secret's name", failed)
	}
	must(b.st.SetSecret(b.ctx, "default", "key", "k1"))(b)
	b.retry(j.ID)
	got := b.claim(s, 5).Jobs
	want(b, "claimed", len(got), 1)
	want(b, "given", jsonOf(got[0].Secrets), `{"AGAIN":"hunter2","KEY":"k1","PASSWORD":"hunter2"}`)
	b.finish(s, got[0], job.OutcomeError, func(f *job.Finish) { f.NoRetry = true })
	must(b.st.SetSecret(b.ctx, "default", "db", "hunter3"))(b)
	b.retry(j.ID)
	want(b, "new secret of the claimed job", b.claim(s, 5).Jobs[0].Secrets["PASSWORD"], "hunter3")

	page := must(b.st.KeptSecrets(b.ctx, view.DocumentFilter{Namespace: "default"}))(b)
	want(b, "secrets", len(page.Items), 2)
	want(b, "used by", jsonOf(page.Items[0].Tasks), `["t"]`)
	audit := must(b.st.Audit(b.ctx, access.AuditFilter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1000}}))(b)
	export := must(b.st.Export(b.ctx, "default"))(b)
	for _, shown := range []any{page, audit, export, must(b.st.Task(b.ctx, "default", "t"))(b), b.job(j.ID)} {
		if strings.Contains(jsonOf(shown), "hunter") {
			b.Fatalf("got the secret in %s", jsonOf(shown))
		}
	}
	want(b, "in the clear", b.count(`select count(*) from belfry.secrets where sealed like '%hunter%'`), 0)
	wantCode(b, b.st.DeleteSecret(b.ctx, "default", "db"), core.Conflict, `task "t"`)
	for _, bad := range []core.Secret{"", core.Secret(strings.Repeat("x", task.MaxSecret+1)), "hunter\x00", core.Redacted} {
		_, err := b.st.SetSecret(b.ctx, "default", "db", bad)
		wantCode(b, err, core.Invalid, "value")
	}
	ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
	ok(b, b.st.DeleteSecret(b.ctx, "default", "db"))
	wantCode(b, b.st.DeleteSecret(b.ctx, "default", "db"), core.NotFound, "db")
}

func caseTheKeyOfSecretsIsChanged(b *bench) {
	for i := range 7 {
		must(b.st.SetSecret(b.ctx, "default", fmt.Sprint("s", i), core.Secret(fmt.Sprint("v", i))))(b)
	}
	signs := must(b.st.SigningKeys(b.ctx))(b)
	before := must(b.st.RotateSecrets(b.ctx))(b)
	want(b, "sealed anew", before.Sealed, 7)
	after := must(b.st.RotateSecrets(b.ctx))(b)
	if after.Key == before.Key || after.Sealed != 7 {
		b.Fatalf("keys before and after the rotation: got %+v and %+v", before, after)
	}
	want(b, "key of attempts' tokens", jsonOf(must(b.st.SigningKeys(b.ctx))(b)), jsonOf(signs))
	want(b, "secrets sealed with one key", b.count(`select count(*) from belfry.secrets where key_name = $1`, after.Key), 7)
	b.task("t", runs("one"), func(t *task.Task) { t.Program.Secrets = map[string]string{"A": "s3"} })
	programs{b}.upload("one")
	b.enqueue(job.NewJob{Task: "t"})
	want(b, "opens", b.claim(programs{b}.runner(), 1).Jobs[0].Secrets["A"], "v3")
	b.sql(`update belfry.secrets set sealed = (select sealed from belfry.secrets where name = 's4') where name = 's3'`)
	j := b.enqueue(job.NewJob{Task: "t"})
	other := b.enqueue(job.NewJob{Task: "func", Kind: task.KindFunc})
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindProgram, task.KindFunc}, Funcs: []string{"func"},
		Queues: map[string]int{"default": 10}, Has: task.Has{OS: "linux", Arch: "amd64", Isolation: task.IsolationGVisor}}))(b)
	got := b.claim(s, 10).Jobs
	if len(got) != 1 || got[0].Job.ID != other.ID {
		b.Fatalf("claim beside a job whose secret cannot be opened: got %+v, want the other job", got)
	}
	put := b.wantState(j.ID, job.Scheduled)
	if !strings.Contains(put.Error, "cannot be opened") || strings.Contains(put.Error, "v4") {
		b.Fatalf("error without the key: got %q, want no part of the secret", put.Error)
	}
}
