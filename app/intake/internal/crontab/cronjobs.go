package crontab

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// CronJobs reads CronJobs of Kubernetes (batch/v1) from YAML or JSON: one
// document, several, and lists as kubectl get writes them. Objects of other
// kinds are left out with a note. An error is about the file as a whole: it is
// too large, or it holds no CronJob.
//
// Belfry runs a command on a worker, and not a container in a cluster. So an
// entry becomes the command of its single container, and other settings of the
// container become notes.
func CronJobs(r io.Reader, o base.Options) (base.Result, error) {
	o, err := o.Prepare()
	if err != nil {
		return base.Result{}, err
	}
	text, err := base.ReadAll(r)
	if err != nil {
		return base.Result{}, err
	}
	k := &cronJobs{Builder: base.NewBuilder(o)}
	for _, d := range tree.Documents(string(text), tree.WithoutAnchors) {
		if d.Fault != nil {
			l := &base.Line{Number: d.At.Line, Text: base.Clip(d.First)}
			l.Fault(d.Fault.At, "", "", d.Fault.Message, d.Fault.Hint)
			k.Res.Lines = append(k.Res.Lines, *l)
			continue
		}
		k.object(d.Root)
	}
	if len(k.Res.Lines) > base.MaxLines {
		return base.Result{}, core.Errorf(core.TooLarge, "the file has more than %d CronJobs", base.MaxLines).WithHint("split it")
	}
	if len(k.Res.Lines) == 0 {
		return base.Result{}, core.InvalidField("file", "", "holds no CronJob", "kubectl get cronjobs -o yaml writes them")
	}
	k.fileNotes()
	return k.Res, nil
}

type cronJobs struct {
	*base.Builder
	unzoned bool // one has no timeZone
}

// object reads a document or an entry of a list.
func (k *cronJobs) object(t *tree.Tree) {
	kind := t.Get("kind")
	switch {
	case t.Kind != tree.Mapping:
		l := &base.Line{Number: t.At.Line}
		l.Fault(t.At, "", t.Text, "is not an object of Kubernetes", "it has apiVersion, kind, metadata and spec")
		k.Res.Lines = append(k.Res.Lines, *l)
	case kind.Text == "CronJob":
		k.cronJob(t)
	case strings.HasSuffix(kind.Text, "List") && t.Get("items").Kind == tree.Sequence:
		for _, item := range t.Get("items").List {
			k.object(item)
		}
	default:
		name := base.OrWord(t.Get("metadata", "name").Text, "without a name")
		k.Notef("line %d: %s %s is not a CronJob and is left out", t.At.Line, base.OrWord(base.Clip(kind.Text), "an object of no kind"), base.Clip(name))
	}
}

// reading is one CronJob while it is read.
type reading struct {
	*base.Line
	left []string // paths that are not carried over
}

func (k *cronJobs) cronJob(t *tree.Tree) {
	spec := t.Get("spec")
	when := spec.Get("schedule")
	name := t.Get("metadata", "name")
	r := &reading{Line: &base.Line{Number: t.At.Line, Text: base.Clip(fmt.Sprintf("%s: %s", base.OrWord(name.Text, "CronJob"), when.Text))}}
	switch version := t.Get("apiVersion"); version.Text {
	case "batch/v1", "batch/v1beta1":
	default:
		r.Fault(version.At, "apiVersion", version.Text, "is not that of a CronJob", "write apiVersion: batch/v1")
	}
	if err := core.ValidName("metadata.name", name.Text); err != nil {
		r.FirstFault(name.At, err)
		name = &tree.Tree{At: name.At, Text: "cronjob"}
	}
	s := k.schedule(r, spec)
	s.Name = k.freeName(name.Text, t.Get("metadata", "namespace").Text)
	if when.Kind != tree.Scalar || strings.TrimSpace(when.Text) == "" {
		r.Fault(when.At, "spec.schedule", "", "is missing", `such as "0 3 * * *"`)
	} else if rules := k.rules(r, when, s); rules != nil {
		s.Rules = rules
		if k.Explain(r.Line, s, when.At) && base.Truth(spec.Get("suspend")) {
			// A definition cannot be paused, and a suspended CronJob must not start to run.
			r.Notef("it is suspended: its rule is left out, so that it runs only when triggered; write it into the schedule to let it run: cron: %q", rules[0].Cron)
			s.Rules = nil
		}
	}
	task := k.task(r, spec.Get("jobTemplate", "spec"))
	task.Name, s.Task = s.Name, s.Name
	r.leave(spec, "spec", "schedule", "timeZone", "suspend", "concurrencyPolicy", "startingDeadlineSeconds", "jobTemplate")
	if len(r.left) > 0 {
		slices.Sort(r.left)
		r.Notef("not carried over: %s", strings.Join(slices.Compact(r.left), ", "))
	}
	k.Add(r.Line, t.At, task, s)
}

// freeName is the CronJob's name, with its namespace in front when another
// CronJob of the file has it.
func (k *cronJobs) freeName(name, namespace string) string {
	if k.Schedules.Taken[name] && namespace != "" {
		if both := namespace + "-" + name; core.ValidName("name", both) == nil {
			name = both
		}
	}
	return k.Schedules.Free(base.CutText(name, 120))
}

// leave notes the keys of a mapping besides the known ones.
func (r *reading) leave(t *tree.Tree, path string, known ...string) {
	for _, key := range t.Keys {
		if sub := t.Table[key]; !slices.Contains(known, key) && !sub.Empty() && len(r.left) < 100 {
			r.left = append(r.left, path+"."+base.Clip(key))
		}
	}
}

// schedule is all of it but the rules.
func (k *cronJobs) schedule(r *reading, spec *tree.Tree) schedule.Schedule {
	s := schedule.Schedule{Zone: k.Zone, Overlap: schedule.OverlapAllow, Catchup: schedule.CatchupLatest, CatchupWindow: task.MaxEvery}
	switch zone := spec.Get("timeZone"); {
	case zone.Text == "":
		k.unzoned = true
	default:
		if _, err := cron.LoadZone(zone.Text); err != nil {
			var ce *cron.Error
			if errors.As(err, &ce) {
				r.Fault(zone.At, "spec.timeZone", zone.Text, ce.Msg, ce.Hint)
			}
			break
		}
		s.Zone = zone.Text
	}
	switch policy := spec.Get("concurrencyPolicy"); policy.Text {
	case "", "Allow":
	case "Forbid":
		s.Overlap = schedule.OverlapSkip
		r.Notef("a time that comes while a run lasts is left out; Kubernetes starts it after that run, within startingDeadlineSeconds (overlap: buffer_one does so)")
	case "Replace":
		s.Overlap = schedule.OverlapCancelOther
	default:
		r.Fault(policy.At, "spec.concurrencyPolicy", policy.Text, "is not a policy", "one of Allow, Forbid, Replace")
	}
	if deadline, ok := r.number(spec.Get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds"); ok {
		s.CatchupWindow = r.between("startingDeadlineSeconds", deadline, core.Duration(core.OnTime), task.MaxEvery)
	}
	if label := spec.Get("suspend"); label.Kind == tree.Scalar && !base.Truth(label) && !strings.EqualFold(label.Text, "false") {
		r.Fault(label.At, "spec.suspend", label.Text, "is neither true nor false", "")
	}
	return s
}

// number reads a whole number that is not negative, if there is one.
func (r *reading) number(t *tree.Tree, field string) (int64, bool) {
	if t.Kind == tree.Nothing {
		return 0, false
	}
	n, err := strconv.ParseInt(t.Text, 10, 64)
	if err != nil || n < 0 {
		r.Fault(t.At, field, t.Text, "is not a whole number from 0", "")
		return 0, false
	}
	return n, true
}

// between limits a number of seconds to the range that Belfry allows.
func (r *reading) between(what string, seconds int64, least, most core.Duration) core.Duration {
	d := core.Duration(min(seconds, math.MaxInt64/int64(time.Second))) * core.Duration(time.Second)
	if within := min(max(d, least), most); within != d {
		r.Notef("%s is %s, which Belfry takes as %s", what, d, within)
		return within
	}
	return d
}

// rules is the times of a CronJob, or nil and a fault.
func (k *cronJobs) rules(r *reading, when *tree.Tree, s schedule.Schedule) []schedule.Rule {
	zone, err := cron.LoadZone(s.Zone)
	if err != nil {
		return nil
	}
	if fields := strings.Fields(when.Text); strings.ContainsRune(fields[0], '=') {
		r.Fault(when.At, "spec.schedule", when.Text, "has its time zone in it, which Kubernetes refuses", "write the zone as spec.timeZone")
		return nil
	} else if fields[0][0] != '@' && len(fields) != 5 {
		r.Fault(when.At, "spec.schedule", when.Text, fmt.Sprintf("has %d fields, and Kubernetes reads five", len(fields)), "minute, hour, day of month, month, weekday")
		return nil
	}
	e, err := cron.Parse(when.Text, cron.Options{Zone: zone, After: k.Now})
	if err != nil {
		at := when.At
		at.Column = 0 // quotes and folding come between
		r.CronFault(at, err)
		r.Column = when.At.Column
		return nil
	}
	text := strings.Join(strings.Fields(when.Text), " ")
	if either := eitherDay(text); either != text {
		r.Notef("a step of days beside a weekday means either of them in Kubernetes; written %q here", either)
		text = either
	}
	if strings.HasPrefix(strings.ToLower(text), "@every") {
		r.Notef("the interval counts from a fixed instant and not from when the object was made")
	}
	if e.Fixed() && zone.String() != "UTC" {
		r.Notef("a time that the clock skips is left out by Kubernetes; Belfry runs it after the gap (dst_gap: skip leaves it out)")
	}
	return []schedule.Rule{{Cron: text}}
}

// eitherDay writes a stepped * of a day field as a range where the other day
// field is restricted. The library of Kubernetes does not take */2 for a star,
// and so lets either field match; Vixie cron does, and wants both.
func eitherDay(text string) string {
	f := strings.Fields(text)
	if len(f) != 5 {
		return text
	}
	stepped := func(field string) bool { return strings.HasPrefix(field, "*/") && field != "*/1" }
	bound := func(field string) bool { return stepped(field) || field[0] != '*' && field != "?" }
	if !bound(f[2]) || !bound(f[4]) {
		return text
	}
	for i, whole := range map[int]string{2: "1-31", 4: "0-6"} {
		if stepped(f[i]) {
			f[i] = whole + f[i][1:]
		}
	}
	return strings.Join(f, " ")
}

// Kubernetes' own defaults, which count where a CronJob says nothing.
const (
	backoffLimit = 6
	firstBackoff = core.Duration(10 * time.Second)
	longestWait  = core.Duration(6 * time.Minute)
	podGrace     = 30 // seconds
)

// task is the command of the single container.
func (k *cronJobs) task(r *reading, job *tree.Tree) task.Task {
	pod := job.Get("template", "spec")
	t := task.Task{
		Timeout: task.MaxTimeout, // Kubernetes has none
		Retry:   task.Retry{MaxAttempts: backoffLimit + 1, Backoff: task.BackoffExponential, Delay: firstBackoff, MaxDelay: longestWait},
	}
	if n, ok := r.number(job.Get("backoffLimit"), "backoffLimit"); ok {
		t.Retry.MaxAttempts = int(min(n, 99)) + 1
		if n > 99 {
			r.Notef("backoffLimit is %d, and Belfry tries at most 100 times", n)
		}
	}
	if n, ok := r.number(job.Get("activeDeadlineSeconds"), "activeDeadlineSeconds"); ok {
		t.Timeout = r.between("activeDeadlineSeconds", n, task.MinTimeout, task.MaxTimeout)
		if t.Retry.MaxAttempts > 1 {
			r.Notef("activeDeadlineSeconds is for all tries together in Kubernetes, and the timeout is for each of them")
		}
	}
	if n, ok := r.number(pod.Get("activeDeadlineSeconds"), "activeDeadlineSeconds"); ok {
		t.Timeout = min(t.Timeout, r.between("activeDeadlineSeconds of the pod", n, task.MinTimeout, task.MaxTimeout))
	}
	for _, field := range []string{"parallelism", "completions"} {
		if n, ok := r.number(job.Get(field), field); ok && n != 1 {
			r.Notef("%s is %d, and Belfry runs the command once", field, n)
		}
	}
	r.leave(job, "jobTemplate.spec", "template", "backoffLimit", "activeDeadlineSeconds", "parallelism", "completions")
	t.Command = k.command(r, pod)
	return t
}

func (k *cronJobs) command(r *reading, pod *tree.Tree) *task.Command {
	containers := pod.Get("containers")
	if len(containers.List) != 1 {
		message := "are missing"
		if n := len(containers.List); n > 1 {
			message = fmt.Sprintf("are %d, and a task of Belfry runs one command", n)
		}
		r.Fault(containers.At, "containers", "", message, "make one CronJob of each, or one script of all")
		return &task.Command{Argv: []string{"none"}}
	}
	box := containers.List[0]
	env := k.environment(r, box)
	argv := slices.Concat(r.texts(box.Get("command"), "command"), r.texts(box.Get("args"), "args"))
	if len(box.Get("command").List) == 0 {
		r.Fault(box.At, "command", "", "is missing: the program is the image's own, which is not known here", "write it into the container as command")
	}
	c := &task.Command{Env: env, KillGrace: core.Duration(podGrace) * core.Duration(time.Second)}
	for _, arg := range argv {
		c.Argv = append(c.Argv, k.expand(r, arg, arg.Text, env))
	}
	if dir := box.Get("workingDir").Text; strings.HasPrefix(dir, "/") {
		c.Dir = dir
	}
	if n, ok := r.number(pod.Get("terminationGracePeriodSeconds"), "terminationGracePeriodSeconds"); ok {
		c.KillGrace = r.between("terminationGracePeriodSeconds", n, core.Duration(time.Second), task.MaxKillGrace)
	}
	r.Notef("it runs on a worker that allows commands, and not in the image %s: its program and files must be there", base.Clip(base.OrWord(box.Get("image").Text, "of the container")))
	r.leave(pod, "pod", "containers", "restartPolicy", "activeDeadlineSeconds", "terminationGracePeriodSeconds",
		"dnsPolicy", "schedulerName", "serviceAccount") // defaults that the API server writes
	r.leave(box, "container", "name", "image", "imagePullPolicy", "command", "args", "env", "workingDir",
		"terminationMessagePath", "terminationMessagePolicy")
	return c
}

// environment is the variables with values of their own.
func (k *cronJobs) environment(r *reading, box *tree.Tree) map[string]string {
	env := map[string]string{}
	for _, v := range box.Get("env").List {
		name := v.Get("name").Text
		switch bad := base.CheckVariable(name); {
		case bad != "":
			r.Notef("the variable %s is not carried over: it %s", base.Clip(name), bad)
		case v.Get("valueFrom").Kind != tree.Nothing:
			from := "elsewhere"
			if keys := v.Get("valueFrom").Keys; len(keys) > 0 {
				from = "its " + base.Clip(keys[0])
			}
			r.Notef("the variable %s comes from %s, which is not carried over: give it to the task", base.Clip(name), from)
		default:
			env[name] = k.expand(r, v, v.Get("value").Text, env)
		}
	}
	if len(env) == 0 {
		return nil
	}
	return env
}

// texts reads a list of texts.
func (r *reading) texts(t *tree.Tree, field string) []*tree.Tree {
	if t.Kind != tree.Nothing && t.Kind != tree.Sequence {
		r.Fault(t.At, field, t.Text, "is not a list", "")
	}
	for _, item := range t.List {
		if item.Kind != tree.Scalar {
			r.Fault(item.At, field, "", "is not text", "")
		}
	}
	return t.List
}

// expand puts variables in the place of $(NAME), as Kubernetes does: $$ is a
// $, and unknown names stay. Values that hold each other grow fast, so the growth
// of one file is bounded.
func (k *cronJobs) expand(r *reading, t *tree.Tree, text string, env map[string]string) string {
	var b strings.Builder
	last := strings.LastIndexByte(text, ')')
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '$' || i+1 == len(text):
			b.WriteByte(text[i])
		case text[i+1] == '$':
			b.WriteByte('$')
			i++
		case text[i+1] == '(' && i < last:
			end := i + strings.IndexByte(text[i:], ')')
			value, known := env[text[i+2:end]]
			if !known {
				value = text[i : end+1]
			}
			if k.Grown += len(value); k.Grown > base.MaxGrown {
				r.Fault(t.At, "", text, "holds variables that make the file too large", "")
				return text
			}
			b.WriteString(value)
			i = end
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}

// fileNotes adds, once, the notes that hold for every CronJob.
func (k *cronJobs) fileNotes() {
	if len(k.Res.Manifest.Tasks) > 0 && k.unzoned && k.Zone == "UTC" {
		k.Notef("times without a timeZone are read in UTC; Kubernetes reads them in the zone of its controller, which is UTC in most clusters")
	}
}
