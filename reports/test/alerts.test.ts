import { test } from 'node:test';
import { promtool } from '../../pipeline/test/promtool.ts';

test('each alert fires for what it is for, and for nothing beside', () =>
  promtool(['test', 'rules', `${import.meta.dirname}/alerts.test.yml`]));
