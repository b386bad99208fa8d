package kuma

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
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
func Kuma(r io.Reader, o base.Options) (base.Result, error) {
	o, err := o.Prepare()
	if err != nil {
		return base.Result{}, err
	}
	text, err := base.ReadUpTo(r, base.MaxBackup)
	if err != nil {
		return base.Result{}, err
	}
	root, bad := tree.ReadJSON(text)
	if bad != nil {
		return base.Result{}, core.InvalidField(fmt.Sprintf("line %d, column %d", bad.At.Line, bad.At.Column), "", bad.Message, bad.Hint)
	}
	k := &kuma{Watching: base.NewWatching(o), told: map[string]string{}, silent: map[string]string{}, proxies: map[string]*tree.Tree{}, byID: map[string]*tree.Tree{}}
	k.telling = !root.Get("notificationList").Empty()
	k.notifications(root.Get("notificationList"))
	for _, p := range items(root.Get("proxyList")) {
		k.proxies[p.Get("id").Text] = p
	}
	monitors := monitorList(root)
	for _, m := range monitors {
		k.byID[m.Get("id").Text] = m
	}
	for _, m := range monitors {
		k.monitor(m)
	}
	if len(k.Res.Lines) == 0 {
		return base.Result{}, core.InvalidField("file", "", "holds no monitor of Uptime Kuma", "it is the backup of version 1, or the list of monitors that the API of version 2 answers with")
	}
	k.fileNotes()
	return k.Finish("monitors")
}

// kuma is a backup while it is read.
type kuma struct {
	*base.Watching
	told     map[string]string // name of the channel of a notification, by its id
	silent   map[string]string // name of one that could not be carried over
	proxies  map[string]*tree.Tree
	byID     map[string]*tree.Tree // monitors, of which some are groups
	telling  bool                  // the file says whom to tell
	reminded bool
	unheard  bool // it is off, and a monitor has a notification
	warned   bool // some monitor does not want to hear of certificates
}

// items are the entries of a list, or of an object that has them by their id.
func items(t *tree.Tree) []*tree.Tree {
	if t.Kind != tree.Mapping {
		return t.List
	}
	list := make([]*tree.Tree, 0, len(t.Keys))
	for _, key := range t.Keys {
		list = append(list, t.Table[key])
	}
	return list
}

// monitorList finds the monitors of a file.
func monitorList(root *tree.Tree) []*tree.Tree {
	for _, key := range []string{"monitorList", "monitors"} {
		if t := root.Get(key); !t.Empty() {
			return items(t)
		}
	}
	var list []*tree.Tree
	for _, t := range items(root) {
		if !t.Get("type").Empty() && !t.Get("name").Empty() {
			list = append(list, t)
		}
	}
	return list
}

func (k *kuma) monitor(t *tree.Tree) {
	name, kind := t.Get("name").Text, t.Get("type").Text
	e := base.NewEntry(t.At, base.OrWord(name, "a monitor"), base.OrWord(base.Clip(name), "a monitor")+": "+base.Clip(kind))
	if kind == "group" {
		k.group(e, t)
		return
	}
	k.Spend(e, t.At, name+t.Get("description").Text)
	m := monitor.Monitor{
		Every: k.seconds(e, t, "interval", 60), Tags: base.Tags(append(k.groups(t), tagTexts(t.Get("tags"))...)...),
	}
	target := t.Get("hostname").Text
	if url := t.Get("url").Text; target == "" || strings.HasPrefix(url, "http") && len(url) > len("https://") {
		target = url
	}
	group := ""
	if groups := k.groups(t); len(groups) > 0 {
		group = groups[0]
	}
	m.Name = k.MonitorName(name, group, base.Stem(base.HostOf(target), "monitor"))
	m.Title, m.Description = base.TitleOf(m.Name, name), t.Get("description").Text
	k.policy(e, t, &m)
	if kind == "push" {
		m.Heartbeat = &monitor.Heartbeat{}
		m.Confirm.Retry = 0
		if token := t.Get("pushToken").Text; token != "" {
			m.Heartbeat.TokenDigest = monitor.PushDigest(token)
			e.Notef("its callers go on at /api/push/ with their token, when their host leads here; it has a URL of its own too")
		} else {
			e.Notef("its caller needs its new URL, which is made with the monitor")
		}
	} else {
		m.Check = k.check(e, t, kind)
	}
	if base.IsTrue(t.Get("upsideDown")) {
		e.Fault(t.At, "upsideDown", "", base.Inverted, "watch it from the other side, or leave it out")
	}
	if active := t.Get("active"); active.Kind == tree.Scalar && !base.IsTrue(active) {
		m.Muted = true
		e.Notef("it is paused there: here it is muted, so that no notification is sent; pause it to stop its checks, or unmute it")
	}
	k.unnotified(e, t)
	if k.Add(e, m) {
		k.tellOf(t, m.Name, k.reminder(t, m.Every))
		k.registration(e, t, m, base.HostOf(target))
		k.warned = k.warned || m.Check.HTTP != nil && strings.HasPrefix(m.Check.HTTP.URL, "https:") && !base.IsTrue(t.Get("expiryNotification"))
	}
}

// registration watches the domain of a monitor that asks for it, with the limit that is usual here: the file does not have
// that of Uptime Kuma's settings.
func (k *kuma) registration(e *base.Entry, t *tree.Tree, m monitor.Monitor, host string) {
	domain := base.RegisteredDomain(host)
	if !base.IsTrue(t.Get("domainExpiryNotification")) || domain == "" { // it is on where there is no domain too
		return
	}
	if name, ok := k.Register(e, m, base.Registration{Domain: domain, Muted: m.Muted}); ok {
		k.tellOf(t, name, 0)
	}
}

// group is a tag of its members here, and not a monitor.
func (k *kuma) group(e *base.Entry, t *tree.Tree) {
	e.Fault(t.At, "", "", "is a group, which is down when a member is", "its members have the tag "+base.Stem(t.Get("name").Text, "group")+", which rules and status pages go by")
	k.Done(e)
}

// maxGroups bounds the groups that a monitor is in; a backup may even hold a
// circle of them.
const maxGroups = 8

// groups are the names of the groups that a monitor is in, the nearest first.
func (k *kuma) groups(t *tree.Tree) []string {
	var list []string
	for range maxGroups {
		t = k.byID[t.Get("parent").Text]
		if t == nil || t.Get("type").Text != "group" {
			break
		}
		list = append(list, t.Get("name").Text)
	}
	return list
}

func tagTexts(t *tree.Tree) []string {
	var list []string
	for _, tag := range t.List {
		text := tag.Get("name").Text
		if value := tag.Get("value").Text; value != "" {
			text += "-" + value
		}
		list = append(list, text)
	}
	return list
}

// seconds is a length of time of a monitor.
func (k *kuma) seconds(e *base.Entry, t *tree.Tree, key string, otherwise float64) core.Duration {
	n := otherwise
	if text := t.Get(key).Text; text != "" {
		var err error
		if n, err = strconv.ParseFloat(text, 64); err != nil || n < 0 || n > math.MaxInt32 {
			e.Fault(t.Get(key).At, key, text, "is not a number of seconds", "")
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
func (k *kuma) policy(e *base.Entry, t *tree.Tree, m *monitor.Monitor) {
	retries := base.Whole(t.Get("maxretries"), 0)
	if retries >= monitor.MaxThreshold {
		e.Notef("maxretries is %d, which Belfry takes as %d", retries, monitor.MaxThreshold-1)
		retries = monitor.MaxThreshold - 1
	}
	m.Confirm.Failures, m.Recover.Passes = retries+1, 1
	if retries > 0 {
		m.Confirm.Retry = min(k.seconds(e, t, "retryInterval", m.Every.D().Seconds()), core.Duration(time.Hour))
	}
}

// reminder is how soon people are told again. There it is so many checks.
func (k *kuma) reminder(t *tree.Tree, every core.Duration) core.Duration {
	n := base.Whole(t.Get("resendInterval"), 0)
	if n == 0 {
		return 0
	}
	k.reminded = true
	return min(max(core.Duration(min(n, 1_000_000))*min(every, alert.MaxRemind), alert.MinRemind), alert.MaxRemind)
}

// tellOf makes a monitor known to the rules of its notifications.
func (k *kuma) tellOf(t *tree.Tree, monitor string, remind core.Duration) {
	for _, id := range notified(t) {
		if channel := k.told[id]; channel != "" {
			k.Tell(monitor, channel, nil, remind)
		}
	}
}

// unnotified reports of an entry which of its notifications are not sent.
func (k *kuma) unnotified(e *base.Entry, t *tree.Tree) {
	for _, id := range notified(t) {
		k.unheard = k.unheard || !k.telling
		if name, left := k.silent[id]; left {
			e.Notef("nothing is sent through %s, which could not be carried over", base.Clip(name))
		} else if k.told[id] == "" && k.telling {
			e.Notef("nothing is sent through the notification %s, which is not in the file: make a channel, and a rule for it", base.Clip(id))
		}
	}
}

// notified are the ids of the notifications of a monitor: an object of those
// that are true, or a list.
func notified(t *tree.Tree) []string {
	var ids []string
	list := t.Get("notificationIDList")
	for _, id := range list.Keys {
		if base.IsTrue(list.Table[id]) && !slices.Contains(ids, id) && len(ids) < 100 {
			ids = append(ids, id)
		}
	}
	for _, id := range list.List {
		if !slices.Contains(ids, id.Text) && len(ids) < 100 {
			ids = append(ids, id.Text)
		}
	}
	return ids
}

// fileNotes adds, once, the notes that hold for many entries.
func (k *kuma) fileNotes() {
	if k.unheard {
		k.Notef("the file has no notifications, which its monitors have: make channels, and rules that name the monitors")
	}
	if k.reminded {
		k.Notef("reminders come after the time that resendInterval makes, then after twice as long, and so on")
	}
	if k.warned && len(k.Tellings) > 0 {
		k.Notef("Belfry tells of certificates that end soon, also of monitors that do not ask for it there; take certificate out of the rules to hear nothing")
	}
}
