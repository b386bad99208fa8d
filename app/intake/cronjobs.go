package intake

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
// entry becomes the command of its single container, and what belongs to the
// container around it is a note.
func CronJobs(r io.Reader, o Options) (Result, error) {
	o, err := o.prepare()
	if err != nil {
		return Result{}, err
	}
	text, err := readAll(r)
	if err != nil {
		return Result{}, err
	}
	k := &cronJobs{builder: newBuilder(o)}
	for _, d := range documents(string(text), withoutAnchors) {
		if d.fault != nil {
			l := &Line{Number: d.at.line, Text: clip(d.first)}
			l.fault(d.fault.at, "", "", d.fault.message, d.fault.hint)
			k.res.Lines = append(k.res.Lines, *l)
			continue
		}
		k.object(d.root)
	}
	if len(k.res.Lines) > MaxLines {
		return Result{}, core.Errorf(core.TooLarge, "the file has more than %d CronJobs", MaxLines).WithHint("split it")
	}
	if len(k.res.Lines) == 0 {
		return Result{}, core.InvalidField("file", "", "holds no CronJob", "kubectl get cronjobs -o yaml writes them")
	}
	k.fileNotes()
	return k.res, nil
}

type cronJobs struct {
	*builder
	unzoned bool // one has no timeZone
}

// object takes in whatever a document or an entry of a list holds.
func (k *cronJobs) object(t *tree) {
	kind := t.get("kind")
	switch {
	case t.kind != mapping:
		l := &Line{Number: t.at.line}
		l.fault(t.at, "", t.text, "is not an object of Kubernetes", "it has apiVersion, kind, metadata and spec")
		k.res.Lines = append(k.res.Lines, *l)
	case kind.text == "CronJob":
		k.cronJob(t)
	case strings.HasSuffix(kind.text, "List") && t.get("items").kind == sequence:
		for _, item := range t.get("items").list {
			k.object(item)
		}
	default:
		name := orWord(t.get("metadata", "name").text, "without a name")
		k.notef("line %d: %s %s is not a CronJob and is left out", t.at.line, orWord(clip(kind.text), "an object of no kind"), clip(name))
	}
}

func clip(s string) string {
	short, cut := core.CleanText(s, 80)
	if cut {
		short += "…"
	}
	return short
}

// reading is one CronJob while it is read.
type reading struct {
	*Line
	left []string // what is not carried over, by path
}

func (k *cronJobs) cronJob(t *tree) {
	spec := t.get("spec")
	when := spec.get("schedule")
	name := t.get("metadata", "name")
	r := &reading{Line: &Line{Number: t.at.line, Text: clip(fmt.Sprintf("%s: %s", orWord(name.text, "CronJob"), when.text))}}
	switch version := t.get("apiVersion"); version.text {
	case "batch/v1", "batch/v1beta1":
	default:
		r.fault(version.at, "apiVersion", version.text, "is not that of a CronJob", "write apiVersion: batch/v1")
	}
	if err := core.ValidName("metadata.name", name.text); err != nil {
		r.firstFault(name.at, err)
		name = &tree{at: name.at, text: "cronjob"}
	}
	s := k.schedule(r, spec)
	s.Name = k.freeName(name.text, t.get("metadata", "namespace").text)
	if when.kind != scalar || strings.TrimSpace(when.text) == "" {
		r.fault(when.at, "spec.schedule", "", "is missing", `such as "0 3 * * *"`)
	} else if rules := k.rules(r, when, s); rules != nil {
		s.Rules = rules
		if k.explain(r.Line, s, when.at) && truth(spec.get("suspend")) {
			// A definition cannot say that it is paused, and what was suspended must not start to run.
			r.notef("it is suspended: its rule is left out, so that it runs only when triggered; write it into the schedule to let it run: cron: %q", rules[0].Cron)
			s.Rules = nil
		}
	}
	task := k.task(r, spec.get("jobTemplate", "spec"))
	task.Name, s.Task = s.Name, s.Name
	r.leave(spec, "spec", "schedule", "timeZone", "suspend", "concurrencyPolicy", "startingDeadlineSeconds", "jobTemplate")
	if len(r.left) > 0 {
		slices.Sort(r.left)
		r.notef("not carried over: %s", strings.Join(slices.Compact(r.left), ", "))
	}
	k.add(r.Line, t.at, task, s)
}

// freeName is the CronJob's name, with its namespace in front when another
// CronJob of the file has it.
func (k *cronJobs) freeName(name, namespace string) string {
	if k.schedules.taken[name] && namespace != "" {
		if both := namespace + "-" + name; core.ValidName("name", both) == nil {
			name = both
		}
	}
	return k.schedules.free(cutText(name, 120))
}

// leave notes what a mapping holds besides the known keys.
func (r *reading) leave(t *tree, path string, known ...string) {
	for _, key := range t.keys {
		if sub := t.table[key]; !slices.Contains(known, key) && !sub.empty() && len(r.left) < 100 {
			r.left = append(r.left, path+"."+clip(key))
		}
	}
}

// empty reports whether a value says nothing, such as {} and [].
func (t *tree) empty() bool {
	return t.kind == nothing || t.kind == sequence && len(t.list) == 0 || t.kind == mapping && len(t.keys) == 0
}

func truth(t *tree) bool { return strings.EqualFold(t.text, "true") }

// schedule is all of it but the rules.
func (k *cronJobs) schedule(r *reading, spec *tree) schedule.Schedule {
	s := schedule.Schedule{Zone: k.Zone, Overlap: schedule.OverlapAllow, Catchup: schedule.CatchupLatest, CatchupWindow: task.MaxEvery}
	switch zone := spec.get("timeZone"); {
	case zone.text == "":
		k.unzoned = true
	default:
		if _, err := cron.LoadZone(zone.text); err != nil {
			var ce *cron.Error
			if errors.As(err, &ce) {
				r.fault(zone.at, "spec.timeZone", zone.text, ce.Msg, ce.Hint)
			}
			break
		}
		s.Zone = zone.text
	}
	switch policy := spec.get("concurrencyPolicy"); policy.text {
	case "", "Allow":
	case "Forbid":
		s.Overlap = schedule.OverlapSkip
	case "Replace":
		s.Overlap = schedule.OverlapCancelOther
	default:
		r.fault(policy.at, "spec.concurrencyPolicy", policy.text, "is not a policy", "one of Allow, Forbid, Replace")
	}
	if deadline, ok := r.number(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds"); ok {
		s.CatchupWindow = r.between("startingDeadlineSeconds", deadline, core.Duration(core.OnTime), task.MaxEvery)
	}
	if label := spec.get("suspend"); label.kind == scalar && !truth(label) && !strings.EqualFold(label.text, "false") {
		r.fault(label.at, "spec.suspend", label.text, "is neither true nor false", "")
	}
	return s
}

// number reads a whole number that is not negative, if there is one.
func (r *reading) number(t *tree, field string) (int64, bool) {
	if t.kind == nothing {
		return 0, false
	}
	n, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil || n < 0 {
		r.fault(t.at, field, t.text, "is not a whole number from 0", "")
		return 0, false
	}
	return n, true
}

// between is so many seconds, within what Belfry allows.
func (r *reading) between(what string, seconds int64, least, most core.Duration) core.Duration {
	d := core.Duration(min(seconds, math.MaxInt64/int64(time.Second))) * core.Duration(time.Second)
	if within := min(max(d, least), most); within != d {
		r.notef("%s is %s, which Belfry takes as %s", what, d, within)
		return within
	}
	return d
}

// rules is the times of a CronJob, or nil and a fault.
func (k *cronJobs) rules(r *reading, when *tree, s schedule.Schedule) []schedule.Rule {
	zone, err := cron.LoadZone(s.Zone)
	if err != nil {
		return nil
	}
	if fields := strings.Fields(when.text); strings.ContainsRune(fields[0], '=') {
		r.fault(when.at, "spec.schedule", when.text, "has its time zone in it, which Kubernetes refuses", "write the zone as spec.timeZone")
		return nil
	} else if fields[0][0] != '@' && len(fields) != 5 {
		r.fault(when.at, "spec.schedule", when.text, fmt.Sprintf("has %d fields, and Kubernetes reads five", len(fields)), "minute, hour, day of month, month, weekday")
		return nil
	}
	e, err := cron.Parse(when.text, cron.Options{Zone: zone, After: k.Now})
	if err != nil {
		at := when.at
		at.column = 0 // quotes and folding come between
		r.cronFault(at, err)
		r.Column = when.at.column
		return nil
	}
	text := strings.Join(strings.Fields(when.text), " ")
	if either := eitherDay(text); either != text {
		r.notef("a step of days beside a weekday means either of them in Kubernetes; written %q here", either)
		text = either
	}
	if strings.HasPrefix(strings.ToLower(text), "@every") {
		r.notef("the interval counts from a fixed instant and not from when the object was made")
	}
	if e.Fixed() && zone.String() != "UTC" {
		r.notef("a time that the clock skips is left out by Kubernetes; Belfry runs it after the gap (dst_gap: skip leaves it out)")
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
func (k *cronJobs) task(r *reading, job *tree) task.Task {
	pod := job.get("template", "spec")
	t := task.Task{
		Timeout: task.MaxTimeout, // Kubernetes has none
		Retry:   task.Retry{MaxAttempts: backoffLimit + 1, Backoff: task.BackoffExponential, Delay: firstBackoff, MaxDelay: longestWait},
	}
	if n, ok := r.number(job.get("backoffLimit"), "backoffLimit"); ok {
		t.Retry.MaxAttempts = int(min(n, 99)) + 1
		if n > 99 {
			r.notef("backoffLimit is %d, and Belfry tries at most 100 times", n)
		}
	}
	if n, ok := r.number(job.get("activeDeadlineSeconds"), "activeDeadlineSeconds"); ok {
		t.Timeout = r.between("activeDeadlineSeconds", n, task.MinTimeout, task.MaxTimeout)
		if t.Retry.MaxAttempts > 1 {
			r.notef("activeDeadlineSeconds is for all tries together in Kubernetes, and the timeout is for each of them")
		}
	}
	if n, ok := r.number(pod.get("activeDeadlineSeconds"), "activeDeadlineSeconds"); ok {
		t.Timeout = min(t.Timeout, r.between("activeDeadlineSeconds of the pod", n, task.MinTimeout, task.MaxTimeout))
	}
	for _, field := range []string{"parallelism", "completions"} {
		if n, ok := r.number(job.get(field), field); ok && n != 1 {
			r.notef("%s is %d, and Belfry runs the command once", field, n)
		}
	}
	r.leave(job, "jobTemplate.spec", "template", "backoffLimit", "activeDeadlineSeconds", "parallelism", "completions")
	t.Command = k.command(r, pod)
	return t
}

func (k *cronJobs) command(r *reading, pod *tree) *task.Command {
	containers := pod.get("containers")
	if len(containers.list) != 1 {
		message := "are missing"
		if n := len(containers.list); n > 1 {
			message = fmt.Sprintf("are %d, and a task of Belfry runs one command", n)
		}
		r.fault(containers.at, "containers", "", message, "make one CronJob of each, or one script of all")
		return &task.Command{Argv: []string{"none"}}
	}
	box := containers.list[0]
	env := k.environment(r, box)
	argv := slices.Concat(r.texts(box.get("command"), "command"), r.texts(box.get("args"), "args"))
	if len(box.get("command").list) == 0 {
		r.fault(box.at, "command", "", "is missing: the program is the image's own, which is not known here", "write it into the container as command")
	}
	c := &task.Command{Env: env, KillGrace: core.Duration(podGrace) * core.Duration(time.Second)}
	for _, arg := range argv {
		c.Argv = append(c.Argv, k.expand(r, arg, arg.text, env))
	}
	if dir := box.get("workingDir").text; strings.HasPrefix(dir, "/") {
		c.Dir = dir
	}
	if n, ok := r.number(pod.get("terminationGracePeriodSeconds"), "terminationGracePeriodSeconds"); ok {
		c.KillGrace = r.between("terminationGracePeriodSeconds", n, core.Duration(time.Second), task.MaxKillGrace)
	}
	r.notef("it runs on a worker that allows commands, and not in the image %s: its program and files must be there", clip(orWord(box.get("image").text, "of the container")))
	r.leave(pod, "pod", "containers", "restartPolicy", "activeDeadlineSeconds", "terminationGracePeriodSeconds",
		"dnsPolicy", "schedulerName", "serviceAccount") // defaults that the API server writes
	r.leave(box, "container", "name", "image", "imagePullPolicy", "command", "args", "env", "workingDir",
		"terminationMessagePath", "terminationMessagePolicy")
	return c
}

// environment is the variables with values of their own.
func (k *cronJobs) environment(r *reading, box *tree) map[string]string {
	env := map[string]string{}
	for _, v := range box.get("env").list {
		name := v.get("name").text
		switch bad := checkVariable(name); {
		case bad != "":
			r.notef("the variable %s is not carried over: it %s", clip(name), bad)
		case v.get("valueFrom").kind != nothing:
			from := "elsewhere"
			if keys := v.get("valueFrom").keys; len(keys) > 0 {
				from = "its " + clip(keys[0])
			}
			r.notef("the variable %s comes from %s, which is not carried over: give it to the task", clip(name), from)
		default:
			env[name] = k.expand(r, v, v.get("value").text, env)
		}
	}
	if len(env) == 0 {
		return nil
	}
	return env
}

// texts reads a list of texts.
func (r *reading) texts(t *tree, field string) []*tree {
	if t.kind != nothing && t.kind != sequence {
		r.fault(t.at, field, t.text, "is not a list", "")
	}
	for _, item := range t.list {
		if item.kind != scalar {
			r.fault(item.at, field, "", "is not text", "")
		}
	}
	return t.list
}

// expand puts variables in the place of $(NAME), as Kubernetes does: $$ is a
// $, and what is not known stays. Values that hold each other grow fast, so
// what one file may grow by is bounded.
func (k *cronJobs) expand(r *reading, t *tree, text string, env map[string]string) string {
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
			if k.grown += len(value); k.grown > maxGrown {
				r.fault(t.at, "", text, "holds variables that make the file too large", "")
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

// fileNotes says once what is true of every CronJob.
func (k *cronJobs) fileNotes() {
	if len(k.res.Manifest.Tasks) > 0 && k.unzoned && k.Zone == "UTC" {
		k.notef("times without a timeZone are read in UTC; Kubernetes reads them in the zone of its controller, which is UTC in most clusters")
	}
}
