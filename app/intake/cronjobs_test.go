package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

const cronJob = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: backup
  namespace: prod
  labels: {app: backup}
spec:
  schedule: "0 3 * * *"
  timeZone: Europe/Sofia
  suspend: false
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 200
  successfulJobsHistoryLimit: 3
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 3600
      ttlSecondsAfterFinished: 60
      template:
        metadata: {labels: {app: backup}}
        spec:
          restartPolicy: OnFailure
          serviceAccountName: backup
          terminationGracePeriodSeconds: 60
          volumes:
          - name: data
            emptyDir: {}
          containers:
          - name: backup
            image: registry.example/backup:1.2
            imagePullPolicy: IfNotPresent
            command: ["/bin/sh", "-c"]
            args:
            - |
              echo $(GREETING) $$(GREETING) $(NOBODY)
              pg_dump shop
            workingDir: /data
            env:
            - {name: GREETING, value: "hello $(NAME)"}
            - name: COUNT
              value: "3"
            - name: PASSWORD
              valueFrom: {secretKeyRef: {name: shop, key: password}}
            - {name: BELFRY_TASK, value: x}
            resources:
              limits: {cpu: 1, memory: 1Gi}
            volumeMounts: []
status:
  lastScheduleTime: "2026-01-30T01:00:00Z"
`

func TestACronJobBehavesAsItDidInKubernetes(t *testing.T) {
	t.Parallel()
	r := cronJobs(t, cronJob, intake.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	l := line(t, r, 1)
	if l.Text != "backup: 0 3 * * *" || l.Means != "At 03:00 every day, Europe/Sofia time." || !l.Next[0].Equal(time.Date(2026, 2, 1, 1, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", l)
	}
	same(t, "schedule", r.Manifest.Schedules, []schedule.Schedule{{
		Name: "backup", Task: "backup", Zone: "Europe/Sofia", Rules: []schedule.Rule{{Cron: "0 3 * * *"}},
		Overlap: schedule.OverlapSkip, Catchup: schedule.CatchupLatest, CatchupWindow: core.Duration(200 * time.Second),
	}})
	same(t, "task", r.Manifest.Tasks, []task.Task{{
		Name: "backup", Timeout: core.Duration(time.Hour),
		Retry: task.Retry{MaxAttempts: 3, Backoff: task.BackoffExponential, Delay: core.Duration(10 * time.Second), MaxDelay: core.Duration(6 * time.Minute)},
		Command: &task.Command{
			Argv: []string{"/bin/sh", "-c", "echo hello $(NAME) $(GREETING) $(NOBODY)\npg_dump shop\n"}, Dir: "/data",
			Env: map[string]string{"GREETING": "hello $(NAME)", "COUNT": "3"}, KillGrace: core.Duration(time.Minute),
		},
	}})
	notes := strings.Join(l.Notes, "\n")
	for _, want := range []string{
		"not in the image registry.example/backup:1.2", "PASSWORD comes from its secretKeyRef", "BELFRY_TASK is not carried over",
		"for all tries together", "overlap: buffer_one does so", "runs it after the gap",
		"not carried over: container.resources, jobTemplate.spec.ttlSecondsAfterFinished, pod.serviceAccountName, pod.volumes, spec.successfulJobsHistoryLimit",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("nothing is said of %q:\n%s", want, notes)
		}
	}
	stable(t, r.Manifest)
}

// job is a CronJob with a spec of one's own, and a pod that is right.
func job(spec string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n" +
		"  jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: busybox, command: [date]}]}}}}\n"
}

// pod is a CronJob with a pod of one's own.
func pod(jobSpec, podSpec string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '@daily'\n  jobTemplate: {spec: {" + jobSpec + "template: {spec: {" + podSpec + "}}}}\n"
}

func TestFieldsOfACronJob(t *testing.T) {
	t.Parallel()
	const box = "containers: [{name: a, command: [date]}]"
	for _, c := range []struct {
		text  string
		says  func(s schedule.Schedule, t task.Task) bool
		fault string
		note  string
	}{
		{job("schedule: '@daily'"), func(s schedule.Schedule, t task.Task) bool {
			return s.Zone == "UTC" && s.Overlap == schedule.OverlapAllow && s.CatchupWindow == task.MaxEvery &&
				t.Retry.MaxAttempts == 7 && t.Timeout == task.MaxTimeout && t.Command.KillGrace == core.Duration(30*time.Second)
		}, "", ""},
		{job("schedule: 0  3 * * *"), func(s schedule.Schedule, _ task.Task) bool { return s.RuleText() == "0 3 * * *" }, "", ""},
		{job("schedule: '@every 1h'"), nil, "", "from a fixed instant"},
		{job("schedule: 0 0 */2 * 1"), func(s schedule.Schedule, _ task.Task) bool { return s.RuleText() == "0 0 1-31/2 * 1" }, "", "either of them"},
		{job("schedule: 0 0 */2 * */3"), func(s schedule.Schedule, _ task.Task) bool { return s.RuleText() == "0 0 1-31/2 * 0-6/3" }, "", ""},
		{job("schedule: 0 0 */2 * *"), func(s schedule.Schedule, _ task.Task) bool { return s.RuleText() == "0 0 */2 * *" }, "", ""},
		{job("schedule: '@daily'\nconcurrencyPolicy: Replace"), func(s schedule.Schedule, _ task.Task) bool { return s.Overlap == schedule.OverlapCancelOther }, "", ""},
		{job("schedule: '@daily'\nstartingDeadlineSeconds: 5"), func(s schedule.Schedule, _ task.Task) bool { return s.CatchupWindow == core.Duration(core.OnTime) }, "", "startingDeadlineSeconds is 5s, which Belfry takes as 10s"},
		{job("schedule: '@daily'\nstartingDeadlineSeconds: 9000000000000000000"), func(s schedule.Schedule, _ task.Task) bool { return s.CatchupWindow == task.MaxEvery }, "", "takes as 366d"},
		{job("schedule: 0 3 * * *\nsuspend: true"), func(s schedule.Schedule, _ task.Task) bool { return len(s.Rules) == 0 }, "", `it is suspended: its rule is left out`},
		{pod("backoffLimit: 0, ", box), func(_ schedule.Schedule, t task.Task) bool { return t.Retry.MaxAttempts == 1 }, "", ""},
		{pod("backoffLimit: 9223372036854775808, ", box), nil, "backoffLimit", ""},
		{pod("backoffLimit: 9223372036854775807, ", box), func(_ schedule.Schedule, t task.Task) bool { return t.Retry.MaxAttempts == 100 }, "", "at most 100 times"},
		{pod("activeDeadlineSeconds: 99999999, ", box), func(_ schedule.Schedule, t task.Task) bool { return t.Timeout == task.MaxTimeout }, "", "takes as 7d"},
		{pod("activeDeadlineSeconds: 60, ", "activeDeadlineSeconds: 30, "+box), func(_ schedule.Schedule, t task.Task) bool { return t.Timeout == core.Duration(30*time.Second) }, "", ""},
		{pod("parallelism: 4, completions: 4, ", box), nil, "", "completions is 4"},
		{pod("", "terminationGracePeriodSeconds: 900, "+box), func(_ schedule.Schedule, t task.Task) bool { return t.Command.KillGrace == task.MaxKillGrace }, "", "takes as 5m"},
		{pod("", "initContainers: [{name: b}], "+box), nil, "", "pod.initContainers"},
		{strings.Replace(job("schedule: '@daily'"), "batch/v1", "batch/v1beta1", 1), nil, "", ""},

		{strings.Replace(job("schedule: '@daily'"), "batch/v1", "batch/v2", 1), nil, `line 1, column 13, apiVersion "batch/v2"`, ""},
		{strings.Replace(job("schedule: '@daily'"), "{name: a}", "{name: A b}", 1), nil, `line 3, column 18, metadata.name "A b": is not a name`, ""},
		{strings.Replace(job("schedule: '@daily'"), "{name: a}", "{}", 1), nil, "metadata.name: is missing", ""},
		{job("schedule: 0 25 * * *"), nil, `line 5, hour "25"`, ""},
		{job("schedule: 0 0 3 * * *"), nil, "has 6 fields, and Kubernetes reads five", ""},
		{job("schedule: TZ=UTC 0 3 * * *"), nil, "write the zone as spec.timeZone", ""},
		{job("schedule: '@reboot'"), nil, "names an event", ""},
		{job("schedul: '@daily'"), nil, "spec.schedule: is missing", "spec.schedul"},
		{job("schedule: ['@daily']"), nil, "spec.schedule: is missing", ""},
		{job("schedule: '@daily'\ntimeZone: Europe/Sophia"), nil, `line 6, column 13, spec.timeZone "Europe/Sophia"`, ""},
		{job("schedule: '@daily'\nconcurrencyPolicy: Never"), nil, "one of Allow, Forbid, Replace", ""},
		{job("schedule: '@daily'\nsuspend: maybe"), nil, "is neither true nor false", ""},
		{job("schedule: '@daily'\nstartingDeadlineSeconds: -1"), nil, "is not a whole number", ""},
		{pod("", "containers: [{name: a, image: busybox}]"), nil, "is the image's own", ""},
		{pod("", "containers: [{name: a, args: [x]}]"), nil, "is the image's own", ""},
		{pod("", "containers: [{name: a, command: [a]}, {name: b, command: [b]}]"), nil, "containers: are 2", ""},
		{pod("", "containers: []"), nil, "containers: are missing", ""},
		{pod("", "containers: [{name: a, command: date}]"), nil, `command "date": is not a list`, ""},
		{pod("", "containers: [{name: a, command: [{a: b}]}]"), nil, "is not text", ""},
		{pod("", `containers: [{name: a, command: ["a\0b"]}]`), nil, "has bytes that are not text", ""},
		{pod("", "containers: [{name: a, command: [date], workingDir: &x /a}]"), nil, "anchor", ""},
		{"kind: CronJob\nkind: CronJob\n", nil, "line 2, column", ""},
		{"apiVersion: batch/v1\nkind: CronJob\nspec:\n  schedule: {{ .Values.schedule }}\n", nil, "helm template", ""},
		{"apiVersion: batch/v1\nkind: CronJob\n", nil, "metadata.name: is missing", ""},
		{"apiVersion: batch/v1\nkind: [\n", nil, "is not YAML", ""},
		{"apiVersion: " + strings.Repeat("[", 100), nil, "nested more than 64 levels", ""},
		{"- a\n- b\n", nil, "is not an object of Kubernetes", ""},
	} {
		r := cronJobs(t, c.text, intake.Options{})
		if len(r.Lines) != 1 {
			t.Errorf("%s: %+v", c.text, r)
			continue
		}
		l := r.Lines[0]
		switch {
		case c.fault != "":
			if l.Err == nil || !strings.Contains(l.Err.String(), c.fault) {
				t.Errorf("%s: says %v, want %q", c.text, l.Err, c.fault)
			}
		case l.Err != nil:
			t.Errorf("%s: %v", c.text, l.Err)
		case c.says != nil && !c.says(r.Manifest.Schedules[0], r.Manifest.Tasks[0]):
			t.Errorf("%s: became %+v and %+v", c.text, r.Manifest.Schedules[0], r.Manifest.Tasks[0])
		}
		if c.note != "" && !strings.Contains(strings.Join(l.Notes, "\n"), c.note) {
			t.Errorf("%s: notes are %q, want %q", c.text, l.Notes, c.note)
		}
	}
}

func TestOneBadDocumentHidesNoOther(t *testing.T) {
	t.Parallel()
	second := strings.Replace(cronJob, "namespace: prod", "namespace: test", 1)
	text := "# a file\n" + cronJob + "---\nkind: [\n--- # a comment\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\n...\n---\n" + second +
		"---\n" + `{"apiVersion": "v1", "kind": "List", "items": [` + "\n\t" + `{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "listed"}, "spec": {"schedule": "@daily",` +
		` "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"command": ["date", "+%F"]}]}}}}}}]}` + "\n"
	r := cronJobs(t, strings.ReplaceAll(text, "\t", " "), intake.Options{})
	var got []string
	for _, l := range r.Lines {
		got = append(got, l.Schedule)
	}
	same(t, "lines", got, []string{"backup", "", "test-backup", "listed"})
	first := strings.Count("# a file\n"+cronJob, "\n")
	if l := r.Lines[1]; l.Number != first+2 || l.Text != "kind: [" || !strings.Contains(l.Err.Field, "line ") {
		t.Errorf("the bad one is %+v", l)
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "ConfigMap conf is not a CronJob") }) {
		t.Errorf("nothing is said of the ConfigMap: %q", r.Notes)
	}
	if l := r.Lines[2]; !strings.HasPrefix(strings.Split(text, "\n")[l.Number-1], "apiVersion") {
		t.Errorf("the third begins at line %d", l.Number)
	}
	stable(t, r.Manifest)
}

func TestVariablesThatHoldEachOtherAreBounded(t *testing.T) {
	t.Parallel()
	var env strings.Builder
	env.WriteString("{name: A0, value: aaaaaaaaaaaaaaaa}")
	for i := 1; i < 60; i++ {
		prev, name := string(rune('A'+(i-1)/10))+string(rune('0'+(i-1)%10)), string(rune('A'+i/10))+string(rune('0'+i%10))
		env.WriteString(", {name: " + name + ", value: $(" + prev + ")$(" + prev + ")}")
	}
	r := cronJobs(t, pod("", "containers: [{name: a, command: [date], env: ["+env.String()+"]}]"), intake.Options{})
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "make the file too large") {
		t.Error(err)
	}
	r = cronJobs(t, pod("", "containers: [{name: a, command: [date, '"+strings.Repeat("$(", 100_000)+"']}]"), intake.Options{})
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestManyKeysAreReadSoon(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := 0; b.Len() < intake.MaxSize-100; i++ {
		fmt.Fprintf(&b, "k%d: v\n", i)
	}
	began := time.Now()
	r := cronJobs(t, b.String()+"kind: CronJob\n", intake.Options{})
	if took := time.Since(began); r.Err() == nil || !strings.Contains(r.Err().Error(), "more than the 5000") || took > 20*time.Second { // 1 s; the square of their number would take 50 s
		t.Errorf("%v after %s", r.Err(), took)
	}
}

func TestManyCronJobsAreNotManyKeys(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "- kind: CronJob\n  apiVersion: batch/v1\n  metadata: {name: a%d}\n  spec:\n    schedule: '@daily'\n    jobTemplate: {spec: {template: {spec: {containers: [{command: [date], env: [{name: A, value: b}]}]}}}}\n", i)
	}
	r := cronJobs(t, b.String(), intake.Options{})
	if err := r.Err(); err != nil || len(r.Manifest.Schedules) != 3000 {
		t.Errorf("%d of 3000: %v", len(r.Manifest.Schedules), err)
	}
}
