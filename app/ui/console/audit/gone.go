package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// Changes is the part of the API that reads the changes of an object.
type Changes = auditAPI

// Deletion is the change that deleted the object of a page, such as that of
// GET /tasks/{name}. It is nil if the last change of the object is no deletion.
func Deletion(ctx context.Context, api Changes, pattern, namespace, name string) *access.Audit {
	noun := nounAt(pattern)
	if noun == "" || name == "" {
		return nil
	}
	if noun == "queue" { // all namespaces share them
		namespace = core.AnyNamespace
	}
	last, err := api.Audit(ctx, access.AuditFilter{Paging: core.Paging{Limit: 1}, Namespace: namespace, Noun: noun, Name: name})
	if err != nil || len(last.Items) == 0 || !deletes(last.Items[0]) { // without the right to read the audit, the page says less
		return nil
	}
	return &last.Items[0]
}

// nounAt returns the noun of the pages below a path, in the words of the audit.
func nounAt(pattern string) string {
	_, path, _ := strings.Cut(pattern, " /")
	path, _, named := strings.Cut(path, "/{name}")
	if !named {
		return ""
	}
	switch path {
	case "tasks", "programs", "cycles":
		return "task"
	case "schedules":
		return "schedule"
	}
	for noun, at := range thingPages {
		var parts []string
		for _, part := range at {
			parts = append(parts, fmt.Sprint(part))
		}
		if strings.Join(parts, "/") == path {
			return noun
		}
	}
	return ""
}

// deletes reports that a change removed its thing.
func deletes(a access.Audit) bool { return len(a.Before) > 0 && len(a.After) == 0 }

// markGone marks the changes of objects whose newest change is a deletion. The
// list must have all newer changes of these objects, newest first.
func markGone(changes []auditChange) {
	type thing struct{ noun, namespace, name string }
	gone := map[thing]bool{}
	for i, c := range changes {
		of := thing{c.Noun, c.Namespace, c.Name}
		if _, seen := gone[of]; !seen {
			gone[of] = deletes(c.Audit)
		}
		changes[i].Gone = gone[of]
	}
}
