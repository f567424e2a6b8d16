/** What seconds of a run do when nothing changes: processes as machines have them, and some that are simple. */
import { normal } from '../../test/samples.ts';

/** A run of a process, from its first second on. */
export interface Course {
  /** The logarithm of what a second's latencies are multiplied by; asked once for each, in their order. */
  level: (second: number) => number;
  /** What a message that is due at a moment (s) waits besides, ms. */
  wait?: (due: number) => number;
  /** Other processes take this share of the host's CPU in a second. Absent: it is not known. */
  others?: (second: number) => number;
}

export type Process = (random: () => number, seconds: number) => Course;

/** Standard deviation of the log level between seconds. */
const WANDER = 0.1;

/** AR(1): each second is so much like the one before. */
export const autoregressive =
  (memory: number, wander = WANDER): Process =>
  (random) => {
    let state = wander * normal(random);
    const next = () => {
      state = memory * state + Math.sqrt(1 - memory ** 2) * wander * normal(random);
      return state;
    };
    return { level: next };
  };

/** Fractional Gaussian noise with the Hurst exponent `h`, by the recursion of Durbin and Levinson. */
const longMemory =
  (h: number): Process =>
  (random, seconds) => {
    const covariance = (k: number) =>
      ((k + 1) ** (2 * h) - 2 * k ** (2 * h) + Math.abs(k - 1) ** (2 * h)) / 2;
    const levels = [normal(random)];
    let weights: number[] = [];
    let spread = 1;
    for (let t = 1; t < seconds; t++) {
      const rest = weights.reduce((sum, weight, i) => sum + weight * covariance(t - 1 - i), 0);
      const last = (covariance(t) - rest) / spread;
      weights = [...weights.map((weight, i) => weight - last * (weights.at(-1 - i) as number)), last];
      spread *= 1 - last ** 2;
      const expected = weights.reduce((sum, weight, i) => sum + weight * (levels[t - 1 - i] as number), 0);
      levels.push(expected + Math.sqrt(spread) * normal(random));
    }
    return { level: (second) => WANDER * (levels[second] as number) };
  };

/** Pauses one after another: what is due in one waits for its end. */
function pausing(random: () => number, seconds: number, next: () => number, length: () => number): Course {
  const pauses: { from: number; to: number }[] = [];
  for (let at = next() * random(); at < seconds; at += next()) pauses.push({ from: at, to: at + length() });
  return {
    ...autoregressive(0, WANDER / 2)(random, seconds),
    wait: (due) => 1000 * Math.max(0, ...pauses.map(({ from, to }) => (due >= from ? to - due : 0))),
  };
}

/** A collector or a flush: at a fixed distance, in each run at another moment. The lengths (s) vary by the share `by`. */
const pauses =
  (period: number, length: number, by: number): Process =>
  (random, seconds) =>
    pausing(
      random,
      seconds,
      () => period,
      () => length * Math.exp(by * normal(random)),
    );

/** Something rare that a few messages wait for, at random moments: the more rarely, the longer. */
const outliers: Process = (random, seconds) =>
  pausing(
    random,
    seconds,
    () => -30 * Math.log(1 - random()),
    () => Math.min(1, 0.02 / (1 - random())),
  );

/** Two levels, each for about a minute. */
const modes: Process = (random, seconds) => {
  const stays = () => 40 + 40 * random();
  let high = random() < 0.5;
  let until = stays() * random();
  const levels = Array.from({ length: seconds }, (_, t) => {
    if (t > until) {
      high = !high;
      until += stays();
    }
    return (high ? WANDER : -WANDER) + 0.03 * normal(random);
  });
  return { level: (second) => levels[second] as number };
};

/** Standard deviation of the share that a measured second of the CPU is off. */
const MEASURED = 0.02;

/**
 * Work of others on the machine, like builds: each takes a fifth to four fifths of the CPU. Messages are slower by 1 / (1 - share), as where
 * a processor is shared (Kleinrock 1967).
 * @param stays how long one lasts and how long none does, s, on average; Infinity: all the run in half of the runs
 */
const work =
  (stays: number): Process =>
  (random, seconds) => {
    const one = () => 0.2 + 0.6 * random();
    let share = random() < 0.5 ? one() : 0;
    const shares = Array.from({ length: seconds }, () => {
      if (random() < 1 / stays) share = share === 0 ? one() : 0;
      return share;
    });
    return {
      level: (second) => WANDER * normal(random) - Math.log(1 - (shares[second] as number)),
      others: (second) => Math.max(0, (shares[second] as number) + MEASURED * normal(random)),
    };
  };

/** Beside other work only {@link besideOthers} keeps words from being false. */
export const BESIDE_OTHERS: Record<string, Process> = {
  'others work for 20 s': work(20),
  'others work for 2 minutes': work(120),
  'others work beside half of the runs': work(Infinity),
};

export const PROCESSES: Record<string, Process> = {
  independent: autoregressive(0),
  'AR(1) 0.5': autoregressive(0.5),
  'AR(1) 0.9': autoregressive(0.9),
  'AR(1) 0.98': autoregressive(0.98),
  'pauses each 7 s': pauses(7, 0.1, 0.5),
  'pauses each 8 s, equal': pauses(8, 0.1, 0),
  'pauses each 10 s': pauses(10, 0.05, 0.5),
  'rare outliers': outliers,
  'two modes of a minute': modes,
  'long memory, H = 0.9': longMemory(0.9),
  'long memory, H = 0.95': longMemory(0.95),
};
