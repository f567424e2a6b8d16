/** What the module registers: k6/x/arrival. That of k6/x/mqtt is in mqtt/. */
export * from './arrival/index.js';
