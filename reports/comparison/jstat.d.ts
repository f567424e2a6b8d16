declare module 'jstat' {
  const jstat: {
    studentt: {
      inv(probability: number, degreesOfFreedom: number): number;
      cdf(value: number, degreesOfFreedom: number): number;
    };
  };
  export default jstat;
}
