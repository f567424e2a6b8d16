// The first sentences of scripts whose answer is more than a rate: each figure beside its limit.
import { UNKNOWN } from './steadiness.js';
import { count, duration, figure, ms, rate as perSecond } from './words.js';

/** @import { Latency } from '../../reports/contract/run.ts' */

/** The fewest samples that stand behind a p99. */
const P99_SAMPLES = 100;

/**
 * @typedef {{ rate: number, seconds: number, after: number, drainLimit: number, backLimit: number }} Spike
 * @param {Spike} load
 * @param {{ drain: number | undefined, back: number | undefined, almost: number | null | undefined }} measured
 */
export function spikeAnswer({ rate, seconds, after, drainLimit, backLimit }, { drain, back, almost }) {
  return (
    `After ${perSecond(rate, 'requests')} for ${duration(seconds)} the backlog ` +
    (drain === undefined
      ? `did not drain within ${duration(after)}`
      : `drained in ${duration(drain)} (limit ${duration(drainLimit)})`) +
    (back === undefined
      ? `; p99 was not back within ${duration(after)}.`
      : `; p99 was back after ${duration(back)} (limit ${duration(backLimit)}).`) +
    (almost == null
      ? ' Less than 99 % of the burst arrived.'
      : ` 99 % of the burst had arrived ${duration(almost)} after it began.`)
  );
}

/**
 * @param {{ hours: number, rate: number, driftLimit: number, growthLimit: number }} load
 * @param {{ ms: number, mb: number }} grown of p99, NaN: not known; of memory, UNKNOWN: not known
 */
export function soakAnswer({ hours, rate, driftLimit, growthLimit }, { ms: grown, mb }) {
  const load = `${duration(hours * 3600)} at ${perSecond(rate, 'requests')}`;
  if (mb === UNKNOWN || Number.isNaN(grown))
    return `In ${load} a process did not report its memory, or no latency was measured.`;
  const p99 = `p99 ${grown < 0 ? 'fell' : 'grew'} by ${ms(Math.abs(grown))} ms (limit ${driftLimit} ms)`;
  return `From the second quarter of ${load} to the last, ${p99} and memory grew by ${figure(mb)} MB at most (limit ${growthLimit} MB).`;
}

/**
 * @param {{ wanted: number, seconds: number, brokers: number, canaryLimit: number }} load
 * @param {{ held: number, canary: number | null | undefined }} measured canary: its p99, null: none arrived, undefined: there is none
 */
export function connectionsAnswer({ wanted, seconds, brokers, canaryLimit }, { held, canary }) {
  const by = brokers === 1 ? 'The broker' : `${brokers} brokers`;
  const beside =
    canary === undefined
      ? ''
      : canary === null
        ? ', and no canary arrived'
        : `, with canary p99 ${ms(canary)} ms (limit ${canaryLimit} ms)`;
  return `${by} held ${count(held)} of ${count(wanted)} connections for ${duration(seconds)}${beside}.`;
}

/**
 * @param {number} calls of a session
 * @param {{ sessions: number, requests: number }} rates a second
 * @param {Pick<Latency, 'count' | 'p50' | 'p99' | 'max'>} arrival
 */
export function sessionsAnswer(calls, { sessions, requests }, { count: samples, p50, p99, max }) {
  const rates = `${perSecond(sessions, 'sessions')} of ${count(calls)} calls sent ${perSecond(requests, 'requests')}`;
  if (p50 === null || p99 === null || max === null) return `${rates}.`;
  const worst = samples < P99_SAMPLES ? `max ${ms(max)}` : `p99 ${ms(p99)}`;
  return `${rates}, with arrival p50 ${ms(p50)} ms and ${worst} ms.`;
}
