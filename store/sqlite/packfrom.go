package sqlite

// packFrom is the default of [store.Options.PackFrom]. Where all goes well a pack
// was measured to be cheaper than rows from claims of five on; what is above that
// is a margin, not measured, for packs that are taken apart. The chaos of
// internal/e2e has a smaller one put in its place.
const packFrom = 10
