// Package isolation has the shared types of the sandbox: tiers and layers, limits, mounts, and the fault of a step.
package isolation
