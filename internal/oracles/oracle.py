"""Answers questions about recurrence, one JSON object a line in and out: RRULE by python-dateutil, cron by croniter."""

import heapq
import json
import signal
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import croniter as croniter_module
import dateutil
from croniter import croniter
from dateutil.rrule import rrulestr

BUDGET = 0.25  # seconds for one rule; what was found by then is the answer
EPOCH = datetime(1970, 1, 1)


class TooLong(Exception):
    pass


def alarm(_signal, _frame):
    raise TooLong


signal.signal(signal.SIGALRM, alarm)


def seconds(naive):
    d = naive - EPOCH
    return d.days * 86400 + d.seconds


def instants(rule, zone, gap, fold):
    """The occurrences of a rule on naive times, as sorted instants.

    datetime and zoneinfo (PEP 495) say what a wall time means: two offsets, of which the first is smaller in a gap and
    larger in a fold.
    """
    held = []
    for wall in rule:
        first = wall.replace(tzinfo=zone, fold=0).utcoffset()
        second = wall.replace(tzinfo=zone, fold=1).utcoffset()
        u = seconds(wall) - int(first.total_seconds())
        v = seconds(wall) - int(second.total_seconds())
        if first < second:  # a gap: with the offset before it, that is later than the times after the gap
            if gap != "skip":
                heapq.heappush(held, u)
            continue
        if first == second or fold != "second":
            heapq.heappush(held, u)
        if first > second and fold in ("second", "both"):
            heapq.heappush(held, v)
        while held and held[0] <= u:
            yield heapq.heappop(held)
    while held:
        yield heapq.heappop(held)


def rrule(q):
    zone = ZoneInfo(q["zone"])
    start = datetime.strptime(q["start"], "%Y%m%dT%H%M%S")
    until = q.get("until")
    out = set(q.get("exdates") or [])
    days = set(q.get("exdays") or [])
    series = [instants(rrulestr(text, dtstart=start), zone, q.get("gap"), q.get("fold")) for text in q["rules"]]
    if until is not None:
        series = [take_until(s, until) for s in series]
    series.append(iter(sorted(q.get("rdates") or [])))
    last = None
    for u in heapq.merge(*series):
        if u == last or u in out:
            continue
        last = u
        if days and datetime.fromtimestamp(u, zone).strftime("%Y%m%d") in days:
            continue
        yield u


def take_until(series, until):
    for u in series:
        if u > until:
            return
        yield u


def cron(q):
    # Without a zone: croniter does not say what it does about daylight saving.
    it = croniter(q["rule"], EPOCH + timedelta(seconds=q["from"]), ret_type=datetime, day_or=not q.get("and"), max_years_between_matches=60)
    for at in it.all_next():
        yield seconds(at)


def answer(q):
    times = []
    more = False
    signal.setitimer(signal.ITIMER_REAL, BUDGET)
    try:
        for u in (rrule if q["engine"] == "dateutil" else cron)(q):
            times.append(u)
            if len(times) == q["n"]:
                more = True
                break
    except TooLong:
        more = True
    except Exception as e:  # the engine's word on a rule, whatever its type
        return {"error": f"{type(e).__name__}: {e}", "times": times}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"times": times, "more": more}


def offsets(q):
    zone = ZoneInfo(q["zone"])
    return [int(datetime.fromtimestamp(u, timezone.utc).astimezone(zone).utcoffset().total_seconds()) for u in q["at"]]


for line in sys.stdin:
    q = json.loads(line)
    if q["engine"] == "versions":
        a = {"versions": {
            "python": sys.version.split()[0],
            "dateutil": dateutil.__version__,
            "croniter": getattr(croniter_module, "__version__", "unknown"),
        }}
    elif q["engine"] == "offsets":
        a = {"times": offsets(q)}
    else:
        a = answer(q)
    print(json.dumps(a), flush=True)
