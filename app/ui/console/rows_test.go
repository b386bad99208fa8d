package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Jobs and tasks are one line each in windows of all widths beside the navigation, whatever they are called and say.
func TestJobsAndTasksAreOneLineEach(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 10 {
		name := fmt.Sprintf("rebuild-the-index-of-all-orders-of-last-quarter-%02d", i)
		must(s.CreateTask(t.Context(), task.Task{Name: name, Description: strings.Repeat("what it does ", 20), Kind: task.KindFunc}))(s)
		must(s.Enqueue(t.Context(), []job.NewJob{{Task: name}}))(s)
		s.failNext(name, strings.Repeat("the disk is full ", 20))
	}
	b := s.at("/jobs")
	for _, page := range []string{"/jobs", "/tasks"} {
		b.Visit(s.url + page)
		for _, width := range []int{1280, 1100, 880} {
			b.Emulate("light", width)
			var of struct{ Rows, Most float64 }
			b.Eval(`(() => { const all = [...document.querySelectorAll('#list tbody tr')].map(r => r.getBoundingClientRect().height); return {rows: all.length, most: Math.max(...all)}; })()`, &of)
			if of.Rows != 10 || of.Most > 36 {
				t.Errorf("%s at %d pixels: %+v", page, width, of)
			}
			picture(b, fmt.Sprint("rows", strings.ReplaceAll(page, "/", "-"), "-", width))
			b.Layout()
		}
		b.Emulate("light", 390)
		picture(b, "rows"+strings.ReplaceAll(page, "/", "-")+"-390")
		b.Layout()
		b.Axe()
	}
	b.Quiet(s.url)
}
