package monitor

import "github.com/belfry-run/belfry/public"

// StatusPage shows monitors of a namespace to everyone.
type StatusPage = public.StatusPage

// StatusSection is a group of monitors on a status page.
type StatusSection = public.StatusSection

// Limits of a status page.
const (
	MaxSections        = public.MaxSections
	MaxSectionMonitors = public.MaxSectionMonitors
)
