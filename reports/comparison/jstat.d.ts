declare module 'jstat' {
  const jstat: {
    mean(values: readonly number[]): number;
    median(values: readonly number[]): number;
    /** @param ofSample divides by one less than their number */
    variance(values: readonly number[], ofSample: boolean): number;
    /** 1 is the smallest; equal values share the mean of their ranks. */
    rank(values: readonly number[]): number[];
    gammafn(value: number): number;
    binomial: { cdf(count: number, of: number, probability: number): number };
    studentt: {
      inv(probability: number, degreesOfFreedom: number): number;
      cdf(value: number, degreesOfFreedom: number): number;
    };
  };
  export default jstat;
}
