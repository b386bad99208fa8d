package storetest

import (
	"reflect"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func output(name, digit string, size int64) task.Output {
	return task.Output{Name: name, Size: size, SHA256: strings.Repeat(digit, 64)}
}

// programs is a bench with tasks that run uploaded programs.
type programs struct{ *bench }

// put uploads the bytes of an output.
func (b programs) put(o task.Output) { b.artifacts.Put(o.SHA256, o.Size) }

// boxed creates one job of a program, and claims it.
func (b programs) boxed(limits task.Limits) (session job.Session, ref job.Ref) {
	b.Helper()
	t := program("p", task.IsolationNone)
	t.Program.Limits = limits
	if _, err := b.st.Task(b.ctx, "default", "p"); core.CodeOf(err) == core.NotFound {
		b.readyProgram(t)
	}
	b.enqueue(job.NewJob{Task: "p"})
	s := b.boxSession()
	return s, refOf(b.claim(s, 1).Jobs[0])
}

// readyProgram saves a task whose artifact is uploaded.
func (b programs) readyProgram(t task.Task) {
	b.Helper()
	b.artifacts.Put(t.Program.SHA256, t.Program.Size)
	must(b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: t.Program.SHA256, Size: t.Program.Size}))(b)
	must(b.st.ConfirmArtifact(b.ctx, "default", t.Program.SHA256))(b)
	must(b.st.CreateTask(b.ctx, t))(b)
}

func (b programs) boxSession() job.Session {
	b.Helper()
	return must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "box", Kinds: []task.Kind{task.KindProgram},
		Queues: map[string]int{"default": 10}, Has: task.Has{Arch: "amd64", Isolation: task.IsolationNone}}))(b)
}

func init() {
	add("the report of a program's attempt is kept when it ends and when it is retried", caseTheReportOfAProgramsAttemptIsKept)
	add("files of an attempt are announced, sent and kept when its report names them", caseFilesOfAnAttemptAreAnnounced)
	add("a zombie announces nothing, and its successor's files are its own", caseAZombieAnnouncesNothing)
}

func caseTheReportOfAProgramsAttemptIsKept(b *bench) {
	exit := 3
	said := func(files ...task.Output) *task.Sandboxed {
		return &task.Sandboxed{SHA256: strings.Repeat("ab", 32), Isolation: task.IsolationNamespaces, Layers: []string{"uid", "landlock"},
			OOM: true, Usage: task.Usage{Wall: core.Duration(time.Second), Memory: 1 << 20}, Outputs: files}
	}
	s, ref := programs{b}.boxed(task.Limits{})
	j := must(b.st.Job(b.ctx, "default", ref.JobID))(b)
	want(b, "time for its files after the timeout", j.DeadlineAt.Sub(j.ClaimedAt), j.Timeout.D()+job.DeadlineGrace+job.SendTime)
	f := job.Finish{Ref: ref, Outcome: job.OutcomeError, Error: "exit code 3", ExitCode: &exit, Sandboxed: said()}
	must(b.st.Finish(b.ctx, s.ID, []job.Finish{f}))(b)
	b.clock.Move(time.Minute)
	must(b.st.Promote(b.ctx))(b)
	ref = refOf(b.claim(s, 1).Jobs[0])
	again, stale := f, f
	again.Sandboxed = said(output("late", "a", 1))
	want(b, "the report again", must(b.st.Finish(b.ctx, s.ID, []job.Finish{again}))(b)[0].Stale, false)
	stale.Outcome = job.OutcomeOK
	want(b, "a late report", must(b.st.Finish(b.ctx, s.ID, []job.Finish{stale}))(b)[0].Stale, true)
	must(b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK, Sandboxed: said(output("never", "a", 1))}}))(b)
	all := must(b.st.Attempts(b.ctx, "default", ref.JobID))(b)
	want(b, "attempts", len(all), 2)
	if !reflect.DeepEqual(all[0].Sandboxed, said()) {
		b.Errorf("stored report: got %+v, want the worker's", all[0].Sandboxed)
	}
	if last := all[1].Sandboxed; last == nil || len(last.Outputs) != 0 || len(last.Missing) != 1 || !strings.Contains(last.Missing[0], "never") {
		b.Errorf("report of the second attempt: got %+v, want 1 missing file", all[1].Sandboxed)
	}
	b.clock.Move(31 * 24 * time.Hour)
	must(b.st.Prune(b.ctx))(b)
}

func caseFilesOfAnAttemptAreAnnounced(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{Outputs: 3, OutputSize: 100})
	declare := func(o task.Output) (*task.SignedRequest, error) { return b.st.DeclareOutput(b.ctx, s.ID, ref, o) }
	kept, dropped := output("a/result.json", "a", 40), output("b", "b", 10)
	link := must(declare(kept))(b)
	if link == nil || link.Method != "PUT" || link.URL != "/artifacts/default/"+kept.SHA256 {
		b.Fatalf("link of the output: got %+v, want a PUT link to its bytes", link)
	}
	must(declare(kept))(b)
	must(declare(dropped))(b)
	_, err := declare(output("c", "c", 51))
	wantCode(b, err, core.TooLarge, "100 bytes")
	must(declare(output("c", "c", 50)))(b)
	_, err = declare(output("d", "d", 0))
	wantCode(b, err, core.TooLarge, "3 files")
	for _, bad := range []string{"", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "a\\b", "a\x00b", "x/"} {
		_, err = declare(output(bad, "e", 1))
		wantCode(b, err, core.Invalid)
	}
	programs{b}.put(kept)
	programs{b}.put(dropped)
	if link := must(declare(kept))(b); link != nil {
		b.Errorf("link for stored bytes: got %+v, want none", link)
	}
	want(b, "files before the report", len(must(b.st.Outputs(b.ctx, "default", ref.JobID))(b)), 0)
	must(b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK, Sandboxed: &task.Sandboxed{Outputs: []task.Output{kept}}}}))(b)
	all := must(b.st.Outputs(b.ctx, "default", ref.JobID))(b)
	want(b, "files", len(all), 1)
	want(b, "file", all[0].Output, kept)
	got := must(b.st.OutputLink(b.ctx, "default", ref.JobID, kept.Name, 0))(b)
	want(b, "link to fetch it", got.URL, "/artifacts/default/"+kept.SHA256)
	_, err = b.st.OutputLink(b.ctx, "default", ref.JobID, "b", 0)
	wantCode(b, err, core.NotFound)
	_, err = b.st.OutputLink(b.ctx, "other", ref.JobID, kept.Name, 0)
	wantCode(b, err, core.NotFound)
	_, err = declare(output("late", "f", 1))
	wantCode(b, err, core.Unauthorized)
	want(b, "bytes in use", len(must(b.st.ArtifactsInUse(b.ctx, []string{"default/" + kept.SHA256, "default/" + dropped.SHA256}))(b)), 1)
}

func caseAZombieAnnouncesNothing(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{})
	b.clock.Move(lost)
	must(b.st.ReleaseLost(b.ctx))(b)
	next := programs{b}.boxSession()
	now := refOf(b.claim(next, 1).Jobs[0])
	_, err := b.st.DeclareOutput(b.ctx, s.ID, ref, output("x", "a", 1))
	wantCode(b, err, core.Unauthorized)
	_, err = b.st.DeclareOutput(b.ctx, s.ID, now, output("x", "a", 1))
	wantCode(b, err, core.Unauthorized)
	mine := output("x", "b", 1)
	must(b.st.DeclareOutput(b.ctx, next.ID, now, mine))(b)
	programs{b}.put(mine)
	programs{b}.put(output("x", "a", 1))
	done := must(b.st.Finish(b.ctx, next.ID, []job.Finish{{Ref: now, Outcome: job.OutcomeOK, Sandboxed: &task.Sandboxed{Outputs: []task.Output{mine}}}}))(b)
	want(b, "stale", done[0].Stale, false)
	got := must(b.st.OutputLink(b.ctx, "default", now.JobID, "x", 0))(b)
	want(b, "link", got.URL, "/artifacts/default/"+mine.SHA256)
}
