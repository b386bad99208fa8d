package sqlite

// packFrom is the default of [store.Options.PackFrom]. Without faults, a pack was measured to be cheaper than rows from claims
// of five jobs on. The rest is a margin, not measured, for packs that have to be split. The chaos tests of internal/e2e use a
// smaller value.
const packFrom = 10
