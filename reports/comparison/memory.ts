/**
 * The memory of a series of seconds: how much a second is like the one before. A short series shows it badly, so every model of it
 * keeps the weight that the series gives it, instead of one estimate. Pure.
 */
import { CONFIDENCE, criticalValue, missed } from './intervals.ts';

/** Noise of each second, and a part that fades: the autocorrelation at a lag is share × decay ** lag. */
interface Model {
  decay: number;
  share: number;
}

/** Models with their weights, whose sum is 1. */
export type Memory = (Model & { weight: number })[];

/** A division of the seconds into blocks. */
export interface Blocking {
  /** Seconds of a block. */
  length: number;
  count: number;
  /** The variance of blocks is too small by this factor, as they are not independent, and as that is not known well. */
  inflation: number;
}

/** The fewest blocks: with fewer their variance is not known well enough. */
export const LEAST_BLOCKS = 6;
/** More blocks do not make an interval narrower. */
const MOST_BLOCKS = 30;
/** Above this inflation, blocks are too correlated. */
const MOST_INFLATION = 4;
/** A part that fades more slowly than in this share of the run would be a trend. */
const SLOWEST = 1 / 2;
/** What fades more slowly than in this share of the run is looked for only where it is the greater part: a small one never shows. */
const SLOW = 1 / 10;
const GREATER = 0.6;
/** The weight of a model that no result shows. */
const NEGLIGIBLE = 1e-5;
/** s */
const FASTEST = 0.5;
/** Fading times of models, and the shares of their fading parts. */
const TIMES = 12;
const SHARES = [0.15, 0.3, 0.5, 0.7, 0.85, 1];

/**
 * The models after a series. The likelihood is that of its cosine transform, whose parts are nearly independent; without the first
 * part, which is the mean, it has no bias in short series.
 */
export function memoryOf(series: readonly number[]): Memory {
  const models = modelsFor(series.length);
  const parts = cosines(series);
  const whole = parts.reduce((sum, part) => sum + part, 0);
  const logs = models.map((model) => (whole > 0 ? logLikelihood(parts, model) : 0));
  const most = Math.max(...logs);
  // Slow models weigh more beforehand: it is they that a short series hides.
  const weights = models.map(
    ({ decay }, i) => Math.sqrt(timeOf(decay)) * Math.exp((logs[i] as number) - most),
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return models
    .map((model, i) => ({ ...model, weight: (weights[i] as number) / sum }))
    .filter(({ weight }) => weight > NEGLIGIBLE);
}

/** The seconds in which a part fades to 1/e; of noise, those of the fastest. */
function timeOf(decay: number): number {
  return decay === 0 ? FASTEST : -1 / Math.log(decay);
}

function modelsFor(seconds: number): Model[] {
  const longest = Math.max(1, seconds * SLOWEST);
  const times = Array.from({ length: TIMES }, (_, i) => FASTEST * (longest / FASTEST) ** (i / (TIMES - 1)));
  return [
    { decay: 0, share: 0 },
    ...times.flatMap((time) =>
      SHARES.filter((share) => time < seconds * SLOW || share >= GREATER).map((share) => ({
        decay: Math.exp(-1 / time),
        share,
      })),
    ),
  ];
}

/** The squares of a series' cosine transform (DCT-II), without the first. */
function cosines(series: readonly number[]): number[] {
  const n = series.length;
  const table = Float64Array.from({ length: 4 * n }, (_, i) => Math.cos((Math.PI * i) / (2 * n)));
  return Array.from({ length: Math.max(0, n - 1) }, (_, i) => {
    let sum = 0;
    for (let t = 0; t < n; t++) {
      sum += (series[t] as number) * (table[((i + 1) * (2 * t + 1)) % (4 * n)] as number);
    }
    return (2 / n) * sum ** 2;
  });
}

/** The log-likelihood of the parts under a model, with the likeliest variance. */
function logLikelihood(parts: readonly number[], { decay, share }: Model): number {
  const n = parts.length + 1;
  let logs = 0;
  let sum = 0;
  for (const [i, part] of parts.entries()) {
    const angle = (Math.PI * (i + 1)) / n;
    const spectrum = (share * (1 - decay ** 2)) / (1 - 2 * decay * Math.cos(angle) + decay ** 2) + 1 - share;
    logs += Math.log(spectrum);
    sum += part / spectrum;
  }
  return -(logs + parts.length * Math.log(sum)) / 2;
}

/**
 * The blocks of so many seconds that give the narrowest interval, for the worst of several series; null: there are too few seconds,
 * or they are too much alike.
 */
export function blockingOf(memories: readonly Memory[], seconds: number): Blocking | null {
  let best: { length: number; count: number; reach: number } | null = null;
  for (let count = LEAST_BLOCKS; count <= MOST_BLOCKS; count++) {
    const length = Math.floor(seconds / count);
    // The rest makes the last block longer, but by less than a block.
    if (length < 1 || Math.floor(seconds / length) !== count) continue;
    const all = memories.map((memory) => meansOf(memory, length, count));
    const inflation = Math.max(...all.map((one) => one.inflation));
    if (inflation > MOST_INFLATION) continue;
    const reach = criticalValue(Math.min(...all.map(({ freedom }) => freedom))) * Math.sqrt(inflation);
    if (best === null || reach < best.reach) best = { length, count, reach };
  }
  if (best === null) return null;
  const { length, count } = best;
  return {
    length,
    count,
    inflation: Math.max(...memories.map((memory) => wholeInflation(memory, length, count))),
  };
}

/** How blocks under a model misstate the variance of a mean: their own is too small by `inflation`, and has `freedom` degrees. */
function misstated(
  { decay, share }: Model,
  length: number,
  count: number,
): { inflation: number; freedom: number } {
  const [block, whole] = [
    varianceOfMean({ decay, share }, length),
    varianceOfMean({ decay, share }, length * count),
  ];
  const inflation = (whole * (count - 1)) / (block - whole);
  // Satterthwaite: of the quadratic form that the sample variance is, with the covariances of blocks by their distance.
  const between = share * decay * ((1 - decay ** length) / (1 - decay) / length) ** 2;
  const sums = new Float64Array(count);
  let [square, sum] = [0, 0];
  for (let distance = 0; distance < count; distance++) {
    const covariance = distance === 0 ? block : between * decay ** ((distance - 1) * length);
    square += (distance === 0 ? 1 : 2) * (count - distance) * covariance ** 2;
    sum += covariance;
    sums[distance] = sum;
  }
  let [rows, all] = [0, 0];
  for (let i = 0; i < count; i++) {
    const row = (sums[i] as number) + (sums[count - 1 - i] as number) - block;
    rows += row ** 2;
    all += row;
  }
  const trace = count * block - all / count;
  return { inflation, freedom: trace ** 2 / (square - (2 / count) * rows + (all / count) ** 2) };
}

/** Averages over the models. */
function meansOf(memory: Memory, length: number, count: number): { inflation: number; freedom: number } {
  const mean = { inflation: 0, freedom: 0 };
  for (const { weight, ...model } of memory) {
    const { inflation, freedom } = misstated(model, length, count);
    mean.inflation += weight * inflation;
    mean.freedom += weight * freedom;
  }
  return mean;
}

/** Steps of an inflation's logarithm, for fewer calls of Student's distribution. */
const STEPS = 8;

/** The inflation with which Student's t for independent blocks misses as often as the confidence level allows, over all models. */
function wholeInflation(memory: Memory, length: number, count: number): number {
  const { freedom } = meansOf(memory, length, count);
  const weights = new Map<number, number>();
  for (const { weight, ...model } of memory) {
    const step = Math.round(STEPS * Math.log(misstated(model, length, count).inflation));
    weights.set(step, (weights.get(step) ?? 0) + weight);
  }
  const t = criticalValue(count - 1);
  const missing = (log: number) =>
    [...weights].reduce(
      (sum, [step, weight]) => sum + weight * missed(t * Math.exp((log - step / STEPS) / 2), freedom),
      0,
    );
  let [low, high] = [0, 10];
  while (high - low > 0.001) {
    const middle = (low + high) / 2;
    if (missing(middle) > 1 - CONFIDENCE) low = middle;
    else high = middle;
  }
  return Math.exp(high);
}

/** The variance of the mean of so many seconds, relative to a second's. */
function varianceOfMean({ decay, share }: Model, seconds: number): number {
  const lags = decay / (1 - decay) - (decay * (1 - decay ** seconds)) / (seconds * (1 - decay) ** 2);
  return (1 + 2 * share * lags) / seconds;
}
