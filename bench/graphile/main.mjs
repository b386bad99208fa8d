// graphile-worker behind the requests of package load: what load.Local does in Go, in JavaScript.
//
//   node main.mjs '{"database": "postgres://...", "worker": {...}}'
//
// Times are nanoseconds in the requests and answers, milliseconds in between.
import { createInterface } from "node:readline";
import pg from "pg";
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const settings = JSON.parse(process.argv[2]);
const silent = new Logger(() => (level, message) => {
  if (level === "error") console.error(message);
});
const pool = new pg.Pool({ connectionString: settings.database, max: 40 });
const workerPool = new pg.Pool({ connectionString: settings.database, max: 40 });
for (const p of [pool, workerPool]) p.on("error", (error) => console.error(error.message));
const caller = await makeWorkerUtils({ pgPool: pool, logger: silent });
await caller.migrate();

const now = () => performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nanos = (ms) => Math.round(ms * 1e6);

let next = 0; // number of the next job
let count = 0; // jobs that have run
let target = Infinity;
let reached = () => {};
let watch = null; // {first, at}: when each of a few jobs ran
let runner = null;
const seen = new Set();

function ran(job) {
  if (watch) {
    const i = job - watch.first;
    if (i >= 0 && i < watch.at.length && watch.at[i] === 0) watch.at[i] = now();
  }
  if (seen.has(job)) return;
  seen.add(job);
  if (++count === target) reached();
}

// wait resolves when n jobs have run, and is false when there was no time for it.
function wait(n, ms) {
  if (count >= n) return Promise.resolve(true);
  target = n;
  return new Promise((resolve) => {
    const timer = ms === undefined ? undefined : setTimeout(() => resolve(false), ms);
    reached = () => {
      clearTimeout(timer);
      resolve(true);
    };
  });
}

const enqueue = (job) => caller.addJob("noop", { job });
const enqueueMany = (jobs) => caller.addJobs(jobs.map((job) => ({ identifier: "noop", payload: { job } })));
// What addJobs ends in, without its way through objects, and without sending back every row.
const enqueueFast = (jobs) =>
  pool.query(
    `select count(*) from graphile_worker.add_jobs(array(
       select ('noop', json_build_object('job', n), null, null, null, null, null, null)::graphile_worker.job_spec
       from unnest($1::int[]) as n))`,
    [jobs],
  );

async function insert({ jobs, for: limit, callers, batch, fast }) {
  const call = batch === 1 ? ([job]) => enqueue(job) : fast ? enqueueFast : enqueueMany;
  const begun = now();
  let left = jobs;
  let done = 0;
  const one = async () => {
    while (left > 0 && (limit === 0 || nanos(now() - begun) < limit)) {
      const n = Math.min(batch, left);
      left -= n;
      const numbers = Array.from({ length: n }, () => next++);
      await call(numbers);
      done += n;
    }
  };
  await Promise.all(Array.from({ length: callers }, one));
  return { jobs: done, took: nanos(now() - begun) };
}

async function start() {
  runner = await run({
    pgPool: workerPool,
    taskList: { noop: ({ job }) => ran(job) },
    parsedCronItems: [],
    noHandleSignals: true,
    preset: { worker: { ...settings.worker, logger: silent } },
  });
}

async function stop() {
  const old = runner;
  runner = null;
  if (old) await old.stop();
}

async function allRan(ms) {
  if (!(await wait(next, ms))) throw new Error(`${count} of ${next} jobs have run: out of time`);
}

async function settled(deadline) {
  // A job that is done is deleted.
  while ((await pool.query("select 1 from graphile_worker._private_jobs limit 1")).rowCount > 0) {
    if (now() > deadline) throw new Error("all jobs have run, and some are not settled: out of time");
    await sleep(1);
  }
}

async function burnDown(_, ms) {
  const begun = now();
  const jobs = next - count;
  await start();
  await allRan(ms);
  const started = now() - begun;
  await settled(begun + ms);
  return { jobs, started: nanos(started), settled: nanos(now() - begun) };
}

async function endToEnd(how, ms) {
  await start();
  const begun = now();
  const inserted = await insert(how);
  await allRan(ms);
  await settled(begun + ms);
  const took = nanos(now() - begun);
  await stop();
  return { jobs: inserted.jobs, took };
}

async function offer({ rate, for: length, callers, jitter, gap, patience }) {
  const n = Math.max(1, Math.floor((rate * length) / 1e9));
  const begun = now() + 5;
  const step = 1000 / rate;
  const due = Float64Array.from({ length: n }, (_, i) => begun + Math.max(0, i + (jitter ? Math.random() - 0.5 : 0)) * step);
  const called = new Float64Array(n);
  const first = next;
  next += n;
  watch = { first, at: new Float64Array(n) };
  const until = async (at) => {
    const ms = at - now();
    if (ms > 0) await sleep(ms);
  };
  let taken = 0;
  const sendEach = async () => {
    while (taken < n) {
      const i = taken++;
      await until(due[i]);
      called[i] = now();
      await enqueue(first + i);
    }
  };
  const sendDue = async (_, caller) => {
    for (let i = caller; i < n; ) {
      await until(due[i]);
      const at = now();
      const jobs = [];
      for (; i < n && due[i] <= at; i += callers) {
        called[i] = at;
        jobs.push(first + i);
      }
      if (jobs.length === 1) await enqueue(jobs[0]);
      else if (jobs.length > 1) await enqueueMany(jobs);
      await until(at + gap / 1e6);
    }
  };
  await Promise.all(Array.from({ length: callers }, gap > 0 ? sendDue : sendEach));
  await wait(next, patience / 1e6);
  const end = now();
  const { at } = watch;
  watch = null;
  let missing = 0;
  const fromCall = new Float64Array(n);
  const fromDue = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    if (at[i] === 0) {
      missing++;
      at[i] = end;
    }
    fromCall[i] = at[i] - called[i];
    fromDue[i] = at[i] - due[i];
  }
  return { jobs: n, missing, from_call: latency(fromCall), from_due: latency(fromDue) };
}

function latency(list) {
  list.sort();
  const rank = (part) => nanos(list[Math.max(0, Math.ceil(list.length * part) - 1)]);
  return { p50: rank(0.5), p99: rank(0.99), max: rank(1) };
}

const methods = { insert, start, stop, offer, "burn-down": burnDown, "end-to-end": endToEnd };
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");

say({});
for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, with: how, for: limit } = JSON.parse(line);
  try {
    say({ is: await methods[name](how, limit ? limit / 1e6 : 2 ** 31 - 1) });
  } catch (error) {
    say({ error: String(error.stack ?? error) });
  }
}
await stop();
await caller.release();
await pool.end();
await workerPool.end();
