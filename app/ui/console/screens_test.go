package console_test

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

var update = flag.Bool("update", false, "take the pictures of docs/images again")

// screens are the pictures of the documentation.
var screens = []struct {
	name, path string
	scheme     string
	width      int
	height     int
}{
	{"home", "/", "light", 1200, 980},
	{"home-dark", "/", "dark", 1200, 980},
	{"home-phone", "/", "light", 390, 844},
	{"database", "/settings/database", "light", 1200, 800},
	{"schedules", "/schedules", "light", 1200, 640},
	{"schedule", "/schedules/nightly-backup", "light", 1200, 1000},
	{"forecast", "/forecast?zone=Europe/Sofia", "light", 1200, 900},
	{"jobs", "/jobs", "light", 1200, 760},
	{"job", "JOB", "dark", 1200, 1340},
	{"monitors", "/monitors", "light", 1200, 640},
	{"monitor", "/monitors/api", "light", 1200, 1000},
	{"monitor-dark", "/monitors/api", "dark", 1200, 1000},
	{"incidents", "/incidents", "light", 1200, 560},
	{"cycles", "/cycles", "light", 1200, 420},
	{"cycle", "/cycles/morning-figures", "dark", 1200, 760},
	{"programs", "/programs", "light", 1200, 400},
	{"workers", "/workers", "light", 1200, 420},
}

const (
	imagesFolder = "../../../docs/images"
	mostOfImage  = 150 << 10 // bytes
	imageScale   = 1.5       // pixels per CSS pixel
)

// With -update it takes the pictures, of an installation that has run for
// months. Without, it sees that all of them are there, small, and shown.
func TestScreens(t *testing.T) {
	t.Parallel()
	if *update {
		takeScreens(t)
	}
	var shown string
	for _, file := range []string{"../../../README.md", "../../../docs/guides/web-interface.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(text)
	}
	var names []string
	for _, s := range screens {
		names = append(names, s.name+".png")
		if !strings.Contains(shown, "images/"+s.name+".png") {
			t.Errorf("%s is shown nowhere", s.name)
		}
		text, err := os.ReadFile(filepath.Join(imagesFolder, s.name+".png"))
		if err != nil {
			t.Errorf("%v; take it: go test ./ui/console -run Screens -update", err)
			continue
		}
		if c, err := png.DecodeConfig(bytes.NewReader(text)); err != nil || c.Width != int(float64(s.width)*imageScale) {
			t.Errorf("%s is %d pixels wide, %v", s.name, c.Width, err)
		}
		if len(text) > mostOfImage {
			t.Errorf("%s has %d bytes, more than %d", s.name, len(text), mostOfImage)
		}
	}
	there, err := filepath.Glob(imagesFolder + "/*.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if !slices.Contains(names, filepath.Base(file)) {
			t.Errorf("%s is none of the pictures", file)
		}
	}
}

func takeScreens(t *testing.T) {
	p, database := newPast(t, 120*24*time.Hour)
	job := p.fill()
	s := p.site(database)
	second := worksHere("builder-2")
	second.Kinds, second.Queues = []task.Kind{task.KindProgram}, map[string]int{"programs": 8}
	second.Has.Arch, second.Has.Labels = "arm64", map[string]string{"site": "east", "gpu": "true"}
	must(s.OpenSession(t.Context(), second))(s)
	if err := os.MkdirAll(imagesFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	person, _ := s.token("on-call", core.AnyNamespace, access.ScopeAdmin)
	b := s.tab(person)
	for _, shot := range screens {
		b.Emulate(shot.scheme, shot.width)
		b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": shot.width, "height": shot.height, "deviceScaleFactor": imageScale, "mobile": shot.width < 600}, nil)
		b.Visit(s.url + strings.Replace(shot.path, "JOB", fmt.Sprint("/jobs/", job), 1))
		settled(b)
		b.Until(`!document.querySelector('main [data-live]') || document.getElementById('live').dataset.state === 'on'`)
		b.Quiet(s.url)
		var taken struct{ Data []byte }
		b.Call("Page.captureScreenshot", nil, &taken)
		small, err := fewColours(taken.Data)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(imagesFolder, shot.name+".png"), small, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// settled waits for what scripts draw and load.
func settled(b *browser.Tab) {
	b.T.Helper()
	b.Until(`[...document.querySelectorAll('[data-chart]')].every(c => c.querySelector('canvas'))`)
}

// fewColours is a picture with a palette of those of its colours that are used
// most, which is a third of its size, and looks the same: pages have few.
func fewColours(text []byte) ([]byte, error) {
	whole, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	used := map[color.RGBA]int{}
	box := whole.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			used[color.RGBAModel.Convert(whole.At(x, y)).(color.RGBA)]++
		}
	}
	all := make([]color.RGBA, 0, len(used))
	for c := range used {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if used[a] != used[b] {
			return used[b] - used[a]
		}
		return int(a.R)<<16 + int(a.G)<<8 + int(a.B) - int(b.R)<<16 - int(b.G)<<8 - int(b.B)
	})
	var palette color.Palette
	for _, c := range all {
		if len(palette) == 64 {
			break
		}
		area := used[c] > box.Dx()*box.Dy()/2000 // and not the edge of a letter
		if area || apart(palette, c) {
			palette = append(palette, c)
		}
	}
	few := image.NewPaletted(box, palette)
	draw.Draw(few, box, whole, box.Min, draw.Src)
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few)
	return b.Bytes(), err
}

// apart reports that nothing in a palette looks like a colour.
func apart(palette color.Palette, c color.RGBA) bool {
	for _, p := range palette {
		q := p.(color.RGBA)
		near := func(a, b uint8) bool { return max(a, b)-min(a, b) < 10 }
		if near(q.R, c.R) && near(q.G, c.G) && near(q.B, c.B) {
			return false
		}
	}
	return true
}

// fill lets four months pass, and answers a job whose log is worth a look.
func (p *past) fill() (j int64) {
	p.Helper()
	end := time.Now()
	by := access.WithActor(p.ctx, "token:deploy")
	tk := func(name, description, shell, queue string, attempts int, tags ...string) {
		t := task.Task{Name: name, Description: description, Kind: task.KindCommand, Command: &task.Command{Shell: shell}, Queue: queue, Tags: tags,
			Timeout: core.Duration(time.Hour), Retry: task.Retry{MaxAttempts: attempts, Delay: core.Duration(2 * time.Minute)}}
		_, err := p.st.CreateTask(by, t)
		p.ok(err)
	}
	plan := func(name, task, zone string, rule schedule.Rule, change ...func(*schedule.Schedule)) {
		s := schedule.Schedule{Name: name, Task: task, Zone: zone, Rules: []schedule.Rule{rule}}
		for _, fn := range change {
			fn(&s)
		}
		_, err := p.st.CreateSchedule(by, s)
		p.ok(err)
	}
	watch := func(m monitor.Monitor) {
		m.Every, m.Public = core.Duration(4*time.Hour), true
		_, err := p.st.CreateMonitor(by, m)
		p.ok(err)
	}
	_, err := p.st.SaveQueue(by, job.Queue{Name: "backups", Description: "Long and heavy on the disk", Concurrency: 2, GlobalLimit: 2})
	p.ok(err)
	tk("nightly-backup", "Dump of the main database, with its checksum", "pg_dump -Fc main > /backup/main-$(date -I).dump", "backups", 1, "database")
	plan("nightly-backup", "nightly-backup", "Europe/Sofia", schedule.Rule{Cron: "0 3 * * *"}, func(s *schedule.Schedule) { s.Jitter = core.Duration(5 * time.Minute) })
	_, err = p.st.SaveChannel(by, alert.Channel{Name: "on-call", Webhook: &alert.WebhookChannel{URL: "https://hooks.example.com/belfry"}})
	p.ok(err)
	_, err = p.st.SaveAlertRule(by, alert.Rule{Name: "everything", Channels: []string{"on-call"}, Group: -1})
	p.ok(err)
	for _, m := range []monitor.Monitor{
		{Name: "api", Description: "What all clients ask", Tags: []string{"core"}, Check: task.Task{HTTP: &task.HTTP{URL: "https://api.example.com/health"}, Conditions: []string{"status == 200"}}},
		{Name: "docs", Check: task.Task{HTTP: &task.HTTP{URL: "https://docs.example.com/"}}},
		{Name: "database", Tags: []string{"core"}, Check: task.Task{TCP: &task.TCP{Address: "db.example.com:5432"}}},
		{Name: "certificate", Check: task.Task{TLS: &task.TLS{Address: "example.com:443"}}},
		{Name: "search", Tags: []string{"core"}, Check: task.Task{HTTP: &task.HTTP{URL: "https://search.example.com/status"}}},
	} {
		watch(m)
	}
	day := 24 * time.Hour
	p.fail("search", 71*day, 9*time.Hour, task.CodeTimeout, "no answer within 10s")
	p.fail("api", 40*day, 5*time.Hour, task.CodeStatus, "status 502, not 200-299")
	p.fail("docs", 23*day, 13*time.Hour, task.CodeConnectRefused, "connection refused")
	p.fail("docs", 5*day, 6*time.Hour, task.CodeConnectRefused, "connection refused")
	p.until(end.Add(-40 * time.Hour))

	// What is near is dense.
	for _, name := range []string{"api", "docs", "database", "certificate", "search"} {
		v, err := p.st.Monitor(p.ctx, "default", name)
		p.ok(err)
		v.Every = core.Duration(5 * time.Minute)
		_, err = p.st.UpdateMonitor(by, v.Monitor)
		p.ok(err)
	}
	p.fail("api", 15*time.Hour, 17*time.Minute, task.CodeStatus, "status 503, not 200-299")
	p.fail("search", 26*time.Minute, time.Hour, task.CodeTimeout, "no answer within 10s")
	tk("sync-inventory", "Stock levels, both ways", "sync-inventory --both", "default", 3)
	tk("import-prices", "", "import-prices --from sftp://prices.example.com/today.csv", "default", 1, "prices")
	tk("rotate-logs", "", "logrotate /etc/logrotate.d/services", "default", 1)
	tk("send-digest", "", "send-digest --since yesterday", "default", 3)
	tk("rebuild-index", "Search index from scratch", "rebuild-index --all", "default", 1, "search")
	tk("vacuum-analyze", "", "vacuumdb --analyze main", "backups", 1, "database")
	tk("cleanup-temp", "", "find /tmp/jobs -mtime +2 -delete", "default", 1)
	for _, name := range []string{"fetch-orders", "rebuild-totals", "render-report", "publish-report"} {
		tk(name, "", name, "default", 2)
	}
	member := func(tk string, every time.Duration) task.Member {
		return task.Member{Task: tk, Every: core.Duration(every)}
	}
	_, err = p.st.CreateTask(by, task.Task{Name: "morning-figures", Description: "The report that is read at eight", Cycle: &task.Cycle{Members: []task.Member{
		member("fetch-orders", time.Hour), member("rebuild-totals", 0), member("render-report", 0), member("publish-report", 6*time.Hour),
	}}})
	p.ok(err)
	_, err = p.st.SaveQueue(by, job.Queue{Name: "programs"})
	p.ok(err)
	p.upload("image-resize", 3<<20)
	p.upload("log-parser", 900<<10)
	p.upload("tax-tables", 7<<20)
	plan("image-resize", "image-resize", "UTC", schedule.Rule{Every: core.Duration(2 * time.Hour)})
	plan("log-parser", "log-parser", "UTC", schedule.Rule{Every: core.Duration(time.Hour)})
	plan("tax-tables", "tax-tables", "Europe/Berlin", schedule.Rule{Cron: "0 */6 * * *"})
	plan("sync-inventory", "sync-inventory", "UTC", schedule.Rule{Every: core.Duration(10 * time.Minute)})
	plan("import-prices", "import-prices", "Europe/Sofia", schedule.Rule{Cron: "*/20 6-20 * * *"})
	plan("rotate-logs", "rotate-logs", "UTC", schedule.Rule{Cron: "15 * * * *"})
	plan("send-digest", "send-digest", "Europe/Berlin", schedule.Rule{Cron: "0 8 * * MON-FRI"})
	plan("rebuild-index", "rebuild-index", "UTC", schedule.Rule{Cron: "30 2 * * SUN"})
	plan("month-end", "render-report", "America/New_York", schedule.Rule{RRule: "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=18;BYMINUTE=0;BYSECOND=0"})
	plan("vacuum-analyze", "vacuum-analyze", "UTC", schedule.Rule{Cron: "45 3 * * *"})
	plan("cleanup-temp", "cleanup-temp", "UTC", schedule.Rule{Cron: "H H(1-5) * * *"})
	plan("morning-figures", "morning-figures", "Europe/Sofia", schedule.Rule{Cron: "30 */3 * * *"})
	p.until(end.Add(-20 * time.Hour))
	_, err = p.st.PauseSchedule(access.WithActor(p.ctx, "token:on-call"), "default", "vacuum-analyze", "the disk of the replica is replaced")
	p.ok(err)
	p.until(end.Add(-9 * time.Minute))
	_, err = p.st.TriggerSchedule(access.WithActor(p.ctx, "token:on-call"), "default", "rebuild-index", job.RunNow{})
	p.ok(err)
	p.until(end.Add(-4 * time.Minute))
	_, err = p.st.TriggerSchedule(by, "default", "morning-figures", job.RunNow{})
	if core.CodeOf(err) != core.Conflict { // that of its plan is under way
		p.ok(err)
	}
	for late := time.Minute; late > time.Second; late = time.Since(end) { // which took a while
		end = time.Now()
		p.until(end)
	}
	found, err := p.st.Jobs(p.ctx, job.Filter{Task: "nightly-backup", States: []job.State{job.Succeeded}, Paging: core.Paging{Limit: 1}})
	p.ok(err)
	return found.Items[0].ID
}

// upload makes a task of an uploaded program.
func (p *past) upload(name string, size int) {
	p.Helper()
	bytes := elf(strings.Repeat(name, size/len(name)))
	_, err := p.st.CreateArtifact(p.ctx, task.Artifact{SHA256: digest(bytes), Size: int64(len(bytes))})
	p.ok(err)
	p.ok(p.bytes.Put(p.ctx, "default/"+digest(bytes), int64(len(bytes)), strings.NewReader(string(bytes))))
	_, err = p.st.ConfirmArtifact(p.ctx, "default", digest(bytes))
	p.ok(err)
	_, err = p.st.CreateTask(p.ctx, task.Task{Name: name, Queue: "programs", Retry: task.Retry{MaxAttempts: 1},
		Program: &task.Program{SHA256: digest(bytes), Size: int64(len(bytes)), Arch: "amd64", MinIsolation: task.IsolationConfined}})
	p.ok(err)
}
