package base

// packFrom is the default of [Options.PackFrom] on PostgreSQL. A pack spares some
// 5 us for each job, and costs three short statements more when its jobs are
// settled, some 0.3 ms in all. The chaos of internal/e2e has a smaller one put in
// its place.
const packFrom = 50
