package marks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Seeking from lane to lane, a session finds exactly the lanes that it can run. Lanes that it cannot run add no look-ups.
func TestLanesAreFoundWithoutALookAtOthers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range 300 {
		var all []string
		for range 400 {
			kind, handler := task.Kind(pick("command", "func", "http", "program")), ""
			if kind == task.KindFunc {
				handler = fmt.Sprintf("f%d%s", r.IntN(40), pick("", "-x", ".y"))
			}
			lane := "q" + LaneEnd + string(kind) + LaneEnd + handler + LaneEnd + pick("a", "b", "b-1", "c") + LaneEnd + fmt.Sprint(r.IntN(30))
			if !slices.Contains(all, lane) {
				all = append(all, lane)
			}
		}
		slices.Sort(all)
		w := job.WorkerState{WorkerInfo: job.WorkerInfo{
			Namespace: pick("*", "b"), Kinds: []task.Kind{task.KindFunc, task.Kind(pick("command", "http"))},
			Funcs: []string{"f7", fmt.Sprintf("f%d", r.IntN(40)), "f3-x"},
		}}
		met := []int64{int64(r.IntN(30)), 2}
		var want, got []string
		for _, lane := range all {
			if own, _ := Seek(w, met, lane); own {
				want = append(want, lane)
			}
		}
		seeks, foreign := 0, map[task.Kind]int{}
		for i := 0; i < len(all); seeks++ {
			own, next := Seek(w, met, all[i])
			if own {
				got = append(got, all[i])
			}
			if kind := task.Kind(strings.Split(all[i], LaneEnd)[1]); !w.Runs(kind) {
				if foreign[kind]++; foreign[kind] > 1 {
					t.Fatalf("session %+v looked up a second lane of kind %s, which it cannot run: %q", w.WorkerInfo, kind, all[i])
				}
			}
			if next <= all[i] {
				t.Fatalf("after lane %q, the next look-up is at %q, want a later lane", all[i], next)
			}
			i, _ = slices.BinarySearch(all, next)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("session %+v with requirements %v got lanes %q, want %q, of %q", w.WorkerInfo, met, got, want, all)
		}
		// For each kind, handler and namespace, a session looks up one more lane for each gap between the requirements that it
		// meets.
		if most := 4 * (2 + 3) * 4 * (3 + 1); seeks > most {
			t.Errorf("got %d look-ups for %d lanes of %d, want at most %d", seeks, len(got), len(all), most)
		}
	}
}
