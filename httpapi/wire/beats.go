package wire

// BeatPrefix is the prefix of URLs of heartbeats. The rest of the path is a key. So
// these routes need no token, answer to any host name, and allow pages of any
// origin.
const BeatPrefix = "/beat/"
