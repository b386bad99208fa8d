// Package scratch limits, reads and removes a folder to which an untrusted
// program writes. It never follows a link in that folder, and opens only regular
// files. Numbers, sizes and depths are bounded.
package scratch
