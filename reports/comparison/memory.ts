/**
 * The memory of a series of seconds: how much a second is like the one before. A short series shows it badly, so every model of it
 * keeps the weight that the series gives it, instead of one estimate. Pure.
 */
import jstat from 'jstat';
import { type Blocking, CONFIDENCE, criticalValue, missed } from './intervals.ts';

/** Noise of each second, and a part that fades: the autocorrelation at a lag is share × decay ** lag. */
interface Model {
  decay: number;
  share: number;
}

/** The power of a model at an angle from 0, which is a trend, to π. */
type Spectrum = (angle: number) => number;

/** Models with their weights, whose sum is 1. */
export type Memory = (Model & { weight: number })[];

/** The fewest blocks: with fewer their variance is not known well enough. */
const LEAST_BLOCKS = 6;
/** More blocks hardly make an interval narrower (Schmeiser 1982). */
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
/** What fades within this share of the run is the same in most blocks; what takes longer, up to OUTLASTING runs, may not be. */
const SHORT = 1 / 50;
const OUTLASTING = 2;
/** Exponents of Hurst of long memory, and its share beside the noise: it fades by no time at all. */
const HURST = [0.8, 0.9, 0.95];
const LASTING = 0.9;
/**
 * The logarithm of the odds from which on long memory is feared: even odds, about; in runs so short that there is little evidence,
 * those that one in twenty series of independent seconds exceeds.
 */
const FEARED = (seconds: number) => Math.max(-0.7, 3.6 - 0.06 * seconds);

/**
 * The models after a series. The likelihood is that of its cosine transform, whose parts are nearly independent; without the first
 * part, which is the mean, it has no bias in short series.
 */
export function memoryOf(series: readonly number[]): Memory {
  const models = modelsFor(series.length);
  const parts = cosines(series);
  const whole = parts.reduce((sum, part) => sum + part, 0);
  const logs = models.map((model) => (whole > 0 ? logLikelihood(parts, fading(model)) : 0));
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

/**
 * Whether what series of the same runs have in common may last too long for blocks of them, or has no end: by the odds of slow and of
 * long memory (fractionally differenced noise: Hosking 1981) against memory that is short for the run, with the likelihood of Whittle
 * (1953). A short run cannot show long memory for certain, and blocks would miss it: fear is enough.
 */
export function outlasts(series: readonly (readonly number[])[]): boolean {
  return odds(series) > FEARED(Math.min(...series.map(({ length }) => length)));
}

/** A blocking for seconds whose memory may outlast it: the most blocks, whose variance is too small by as much as with the longest memory. */
export function outlasted(seconds: number): Blocking {
  const length = Math.max(1, Math.ceil(seconds / MOST_BLOCKS));
  const count = Math.floor(seconds / length);
  const ofMean = (n: number) => LASTING * n ** (2 * Math.max(...HURST) - 2) + (1 - LASTING) / n;
  const [block, whole] = [ofMean(length), ofMean(length * count)];
  return { length, count, inflation: (whole * (count - 1)) / (block - whole), outlasted: true };
}

/** The logarithm of the odds. */
function odds(series: readonly (readonly number[])[]): number {
  const seconds = Math.min(...series.map(({ length }) => length));
  const parts = series.filter((one) => one.some((value) => value !== one[0])).map(cosines);
  if (parts.length === 0) return -Infinity; // what never varies has no memory
  const of = (spectra: Spectrum[]) =>
    spectra.map((one) => parts.reduce((sum, powers) => sum + logLikelihood(powers, one), 0));
  const isShort = ({ decay }: Model) => timeOf(decay) <= Math.max(FASTEST, seconds * SHORT);
  const models = modelsFor(seconds, OUTLASTING);
  const short = of(models.filter(isShort).map(fading));
  const long = of([...models.filter((model) => !isShort(model)).map(fading), ...HURST.map(lasting)]);
  const most = Math.max(...short, ...long);
  const all = (logs: number[]) => logs.reduce((sum, log) => sum + Math.exp(log - most), 0);
  return Math.log(all(long)) - Math.log(all(short));
}

/** The seconds in which a part fades to 1/e; of noise, those of the fastest. */
function timeOf(decay: number): number {
  return decay === 0 ? FASTEST : -1 / Math.log(decay);
}

function modelsFor(seconds: number, slowest = SLOWEST): Model[] {
  const longest = Math.max(1, seconds * slowest);
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
function logLikelihood(parts: readonly number[], spectrum: Spectrum): number {
  const n = parts.length + 1;
  let logs = 0;
  let sum = 0;
  for (const [i, part] of parts.entries()) {
    const angle = (Math.PI * (i + 1)) / n;
    const power = spectrum(angle);
    logs += Math.log(power);
    sum += part / power;
  }
  return -(logs + parts.length * Math.log(sum)) / 2;
}

const fading =
  ({ decay, share }: Model): Spectrum =>
  (angle) =>
    (share * (1 - decay ** 2)) / (1 - 2 * decay * Math.cos(angle) + decay ** 2) + 1 - share;

/** Long memory with noise, both parts of a variance of 1. */
function lasting(hurst: number): Spectrum {
  const d = hurst - 0.5;
  const variance = jstat.gammafn(1 - 2 * d) / jstat.gammafn(1 - d) ** 2;
  return (angle) => (LASTING * (2 * Math.sin(angle / 2)) ** (-2 * d)) / variance + 1 - LASTING;
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
