// Package isolation has the words that every part of the sandbox uses: tiers and layers, limits, mounts, and the
// fault of a step.
package isolation
