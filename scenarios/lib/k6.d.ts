/** Types of k6 that @types/k6 lacks and scripts use. */

interface ImportMeta {
  resolve(path: string): string;
}

declare const console: Record<'debug' | 'error' | 'info' | 'log' | 'warn', (...words: unknown[]) => void>;

declare module 'k6/x/redis' {
  class Client {
    constructor(url: string);
    sendCommand(command: string, ...args: (string | number | boolean)[]): Promise<unknown>;
  }
  const redis: { Client: typeof Client };
  export default redis;
}
