package intake

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
)

// Kuma reads a backup of Uptime Kuma 1 (Settings, Backup, Export), and the list
// of monitors that the API of Uptime Kuma 2 answers with, alone or as the
// monitorList of an object with a notificationList beside it. Its monitors
// become monitors, its notifications channels, and which of them a monitor uses
// alert rules. An error is about the file as a whole: it is too large, it is
// not JSON, or it holds no monitor.
//
// Secrets that stand in the file are carried over.
func Kuma(r io.Reader, o Options) (Result, error) {
	o, err := o.prepare()
	if err != nil {
		return Result{}, err
	}
	text, err := readUpTo(r, MaxBackup)
	if err != nil {
		return Result{}, err
	}
	root, bad := readJSON(text)
	if bad != nil {
		return Result{}, core.InvalidField(fmt.Sprintf("line %d, column %d", bad.at.line, bad.at.column), "", bad.message, bad.hint)
	}
	k := &kuma{watching: newWatching(o), told: map[string]string{}, silent: map[string]string{}, proxies: map[string]*tree{}, byID: map[string]*tree{}}
	k.telling = !root.get("notificationList").empty()
	k.notifications(root.get("notificationList"))
	for _, p := range items(root.get("proxyList")) {
		k.proxies[p.get("id").text] = p
	}
	monitors := monitorList(root)
	for _, m := range monitors {
		k.byID[m.get("id").text] = m
	}
	for _, m := range monitors {
		k.monitor(m)
	}
	if len(k.res.Lines) == 0 {
		return Result{}, core.InvalidField("file", "", "holds no monitor of Uptime Kuma", "it is the backup of version 1, or the list of monitors that the API of version 2 answers with")
	}
	k.fileNotes()
	return k.finish("monitors")
}

// kuma is a backup while it is read.
type kuma struct {
	*watching
	told     map[string]string // name of the channel of a notification, by its id
	silent   map[string]string // name of one that could not be carried over
	proxies  map[string]*tree
	byID     map[string]*tree // monitors, of which some are groups
	telling  bool             // the file says whom to tell
	reminded bool
	unheard  bool // it does not, and some monitor tells somebody
	warned   bool // some monitor does not want to hear of certificates
}

// items are the entries of a list, or of an object that has them by their id.
func items(t *tree) []*tree {
	if t.kind != mapping {
		return t.list
	}
	list := make([]*tree, 0, len(t.keys))
	for _, key := range t.keys {
		list = append(list, t.table[key])
	}
	return list
}

// monitorList finds the monitors of a file.
func monitorList(root *tree) []*tree {
	for _, key := range []string{"monitorList", "monitors"} {
		if t := root.get(key); !t.empty() {
			return items(t)
		}
	}
	var list []*tree
	for _, t := range items(root) {
		if !t.get("type").empty() && !t.get("name").empty() {
			list = append(list, t)
		}
	}
	return list
}

func (k *kuma) monitor(t *tree) {
	name, kind := t.get("name").text, t.get("type").text
	e := newEntry(t.at, orWord(name, "a monitor"), orWord(clip(name), "a monitor")+": "+clip(kind))
	if kind == "group" {
		k.group(e, t)
		return
	}
	k.spend(e, t.at, name+t.get("description").text)
	m := monitor.Monitor{
		Every: k.seconds(e, t, "interval", 60), Tags: tags(append(k.groups(t), tagTexts(t.get("tags"))...)...),
	}
	target := t.get("hostname").text
	if url := t.get("url").text; target == "" || strings.HasPrefix(url, "http") && len(url) > len("https://") {
		target = url
	}
	group := ""
	if groups := k.groups(t); len(groups) > 0 {
		group = groups[0]
	}
	m.Name = k.monitorName(name, group, stem(hostOf(target), "monitor"))
	m.Description = describeName(m.Name, name, t.get("description").text)
	k.policy(e, t, &m)
	if kind == "push" {
		m.Heartbeat = &monitor.Heartbeat{}
		m.Confirm.Retry = 0
		if token := t.get("pushToken").text; token != "" {
			m.Heartbeat.TokenDigest = monitor.PushDigest(token)
			e.notef("its callers go on at /api/push/ with their token, when their host leads here; it has a URL of its own too")
		} else {
			e.notef("its caller needs its new URL, which is made with the monitor")
		}
	} else {
		m.Check = k.check(e, t, kind)
	}
	if isTrue(t.get("upsideDown")) {
		e.fault(t.at, "upsideDown", "", inverted, "watch it from the other side, or leave it out")
	}
	if active := t.get("active"); active.kind == scalar && !isTrue(active) {
		m.Muted = true
		e.notef("it is paused there: here it is muted, so that no notification is sent; pause it to stop its checks, or unmute it")
	}
	k.untold(e, t)
	if k.add(e, m) {
		k.tellOf(t, m.Name, k.reminder(t, m.Every))
		k.registration(e, t, m, hostOf(target))
		k.warned = k.warned || m.Check.HTTP != nil && strings.HasPrefix(m.Check.HTTP.URL, "https:") && !isTrue(t.get("expiryNotification"))
	}
}

// registration watches the domain of a monitor that asks for it, with the limit that is usual here: the file does not have
// that of Uptime Kuma's settings.
func (k *kuma) registration(e *entry, t *tree, m monitor.Monitor, host string) {
	domain := registeredDomain(host)
	if !isTrue(t.get("domainExpiryNotification")) || domain == "" { // it is on where there is no domain too
		return
	}
	if name, ok := k.register(e, m, registration{domain: domain, muted: m.Muted}); ok {
		k.tellOf(t, name, 0)
	}
}

// group is a tag of its members here, and not a monitor.
func (k *kuma) group(e *entry, t *tree) {
	e.fault(t.at, "", "", "is a group, which is down when a member is", "its members have the tag "+stem(t.get("name").text, "group")+", which rules and status pages go by")
	k.done(e)
}

// maxGroups bounds the groups that a monitor is in; a backup may even hold a
// circle of them.
const maxGroups = 8

// groups are the names of the groups that a monitor is in, the nearest first.
func (k *kuma) groups(t *tree) []string {
	var list []string
	for range maxGroups {
		t = k.byID[t.get("parent").text]
		if t == nil || t.get("type").text != "group" {
			break
		}
		list = append(list, t.get("name").text)
	}
	return list
}

func tagTexts(t *tree) []string {
	var list []string
	for _, tag := range t.list {
		text := tag.get("name").text
		if value := tag.get("value").text; value != "" {
			text += "-" + value
		}
		list = append(list, text)
	}
	return list
}

// seconds is a length of time of a monitor.
func (k *kuma) seconds(e *entry, t *tree, key string, otherwise float64) core.Duration {
	n := otherwise
	if text := t.get(key).text; text != "" {
		var err error
		if n, err = strconv.ParseFloat(text, 64); err != nil || n < 0 || n > math.MaxInt32 {
			e.fault(t.get(key).at, key, text, "is not a number of seconds", "")
			return 0
		}
	}
	if n == 0 {
		n = otherwise
	}
	return core.Duration(math.Round(n*1000)) * core.Duration(time.Millisecond)
}

// policy is when a monitor counts as down and as up. There a single good check
// makes it up.
func (k *kuma) policy(e *entry, t *tree, m *monitor.Monitor) {
	retries := whole(t.get("maxretries"), 0)
	if retries >= monitor.MaxThreshold {
		e.notef("maxretries is %d, which Belfry takes as %d", retries, monitor.MaxThreshold-1)
		retries = monitor.MaxThreshold - 1
	}
	m.Confirm.Failures, m.Recover.Passes = retries+1, 1
	if retries > 0 {
		m.Confirm.Retry = min(k.seconds(e, t, "retryInterval", m.Every.D().Seconds()), core.Duration(time.Hour))
	}
}

// reminder is how soon people are told again. There it is so many checks.
func (k *kuma) reminder(t *tree, every core.Duration) core.Duration {
	n := whole(t.get("resendInterval"), 0)
	if n == 0 {
		return 0
	}
	k.reminded = true
	return min(max(core.Duration(min(n, 1_000_000))*min(every, alert.MaxRemind), alert.MinRemind), alert.MaxRemind)
}

// tellOf makes a monitor known to the rules of its notifications.
func (k *kuma) tellOf(t *tree, monitor string, remind core.Duration) {
	for _, id := range notified(t) {
		if channel := k.told[id]; channel != "" {
			k.tell(monitor, channel, nil, remind)
		}
	}
}

// untold says of an entry which of its notifications nobody gets.
func (k *kuma) untold(e *entry, t *tree) {
	for _, id := range notified(t) {
		k.unheard = k.unheard || !k.telling
		if name, left := k.silent[id]; left {
			e.notef("nothing is sent through %s, which could not be carried over", clip(name))
		} else if k.told[id] == "" && k.telling {
			e.notef("nothing is sent through the notification %s, which is not in the file: make a channel, and a rule for it", clip(id))
		}
	}
}

// notified are the ids of the notifications of a monitor: an object of those
// that are true, or a list.
func notified(t *tree) []string {
	var ids []string
	list := t.get("notificationIDList")
	for _, id := range list.keys {
		if isTrue(list.table[id]) && !slices.Contains(ids, id) && len(ids) < 100 {
			ids = append(ids, id)
		}
	}
	for _, id := range list.list {
		if !slices.Contains(ids, id.text) && len(ids) < 100 {
			ids = append(ids, id.text)
		}
	}
	return ids
}

// fileNotes says once what is true of many entries.
func (k *kuma) fileNotes() {
	if k.unheard {
		k.notef("the file has no notifications, which its monitors have: make channels, and rules that name the monitors")
	}
	if k.reminded {
		k.notef("reminders come after the time that resendInterval makes, then after twice as long, and so on")
	}
	if k.warned && len(k.tellings) > 0 {
		k.notef("Belfry tells of certificates that end soon, also of monitors that do not ask for it there; take certificate out of the rules to hear nothing")
	}
}
