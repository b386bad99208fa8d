package sandbox

import "github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"

// The words of the sandbox, which its parts share.
type (
	// Tier is a promise about what a program cannot do. A higher one includes the lower.
	Tier = isolation.Tier
	// Layer is one means of isolation, which works on a machine or does not.
	Layer = isolation.Layer
	// Finding is what was found out about a layer or a tier on this machine.
	Finding = isolation.Finding
	// Report is what a machine can do.
	Report = isolation.Report
	// Mount is a file or folder that the program sees.
	Mount = isolation.Mount
	// Limits of a run. Zero is the default, -1 no limit.
	Limits = isolation.Limits
	// Limit is one limit and what holds it.
	Limit = isolation.Limit
	// Fault is a failure to set a run up. The program has not run.
	Fault = isolation.Fault
)

// The tiers, the weakest first.
const (
	None       = isolation.None
	User       = isolation.User
	Confined   = isolation.Confined
	Namespaces = isolation.Namespaces
	GVisor     = isolation.GVisor
)

// The layers, as they are tried.
const (
	LayerUID        = isolation.LayerUID
	LayerSeccomp    = isolation.LayerSeccomp
	LayerLandlock   = isolation.LayerLandlock
	LayerScope      = isolation.LayerScope
	LayerUserNS     = isolation.LayerUserNS
	LayerNamespaces = isolation.LayerNamespaces
	LayerMemory     = isolation.LayerMemory
	LayerPIDs       = isolation.LayerPIDs
	LayerCPU        = isolation.LayerCPU
	LayerKill       = isolation.LayerKill
	LayerEgress     = isolation.LayerEgress
	LayerGVisor     = isolation.LayerGVisor
)

// Steps of the setting up which depend on the program and not on the machine.
const (
	StepExec = isolation.StepExec
	StepDir  = isolation.StepDir
	StepInit = isolation.StepInit
)

// ParseTier reads the name of a tier.
func ParseTier(name string) (Tier, error) { return isolation.ParseTier(name) }
