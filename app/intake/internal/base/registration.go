package base

import (
	"net"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// Registration is the watched registration of a domain. Monitors with the same one share a monitor of it.
type Registration struct {
	Domain   string
	FailDays int
	WarnDays int
	Muted    bool
}

// registryEvery is how often a registry is asked: an end moves by years.
const registryEvery = core.Duration(24 * time.Hour)

// Register watches the registration of the domain of a host beside a monitor, and answers the name of the monitor that does.
func (w *Watching) Register(e *Entry, of monitor.Monitor, r Registration) (name string, ok bool) {
	if name, made := w.registered[r]; made {
		return name, name != ""
	}
	m := monitor.Monitor{
		Name: w.MonitorName(r.Domain+"-registration", "", ""), Tags: of.Tags, Every: registryEvery, Muted: r.Muted,
		Check: task.Task{Domain: &task.Domain{Name: r.Domain, WarnDays: r.WarnDays, FailDays: r.FailDays}},
	}
	w.registered[r] = ""
	if w.Add(NewEntry(e.At, e.Name+", registration", Clip(e.Name+", registration: "+r.Domain)), m) {
		w.registered[r] = m.Name
	}
	return w.registered[r], w.registered[r] != ""
}

// RegisteredDomain is the registered domain of a host, or empty.
func RegisteredDomain(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if net.ParseIP(strings.Trim(host, "[]")) != nil {
		return ""
	}
	suffix, public := publicsuffix.PublicSuffix(host)
	for !public && strings.Contains(suffix, ".") { // one of a company, such as github.io, is registered itself
		_, parent, _ := strings.Cut(suffix, ".")
		suffix, public = publicsuffix.PublicSuffix(parent)
	}
	below, found := strings.CutSuffix(host, "."+suffix)
	if !public || !found {
		return ""
	}
	return below[strings.LastIndexByte(below, '.')+1:] + "." + suffix
}
