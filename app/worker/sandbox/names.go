package sandbox

import "github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"

// The types that the parts of the sandbox share.
type (
	// Tier is the strength of isolation. A higher tier has all guarantees of a lower one.
	Tier = isolation.Tier
	// Layer is one means of isolation, which works on a machine or does not.
	Layer = isolation.Layer
	// Finding is the result of the detection of a layer or a tier on this machine.
	Finding = isolation.Finding
	// Report lists the tiers and layers that work on a machine.
	Report = isolation.Report
	// Mount is a file or folder that the program sees.
	Mount = isolation.Mount
	// Limits are the limits of a run. Zero is the default, -1 no limit.
	Limits = isolation.Limits
	// Limit is one limit and what enforces it.
	Limit = isolation.Limit
	// Fault is a failure to set up a run. The program has not run, except with StepInit.
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

// Steps of the setup that depend on the program, not on the machine.
const (
	StepExec = isolation.StepExec
	StepDir  = isolation.StepDir
	StepInit = isolation.StepInit
)

// ParseTier reads the name of a tier.
func ParseTier(name string) (Tier, error) { return isolation.ParseTier(name) }
