package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// many is SQL that counts i from 1 to n.
func many(n int) string {
	return fmt.Sprintf(`with recursive many(i) as (select 1 union all select i + 1 from many where i < %d)`, n)
}

// paused saves a monitor that is paused for a while, and copies of it with schedules after all others.
func (b *bench) paused(name string, span time.Duration, others int, from int64) {
	b.Helper()
	b.monitor(name)
	must(b.st.PauseMonitor(b.ctx, "default", name, b.clock.Now().Add(span), ""))(b)
	b.sql(`insert into belfry.schedules (id, namespace, name, task_id, doc, state, generation, next_at, high_water, finish_at, runs, created_at, updated_at) `+many(others)+`
		select $1 + i, namespace, name || '-' || i, task_id, doc, state, generation, next_at, high_water, finish_at, runs, created_at, updated_at
		from belfry.schedules, many where name = $2`, from, task.OwnedName(name))
	b.sql(`insert into belfry.monitors (id, namespace, name, kind, generation, doc, schedule_id, status, state, wake_at, created_at, updated_at) `+many(others)+`
		select $1 + i, namespace, name || '-' || i, kind, generation, doc, $1 + i, status, state, wake_at, created_at, updated_at
		from belfry.monitors, many where name = $2`, from, name)
}

func init() {
	add("alerts that wait for long delay no due alert", caseWaitingAlertsDelayNoDueAlert)
	add("monitors whose pauses end together all go on, however many they are and in whatever order they were made", caseMonitorsWhosePausesEndTogetherAllGoOn)
	add("unusable join tokens, removals and backfills are pruned", caseUnusableRowsArePruned)
	addNodes("edits at the same moment lose no secret that one of them brings", caseEditsAtTheSameMomentLoseNoSecretThat)
}

func caseWaitingAlertsDelayNoDueAlert(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	b.sql(`insert into belfry.alerts (namespace, channel, rule, type, notification, state, reason, created_at, due_at) `+many(1500)+`
			select 'default', 'hook', 'to-hook', 'job_failed', '{"type":"job_failed","title":"later"}', 'pending', 'quiet hours', $1, $2 from many`,
		Epoch.UnixMicro(), Epoch.Add(1000*time.Hour).UnixMicro())
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	if titles := (alerts{b}).deliver(view.DeliveryResult{}); len(titles) != 1 || !strings.Contains(titles[0], "site") {
		b.Fatalf("messages: got %q, want 1 of site", titles)
	}
}

func caseMonitorsWhosePausesEndTogetherAllGoOn(b *bench) {
	const batch = 500
	b.paused("late", 2*time.Hour, batch, 1_000_000)
	b.paused("early", time.Hour, batch, 2_000_000)
	b.clock.Move(3 * time.Hour)
	for range 5 {
		must(b.st.LapseMonitors(b.ctx))(b)
	}
	want(b, "still paused", b.count(`select count(*) from belfry.monitors where status = 'paused'`), 0)
	want(b, "schedules still paused", b.count(`select count(*) from belfry.schedules where state = 'paused'`), 0)
}

func caseUnusableRowsArePruned(b *bench) {
	must2 := func(_ access.JoinToken, _ string, err error) { ok(b, err) }
	must2(b.st.CreateJoinToken(b.ctx, access.JoinToken{Name: "m", Uses: 1}))
	must(b.st.BeginRemoval(b.ctx, []string{bytesOf("one")}))(b)
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -time.Hour, -time.Minute)
	must(b.st.SetBackfill(b.ctx, "default", f.ID, schedule.BackfillCanceled))(b)
	for _, step := range []struct {
		after                      time.Duration
		joins, removals, backfills int64
	}{{0, 1, 1, 1}, {25 * time.Hour, 1, 0, 1}, {60 * 24 * time.Hour, 0, 0, 1}, {401 * 24 * time.Hour, 0, 0, 0}} {
		b.clock.Move(step.after)
		for must(b.st.Prune(b.ctx))(b) {
		}
		want(b, "join belfry.tokens", b.count(`select count(*) from belfry.join_tokens`), step.joins)
		want(b, "removals", b.count(`select count(*) from belfry.artifact_removals`), step.removals)
		want(b, "backfills", b.count(`select count(*) from belfry.backfills`), step.backfills)
	}
}

func caseEditsAtTheSameMomentLoseNoSecretThat(b *bench, nodes []*store.Store) {
	save := func(st *store.Store, secret, note core.Secret) error {
		_, err := st.SaveChannel(b.ctx, alert.Channel{Name: "hook", Webhook: &alert.WebhookChannel{URL: "https://example.org/hook", Secret: secret, Headers: map[string]core.Secret{"X-Note": note}}})
		return err
	}
	for round := range 20 {
		fresh := core.Secret(fmt.Sprint("fresh-", round))
		ok(b, save(b.st, "old", ""))
		b.crowd(nodes, 2, func(_ context.Context, st *store.Store, i int) error {
			if i == 0 {
				return save(st, fresh, "")
			}
			return save(st, core.Redacted, core.Secret(fmt.Sprint("edit ", round, " ", i)))
		})
		want(b, "secret", must(b.st.ChannelSecrets(b.ctx, "default", "hook"))(b).Webhook.Secret, fresh)
	}
}
