package storetest

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/job"
)

func init() {
	add("what is said of a job whose task or queue was deleted names what brings it back", caseWhatIsSaidAfterADeletion)
}

func caseWhatIsSaidAfterADeletion(b *bench) {
	b.task("t")
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "other"}))(b)
	id := b.enqueue(job.NewJob{Task: "t", Queue: "other"}).ID
	b.cancel(id)
	said := func(next, left string) {
		b.Helper()
		want(b, "next", must(b.st.Why(b.ctx, "default", id))(b).Next, next)
		if got := b.retry(id).Left[id]; !strings.Contains(got, left) {
			b.Errorf("reason of a retry that is refused: got %q, want one with %q", got, left)
		}
	}
	ok(b, b.st.DeleteQueue(b.ctx, "other"))
	said(fmt.Sprintf("its queue was deleted; create it again: belfry queue create other, then: belfry job retry %d", id), "create queue other again")
	ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
	said(fmt.Sprintf(`its task was deleted; create task "t" again, then: belfry job run-again %d`, id), "its task was deleted: create it again")
	b.task("t")
	want(b, "task of the job that is run again", must(b.st.RunJobAgain(b.ctx, "default", id, job.RunAgain{}))(b).Job.Task, "t")
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "other"}))(b)
	second := b.enqueue(job.NewJob{Task: "t", Queue: "other"}).ID
	b.cancel(second)
	ok(b, b.st.DeleteQueue(b.ctx, "other"))
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "other"}))(b)
	b.retry(second)
	b.wantState(second, job.Ready)
}
