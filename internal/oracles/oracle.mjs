// Answers questions about recurrence, one JSON object a line in and out: cron by croner, cronosjs and cron-parser, RRULE
// by rrule-temporal. It stands beside node_modules, wherever that is.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import "temporal-polyfill/global";
import { Cron } from "croner";
import cronos from "cronosjs";
import cronParser from "cron-parser";
import { RRuleTemporal } from "rrule-temporal";

const date = (q) => new Date(q.from * 1000);
const seconds = (list) => list.map((d) => Math.floor(d.getTime() / 1000));

const engines = {
  croner(q) {
    // sloppyRanges allows a/n. Which rules are fixed-time rules is croner's option; see the table of differences.
    const job = new Cron(q.rule, {
      timezone: q.zone, paused: true, sloppyRanges: true, fixedTimeRule: q.fixed ? "no-wildcard" : "single-value",
    });
    return seconds(job.nextRuns(q.n, date(q)));
  },
  cronosjs(q) {
    const e = cronos.CronosExpression.parse(q.rule, {
      timezone: q.zone, missingHour: q.gap || "skip", skipRepeatedHour: q.fold === "first",
    });
    return seconds(e.nextNDates(date(q), q.n));
  },
  "cron-parser"(q) {
    const it = cronParser.CronExpressionParser.parse(q.rule, { tz: q.zone, currentDate: date(q) });
    const times = [];
    while (times.length < q.n) {
      times.push(Math.floor(it.next().getTime() / 1000));
    }
    return times;
  },
  "rrule-temporal"(q) {
    const rule = new RRuleTemporal({ rruleString: q.rule, maxIterations: 3000 });
    return rule.all((_, i) => i < q.n).map((d) => Math.floor(d.epochMilliseconds / 1000));
  },
};

function offsets(q) {
  return q.at.map((u) => Temporal.Instant.fromEpochMilliseconds(u * 1000).toZonedDateTimeISO(q.zone).offsetNanoseconds / 1e9);
}

function versions() {
  const read = (name) => JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url))).version;
  const list = { node: process.versions.node, "node's tzdata": process.versions.tz };
  for (const name of Object.keys(engines)) {
    list[name] = read(name);
  }
  return list;
}

function answer(q) {
  switch (q.engine) {
    case "versions": return { versions: versions() };
    case "offsets": return { times: offsets(q) };
  }
  try {
    const times = engines[q.engine](q);
    return { times, more: times.length === q.n };
  } catch (e) {
    return { error: `${e.name}: ${e.message}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
}
