package wire

// BeatPrefix is where heartbeats call. The rest of the path is a key, so
// these routes want no token, answer to any host name and let pages of any
// origin call.
const BeatPrefix = "/beat/"
