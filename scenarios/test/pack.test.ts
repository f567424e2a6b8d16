import { after, describe } from 'node:test';
import { Pipeline } from './harness.ts';
import { anyPipeline, ownScript } from './pack/any-pipeline.ts';
import { capacity } from './pack/capacity.ts';
import { addressAlone, loads, sampledLoads } from './pack/loads.ts';
import { own, ownElsewhere, ownSampled } from './pack/own.ts';
import { sessions } from './pack/sessions.ts';
import { soaks } from './pack/soak.ts';
import { stages, stagesAlone } from './pack/stages.ts';
import { verdicts } from './pack/verdict.ts';

// All tests share a pipeline: its start takes longer than most of them.
const pipeline = await Pipeline.start({ TRACE_LOG_EVERY: '10', BROKERS: '2' });
after(() => pipeline.stop());

describe('a short form of each script', () => {
  // These tests mostly wait. The longest come first.
  describe('concurrently', { concurrency: 3 }, () => {
    for (const tests of [
      soaks,
      sessions,
      loads,
      addressAlone,
      own,
      ownElsewhere,
      anyPipeline,
      ownScript,
      stages,
      verdicts,
    ])
      tests(pipeline);
  });

  describe('one at a time', () => {
    for (const tests of [sampledLoads, ownSampled, stagesAlone, capacity]) tests(pipeline);
  });
});
