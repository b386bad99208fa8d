package jobs

import (
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestTheRoomOfClaimsIsKeptWithoutTheJobs(t *testing.T) {
	p := make(rowPool, 1)
	rows := append(p.take(fewRows), JobRow{Job: job.Job{ID: 1, Input: []byte(`"large"`)}})
	p.giveBack(rows)
	p.giveBack(p.take(fewRows - 1)) // too little to be kept
	again := p.take(core.MaxBatch)
	if len(again) != 0 || cap(again) < core.MaxBatch || &again[:1][0] != &rows[0] {
		t.Fatalf("%d of %d, the same room: %t", len(again), cap(again), &again[:1][0] == &rows[0])
	}
	if left := again[:1][0]; left.ID != 0 || left.Input != nil {
		t.Errorf("keeps %+v", left)
	}
	other := p.take(fewRows) // nobody waits for room
	p.giveBack(other)
	p.giveBack(again)
	if len(p) != 1 {
		t.Errorf("%d are kept", len(p))
	}
}
