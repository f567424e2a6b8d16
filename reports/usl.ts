/** The Universal Scalability Law (N. Gunther): throughput as a function of concurrency. */
import { levenbergMarquardt } from 'ml-levenberg-marquardt';

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
  const [first] = points;
  if (first === undefined || points.length < LEAST_POINTS || highest <= 0) return null;
  const [x, y] = [points.map(([n]) => n), points.map(([, value]) => value / highest)];
  const { parameterValues } = levenbergMarquardt(
    { x, y },
    ([lambda = 0, sigma = 0, kappa = 0]) => throughput(lambda, sigma, kappa),
    {
      initialValues: [first[1] / highest / first[0], 0.05, 1e-3],
      minValues: [1e-9, 0, 0],
      maxValues: [1e3, 10, 10],
      gradientDifference: 1e-6,
      centralDifference: true,
      damping: 1e-3,
      maxIterations: 500,
      errorTolerance: 1e-14,
      improvementThreshold: 1e-9,
    },
  );
  const [unit = 0, sigma = 0, kappa = 0] = parameterValues;
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
