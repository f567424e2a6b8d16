import os from 'node:os';

/** Artillery's module that starts the sending threads. */
const LAUNCHER = /[\\/]platform[\\/]local[\\/]/;

/**
 * Makes Artillery use one sending thread: it takes one less than there are processors, without an option. The schedule needs
 * the n-th virtual user to send the n-th request. Everybody else is told all processors, and Artillery asks once.
 */
export function oneSender(): void {
  const { cpus } = os;
  os.cpus = () => {
    if (!LAUNCHER.test(new Error().stack ?? '')) return cpus();
    os.cpus = cpus;
    return cpus().slice(0, 2);
  };
}
