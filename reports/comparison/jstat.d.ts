declare module 'jstat' {
  const jstat: {
    /** Student's t distribution; `inv` is its quantile. */
    studentt: { inv(p: number, degreesOfFreedom: number): number };
    /** Exponential distribution; `sample` is a number of it. */
    exponential: { sample(rate: number): number };
    /** Where its random numbers, from 0 to 1, come from. */
    setRandom(random: () => number): void;
  };
  export default jstat;
}
