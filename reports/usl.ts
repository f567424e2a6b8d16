/** The Universal Scalability Law (N. Gunther): throughput as a function of concurrency. */

export interface Usl {
  /** Throughput of one VU alone. */
  lambda: number;
  /** Contention: the serial part of the work. */
  sigma: number;
  /** Coherency: the cost of each pair. */
  kappa: number;
  /** Concurrency of the highest throughput; null: there is no maximum. */
  peak: number | null;
  /** The share of the variance that the fit explains. */
  r2: number;
  /** Throughput at a concurrency. */
  at: (vus: number) => number;
}

/** Three parameters fit fewer points always. */
export const LEAST_POINTS = 4;

/** X(N) = λN / (1 + σ(N − 1) + κN(N − 1)) */
function throughput(lambda: number, sigma: number, kappa: number) {
  return (n: number) => (lambda * n) / (1 + sigma * (n - 1) + kappa * n * (n - 1));
}

/**
 * Fits the law by least squares, σ and κ no less than 0.
 * @param points concurrency and throughput
 * @returns null with too few points, or none above 0
 */
export function fitUsl(points: [vus: number, perSecond: number][]): Usl | null {
  const highest = Math.max(0, ...points.map(([, y]) => y));
  if (points.length < LEAST_POINTS || highest <= 0) return null;
  const [unit, sigma, kappa] = fit(points.map(([n, value]) => [n, value / highest]));
  const lambda = unit * highest;
  const at = throughput(lambda, sigma, kappa);
  const mean = points.reduce((sum, [, value]) => sum + value, 0) / points.length;
  const squares = (of: (n: number, value: number) => number) =>
    points.reduce((sum, [n, value]) => sum + of(n, value) ** 2, 0);
  const spread = squares((_n, value) => value - mean);
  if (![lambda, sigma, kappa].every(Number.isFinite)) return null;
  return {
    lambda,
    sigma,
    kappa,
    peak: kappa > 1e-9 && sigma < 1 ? Math.sqrt((1 - sigma) / kappa) : null,
    r2: spread > 0 ? 1 - squares((n, value) => value - at(n)) / spread : 1,
    at,
  };
}

type Three = [number, number, number];
/** What is not 0 of 1/λ, σ/λ and κ/λ. */
const FREE = [[0, 1, 2], [0, 1], [0, 2], [0]];
const ROUNDS = 50;

/** λ, σ and κ by Gauss and Newton: n / X is linear in 1/λ, σ/λ and κ/λ, so each round is a linear fit, weighted by the last one. */
function fit(points: [n: number, x: number][]): Three {
  let best: { error: number; theta: Three } = { error: Number.POSITIVE_INFINITY, theta: [1, 0, 0] };
  let model = points.map(([, x]) => x);
  for (let round = 0; round < ROUNDS; round++) {
    const rows = points.map(([n, x], i): [row: Three, target: number] => {
      const now = model[i] ?? 0;
      const weight = (now * now) / n;
      return [[weight, weight * (n - 1), weight * n * (n - 1)], 2 * now - x];
    });
    const solved = FREE.map((free) => leastSquares(rows, free)).filter((theta) => theta.every((v) => v >= 0));
    const error = (theta: Three) => rows.reduce((sum, [row, y]) => sum + (dot(row, theta) - y) ** 2, 0);
    const [theta] = solved.sort((a, b) => error(a) - error(b));
    if (theta === undefined || theta[0] === 0) break;
    model = points.map(([n]) => n / dot([1, n - 1, n * (n - 1)], theta));
    const squares = points.reduce((sum, [, x], i) => sum + ((model[i] ?? 0) - x) ** 2, 0);
    if (squares < best.error) best = { error: squares, theta };
  }
  const [a, b, c] = best.theta;
  return [1 / a, b / a, c / a];
}

const dot = (row: Three, theta: Three) => row[0] * theta[0] + row[1] * theta[1] + row[2] * theta[2];

/** Solves the normal equations of the free columns by elimination; the others are 0. */
function leastSquares(rows: [row: Three, target: number][], free: number[]): Three {
  const at = (row: Three, i: number) => row[i] as number;
  const system = free.map((i) => [
    ...free.map((j) => rows.reduce((sum, [row]) => sum + at(row, i) * at(row, j), 0)),
    rows.reduce((sum, [row, y]) => sum + at(row, i) * y, 0),
  ]);
  for (const [i, pivot] of system.entries()) {
    const by = pivot[i] as number;
    for (const [k, other] of system.entries()) {
      const factor = (other[i] as number) / by;
      if (k !== i) for (const [j, value] of pivot.entries()) other[j] = (other[j] as number) - factor * value;
    }
  }
  const theta: Three = [0, 0, 0];
  for (const [k, i] of free.entries()) theta[i] = (system[k]?.at(-1) as number) / (system[k]?.[k] as number);
  return theta;
}
