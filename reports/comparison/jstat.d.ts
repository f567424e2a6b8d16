declare module 'jstat' {
  const jstat: {
    /** Student's t distribution; `inv` is its quantile. */
    studentt: { inv(p: number, degreesOfFreedom: number): number };
  };
  export default jstat;
}
