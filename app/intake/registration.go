package intake

import (
	"net"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// registration is what a monitor of a domain watches. Monitors that agree in it share one.
type registration struct {
	domain   string
	failDays int
	warnDays int
	muted    bool
}

// registryEvery is how often a registry is asked: an end moves by years.
const registryEvery = core.Duration(24 * time.Hour)

// register watches the registration of the domain of a host beside a monitor, and answers the name of the monitor that does.
func (w *watching) register(e *entry, of monitor.Monitor, r registration) (name string, ok bool) {
	if name, made := w.registered[r]; made {
		return name, name != ""
	}
	m := monitor.Monitor{
		Name: w.monitorName(r.domain+"-registration", "", ""), Tags: of.Tags, Every: registryEvery, Muted: r.muted,
		Check: task.Task{Domain: &task.Domain{Name: r.domain, WarnDays: r.warnDays, FailDays: r.failDays}},
	}
	w.registered[r] = ""
	if w.add(newEntry(e.at, e.name+", registration", clip(e.name+", registration: "+r.domain)), m) {
		w.registered[r] = m.Name
	}
	return w.registered[r], w.registered[r] != ""
}

// registeredDomain is the domain of a host that somebody registered, or empty.
func registeredDomain(host string) string {
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
