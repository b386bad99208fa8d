package base

// packFrom is the default of [Options.PackFrom] on PostgreSQL. A pack saves about 5 us for each job. It costs three more short
// statements when its jobs are settled, about 0.3 ms in all. The chaos test of internal/e2e replaces this line by a smaller one.
const packFrom = 50
