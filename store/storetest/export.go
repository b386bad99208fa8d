package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/definitions"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("an export in parts is the export, and no part is large", caseAnExportInPartsIsTheExport)
	add("an export in parts ends when a definition changes, and for nothing else", caseAnExportInPartsEndsWhenADefinitionChanges)
}

// largeManifest has definitions of more than one part in several lists.
func largeManifest() view.Manifest {
	m := manifest()
	input := json.RawMessage(`"` + strings.Repeat("x", 100<<10) + `"`)
	for i := range 25 {
		m.Tasks = append(m.Tasks, task.Task{Name: fmt.Sprintf("t%02d", i), Input: input})
	}
	for i := range 1500 {
		s := m.Schedules[0]
		s.Name, s.Description = fmt.Sprintf("s%04d", i), strings.Repeat("d", 900)
		m.Schedules = append(m.Schedules, s)
	}
	return m
}

func caseAnExportInPartsIsTheExport(b *bench) {
	must(b.st.Apply(b.ctx, largeManifest(), view.ApplyOptions{}))(b)
	must(b.st.Apply(b.ctx, manifest(), view.ApplyOptions{Namespace: "other"}))(b)
	for _, namespace := range []string{"", "other", core.AnyNamespace} {
		var whole view.Manifest
		next, n := b.st.ExportParts(namespace, 0), 0
		for more := true; more; n++ {
			var part view.Manifest
			var err error
			if part, more, err = next(b.ctx); err != nil {
				b.Fatal(err)
			}
			if size := len(jsonOf(part)); size > definitions.MaxPart*3/2 {
				b.Errorf("part %d of %q has %d bytes", n, namespace, size)
			}
			whole.Queues = append(whole.Queues, part.Queues...)
			whole.Tasks = append(whole.Tasks, part.Tasks...)
			whole.Schedules = append(whole.Schedules, part.Schedules...)
		}
		want(b, "the parts of "+namespace, jsonOf(whole) == jsonOf(must(b.st.Export(b.ctx, namespace))(b)), true)
		first, more, err := b.st.ExportParts(namespace, 8<<20)(b.ctx)
		ok(b, err)
		want(b, "one large part of "+namespace, !more && jsonOf(first) == jsonOf(whole), true)
		want(b, "several parts of "+namespace, n > 3, namespace != "other")
	}
}

func caseAnExportInPartsEndsWhenADefinitionChanges(b *bench) {
	must(b.st.Apply(b.ctx, largeManifest(), view.ApplyOptions{}))(b)
	begun := func(namespace string) func() error {
		next := b.st.ExportParts(namespace, 0)
		_, more, err := next(b.ctx)
		ok(b, err)
		want(b, "more", more, true)
		return func() error { _, _, err := next(b.ctx); return err }
	}
	first, all := begun("default"), begun(core.AnyNamespace)
	must(b.st.PauseQueue(b.ctx, "q", "full"))(b)
	b.enqueue(job.NewJob{Task: "a"})
	must(b.st.Apply(b.ctx, manifest(), view.ApplyOptions{Namespace: "other"}))(b)
	ok(b, first())
	want(b, "all namespaces after an edit of another", core.CodeOf(all()), core.Conflict)
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "s0001"))
	want(b, "after a deletion", core.CodeOf(first()), core.Conflict)
	next := begun("default")
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t03"}))(b)
	want(b, "after an edit", core.CodeOf(next()), core.Conflict)
}
