import { test } from 'node:test';
import { promtool } from '../../pipeline/test/promtool.ts';

test('each alert fires for its cause and for nothing else', () =>
  promtool(['test', 'rules', `${import.meta.dirname}/alerts.test.yml`]));
