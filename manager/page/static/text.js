/** The words of the page: the same sentences as `turnstile explain`, made from the same documents. Pure. */

/** Read a moment as milliseconds since the epoch; null if there is none. */
export function moment(text) {
  if (!text) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

/** Write a length of time in its largest unit, with the next smaller one while that matters: 90s, 5m, 3h20m, 4d. */
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 120) return `${s}s`;
  const minutes = Math.floor(s / 60);
  const hours = Math.floor(s / 3600);
  if (minutes < 10) return s % 60 ? `${minutes}m${s % 60}s` : `${minutes}m`;
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** How long ago a moment was; `-` if there is none. */
export function age(text, now) {
  const at = moment(text);
  return at === null ? "-" : span((now - at) / 1000);
}

/** How long it is until a moment; `0s` if it was, or if there is none. */
export function left(text, now) {
  const at = moment(text);
  return at === null ? "0s" : span((at - now) / 1000);
}

/** What is left of a countdown, as people read it: `3 s`, `4:05`, `2 h`. */
export function countdown(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
  return span(s);
}

/** A moment as a time of the day, in the reader's time zone. */
export function clockTime(text) {
  const at = moment(text);
  return at === null ? "" : new Date(at).toLocaleTimeString([], { hourCycle: "h23" });
}

/** A number with its noun: `1 pod`, `2 pods`. */
export function counted(number, noun) {
  return `${Number(number).toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Say where a Workload is, by the hub's own object. */
export function stateSentence(body, now) {
  if (body.problem) return `cannot be read: ${body.problem}`;
  const state = body.state;
  const check = `admission check ${state.check}`;
  const ago = state.since ? ` ${age(state.since, now)} ago` : "";
  switch (state.reason) {
    case "Finished":
      return `finished${ago}`;
    case "CheckRejected":
      return `rejected by ${check}`;
    case "Deactivated":
      return `deactivated${state.deactivatedBy ? ` by ${state.deactivatedBy}` : ""}${ago}: spec.active is false`;
    case "BackOff":
      return `evicted${ago}, waits before it is queued again`;
    case "WaitsForChecks":
      return "has quota on the hub, waits for other admission checks";
    case "CheckRetry":
      return `sent back to the queue by ${check}`;
    case "CheckReady":
      return `${check} is Ready${body.cluster ? `, runs on ${body.cluster}` : ""}`;
    case "OnWorkers":
      return `${check} is Pending, waits for a worker to admit it`;
    default:
      return STATES[state.reason] ?? String(state.reason);
  }
}

/** What Kueue or the check's controller says about the state; what workers do is told elsewhere. */
export function stateMessage(body) {
  const state = body.state;
  return !state || ["OnWorkers", "CheckReady"].includes(state.reason) ? "" : String(state.message);
}

/** Say what happens next. */
export function nextSentence(body, now) {
  const step = body.next;
  switch (step.kind) {
    case "JobFollowed":
      return `the hub's job follows the one on ${step.worker} until it ends`;
    case "FixNeeded":
      return `nothing, until this is done: ${body.state ? body.state.remedy : "repair the object"}`;
    case "Requeued":
      return `the hub queues it again${step.at ? ` in ${left(step.at, now)}` : ""}`;
    case "Other":
      return step.reason || RULES[step.rule] || ELSE;
    default:
      return STEPS[step.kind] ?? aboutGates(step, now);
  }
}

function aboutGates(step, now) {
  const wait = left(step.at, now);
  switch (step.kind) {
    case "GateOpens":
      return `the gate of ${step.worker} opens now`;
    case "GateOpensAfterWindow":
      return `the gate of ${step.worker} opens in ${wait}, when the window of ${step.otherWorker} ends`;
    case "GateOpensAfterGrace":
      return `the gate of ${step.worker} opens in ${wait} (at ${step.at}), unless another worker has room`;
    case "GateDeferred":
      return `${step.worker} waits ${wait} at most: ${step.reason}`;
    case "GateHeld":
      return `no gate opens while ${step.otherWorker} has quota reserved`;
    case "WindowOpen":
      return `${step.worker} may preempt for another ${wait}`;
    default:
      return ELSE;
  }
}

/** Say what a worker says about its replica. */
export function replicaSentence(replica) {
  switch (replica.state) {
    case "Problem":
      return String(replica.message);
    case "Pending":
      return replica.message || "pending";
    case "AsksToPreempt":
      return `asks to preempt since ${replica.since}`;
    default:
      return REPLICAS[replica.state] ?? String(replica.state);
  }
}

/** Say what a worker says about its replica, or which rule keeps the Workload from it. */
export function saysSentence(worker) {
  if (worker.ruledOut && WITHOUT_REPLICA.has(worker.replica.state)) return `ruled out: ${worker.ruledOut.message}`;
  return replicaSentence(worker.replica);
}

/** Say what a worker does with its open gate, else what it would do. */
export function workerSentence(worker) {
  const victims = worker.preemption?.victims ?? [];
  if (victims.length) {
    const did = victims.every((each) => each.preempted) ? "Preempted" : "Preempts";
    const pods = victims.reduce((sum, each) => sum + each.pods, 0);
    return `${did} ${victims.length} workload(s), ${pods} pod(s)`;
  }
  return forecastSentence(worker.forecast);
}

/** Say what a worker would do, but not why it would not. */
export function forecastSentence(forecast) {
  if (!forecast) return "-";
  return `${would(forecast)}${forecast.reliable ? "" : " [unreliable]"}`;
}

function would(forecast) {
  if (!["Fits", "Preempts"].includes(forecast.verdict)) return String(forecast.verdict);
  if (forecast.verdict === "Fits") return `Fits in ${flavors(forecast)}`;
  const cost = forecast.cost;
  const price = cost.preemptionCost ? `, preemption cost ${cost.preemptionCost}` : "";
  return `Preempts ${cost.victims} workload(s), ${cost.pods} pod(s)${price}, for ${flavors(forecast)}`;
}

function flavors(forecast) {
  const borrowed = forecast.borrowing ? `, borrowing at level ${forecast.borrowing}` : "";
  const others = forecast.otherFlavors.map(named).join(" or ");
  const instead = others ? ` (or ${others}, depending on which victim leaves first)` : "";
  return `${named(forecast.flavors)}${instead}${borrowed}`;
}

function named(found) {
  return Object.entries(found)
    .flatMap(([resource, names]) => names.map((name) => `${resource}=${name}`))
    .join(", ");
}

/** The headline over the lanes, and what follows it: [who may preempt now, what comes then]. */
export function headline(body, lit, now) {
  const sentence = nextSentence(body, now);
  if (lit.length === 1) return [`${lit[0].worker} may preempt, alone.`, upper(`next: ${sentence}.`)];
  if (lit.length > 1) return [`${lit.map((lane) => lane.worker).join(" and ")} may preempt at the same time.`, ONE_GATE];
  return [`${upper(stateSentence(body, now))}.`, upper(`next: ${sentence}.`)];
}

/** A sentence with a capital letter at its beginning. */
export function upper(sentence) {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

const ONE_GATE = "This must not be: one_gate_per_timeout is violated. See the runbook, TurnstileInvariantViolated.";
const ELSE = "see the daemon's log";
const ONLY_THE_DAEMON = "only the daemon knows";
const STATES = {
  Terminating: "is being deleted",
  QueueNotReady: "its queue on the hub admits nothing",
  ExceedsQuota: "too large for its queue on the hub",
  WaitsForQuota: "waits for quota on the hub",
  Evicted: "evicted on the hub, its job is being stopped",
  NoCheck: "has no MultiKueue admission check",
};
const STEPS = {
  NoRequest: "no worker asks to preempt; the first worker to admit wins",
  HubReservesQuota: "it is sent to workers once the hub has reserved quota for it",
  OtherChecks: "it is sent to workers once the other admission checks are Ready",
  Removed: "its replicas are removed",
  NotDispatched: "nothing: without that check it is not sent to workers",
  Nothing: "nothing",
  Unknown: ONLY_THE_DAEMON,
};
const WITHOUT_REPLICA = new Set(["Missing", "Foreign", "Unknown", "Unreachable", "NotSynced"]);
const REPLICAS = {
  Unreachable: "not reachable",
  NotSynced: "not synced yet",
  Missing: "no replica",
  Foreign: "a Workload with that name exists that this hub did not create",
  Finished: "finished",
  Evicted: "evicted",
  Admitted: "admitted",
  QuotaReserved: "has quota, waiting for its own checks",
  Nominated: "nominated",
  Chosen: "runs it",
  Unknown: ONLY_THE_DAEMON,
};
const RULES = {
  "no-admission-check": "replicas of it are removed",
  "check-rejected": "nothing",
  "workload-deleted": "its replicas are removed",
  "no-job-integration": "the check rejects it",
  "job-not-dispatchable": "the check rejects it",
  "slice-replaced": "the Workload that replaces this slice is followed instead",
  "finished-or-no-quota": "its replicas are removed",
  "out-of-sync-ignored": "its replicas are created again",
  "out-of-sync-retried": "the check sends it back to the queue, because a worker found it out of sync with its job",
  "replica-finished": "its end is copied to the hub",
  "finish-waits-for-job": "its end is copied to the hub once the hub's job can be read",
  "eviction-followed": "it is queued again once its job has stopped",
  "winner-evicted": "the check sends it back to the queue, because its worker evicted it",
  "abandoned-job": "the hub's job is stopped, because its worker is gone or lost the replica",
  "abandoned-job-not-synced": "nothing, until the worker that ran it is synced",
  "winner-lost": "it is queued again if its worker stays unreachable",
  "winner-not-recorded": "the check sends it back to the queue, because no cluster is recorded",
  "winner-replica-gone": "the check sends it back to the queue, because its replica is gone",
  "winner-not-synced": "nothing, until its worker is synced",
  "chosen-worker-unreadable": "no other worker is tried until the chosen one can be read",
  "winner-followed": "its job is created on the worker that admitted it",
  "winner-deactivated": "the worker is told to stop it",
  "job-outgrew-quota": "its job starts when it fits its quota again",
  "foreign-job": "nothing, until the other job of that name is gone from the worker",
  "job-terminating": "its job starts when the earlier one is deleted",
  "waits-for-losers": "its job starts when the other workers' jobs are gone",
  "not-pending": "nothing, until the eviction is over",
  "cluster-forgotten": "the cluster of its last attempt is forgotten",
  "given-up": "the check gives it up, because no worker admitted it in time",
  "targets-invalid": "nothing, until the annotation that chooses workers is repaired",
  "openings-unreadable": "the record of openings is repaired",
  "openings-lost": "the record of openings is completed",
  "opening-observed": "the open gate is recorded",
  "window-restarted": "its windows begin again, because the clock changed",
  "opening-took-effect": "the effect of the opening is recorded",
  "gate-opened": "a gate opens",
  "opening-missed": "the open gate is closed and opened again",
  "owner-unreadable": "nothing, until its job can be read",
  "waits-for-checks": "nothing, until the other admission checks are Ready",
  "follows-siblings": "it goes where the job's other Workloads are",
  "dispatched": "its replicas are created",
};
