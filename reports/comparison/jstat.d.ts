declare module 'jstat' {
  const jstat: {
    gammafn(value: number): number;
    binomial: { cdf(count: number, of: number, probability: number): number };
    studentt: {
      inv(probability: number, degreesOfFreedom: number): number;
      cdf(value: number, degreesOfFreedom: number): number;
    };
  };
  export default jstat;
}
